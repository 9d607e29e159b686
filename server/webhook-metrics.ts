import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** What a process measures of webhooks. No label ever holds a Site, an endpoint or a URL. */
export interface WebhookMetrics {
  readonly attempts: Counter<'outcome'>;
  readonly attemptSeconds: Histogram;
  readonly lagSeconds: Histogram;
  readonly held: Counter;
  readonly spared: Gauge;
}

/** Adds the metrics of webhook delivery to those of the process. */
export function createWebhookMetrics(registry: Registry): WebhookMetrics {
  const registers = [registry];
  return {
    attempts: new Counter({
      name: 'transaction_risk_webhook_attempts_total',
      help: 'Attempts to deliver webhooks by outcome: delivered, retry, failed.',
      labelNames: ['outcome'],
      registers,
    }),
    attemptSeconds: new Histogram({
      name: 'transaction_risk_webhook_attempt_seconds',
      help: 'Time of one attempt to deliver.',
      buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers,
    }),
    lagSeconds: new Histogram({
      name: 'transaction_risk_webhook_lag_seconds',
      help: 'Time from an event to its delivery, retries and outages of receivers included.',
      buckets: [0.1, 0.25, 0.5, 1, 2, 5, 15, 60, 300, 1800, 7200, 36_000],
      registers,
    }),
    held: new Counter({
      name: 'transaction_risk_webhook_held_total',
      help: 'Deliveries put aside without an attempt, because their endpoint is down, slow or being verified.',
      registers,
    }),
    // Every process reads the same number from the database: a sum over processes would count an endpoint twice.
    spared: new Gauge({
      name: 'transaction_risk_webhook_open_breakers',
      help: 'Endpoints that are spared because they fail.',
      registers,
      aggregator: 'max',
    }),
  };
}
