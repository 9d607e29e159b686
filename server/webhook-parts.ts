import type { PgBoss } from 'pg-boss';
import type { Registry } from 'prom-client';
import { Deliverer } from '../jobs/webhooks/deliverer.ts';
import { createAddressGuard } from '../jobs/webhooks/guard.ts';
import { ATTEMPT_LIMITS, createConnector } from '../jobs/webhooks/line.ts';
import { createReleaseLoop } from '../jobs/webhooks/release.ts';
import type { Clock } from '../ledger/clock.ts';
import type { SecretBox } from '../ledger/secret-box.ts';
import { createPipelinedTransactions } from '../ledger/transactions.ts';
import { createWebhookMetrics } from './webhook-metrics.ts';

/** What delivery of webhooks is built from. */
export interface WebhookPartsOptions {
  readonly boss: PgBoss;
  readonly appUrl: string;
  readonly clock: Clock;
  readonly box: SecretBox;
  readonly registry: Registry;
  readonly allowPrivateNetworks: boolean;
  readonly retrySeconds: readonly number[];
  /** Deliveries were found that no job stood for. */
  readonly onFound: (count: number) => void;
  readonly onFault: (error: unknown) => void;
}

/** Begins and ends; `stop` waits for what is in hand. */
interface Part {
  start(): void;
  stop(): Promise<void>;
}

/** Connections of delivery: one reads, one writes, one lets held deliveries go. Apart from those of ingestion. */
const CONNECTIONS = 3;

/** The parts that deliver webhooks, in the order in which they start; `close` after they have stopped. */
export function webhookParts(options: WebhookPartsOptions): {
  readonly parts: readonly Part[];
  close(): Promise<void>;
} {
  const { boss, box, clock, onFault, onFound } = options;
  const metrics = createWebhookMetrics(options.registry);
  const pipelined = createPipelinedTransactions({
    url: options.appUrl,
    poolSize: CONNECTIONS,
    applicationName: 'transaction-risk webhooks',
    statementTimeoutMs: 10_000,
  });
  const { transaction } = pipelined;
  const guard = createAddressGuard({ allowPrivate: options.allowPrivateNetworks });
  const deliverer = new Deliverer({
    boss,
    transaction,
    clock,
    box,
    connect: createConnector(guard, ATTEMPT_LIMITS),
    waits: options.retrySeconds,
    report: {
      attempted(outcome, seconds) {
        metrics.attempts.inc({ outcome });
        metrics.attemptSeconds.observe(seconds);
      },
      delivered: (seconds) => metrics.lagSeconds.observe(seconds),
      held: (count) => metrics.held.inc(count),
      fault: onFault,
    },
  });
  const release = createReleaseLoop({
    boss,
    transaction,
    clock,
    capacityFor: (endpointId) => deliverer.capacityFor(endpointId),
    onReleased: () => deliverer.wake(),
    onSpared: (endpoints) => metrics.spared.set(endpoints),
    onFound,
    onFault,
  });
  return { parts: [release, deliverer], close: () => pipelined.close() };
}
