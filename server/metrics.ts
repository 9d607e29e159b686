import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

/** What a process measures. No label ever holds a Site, a key or anything that was sent. */
export interface Metrics {
  readonly registry: Registry;
  readonly requests: Counter<'operation' | 'status'>;
  readonly requestSeconds: Histogram<'operation'>;
  readonly refusals: Counter<'reason'>;
  readonly groupRows: Histogram;
  readonly groupBytes: Histogram;
  readonly groupSeconds: Histogram;
  readonly evaluations: Counter<'outcome'>;
  readonly acceptToResultSeconds: Histogram;
  readonly faults: Counter<'place'>;
  readonly sweeperFindings: Counter;
}

/** Values that are read when somebody asks. */
export interface Gauges {
  readonly queuedRows: () => number;
  readonly queuedBytes: () => number;
}

/** Builds the metrics of one process. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: 'transaction_risk_' });
  const registers = [registry];
  return {
    registry,
    requests: new Counter({
      name: 'transaction_risk_requests_total',
      help: 'Requests by operation and status.',
      labelNames: ['operation', 'status'],
      registers,
    }),
    requestSeconds: new Histogram({
      name: 'transaction_risk_request_seconds',
      help: 'Time from request to answer.',
      labelNames: ['operation'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
      registers,
    }),
    refusals: new Counter({
      name: 'transaction_risk_refusals_total',
      help: 'Requests refused by reason: unauthorized, address, rate, quota, parser (no valid HTTP).',
      labelNames: ['reason'],
      registers,
    }),
    groupRows: new Histogram({
      name: 'transaction_risk_group_rows',
      help: 'Submissions per group commit.',
      buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256],
      registers,
    }),
    groupBytes: new Histogram({
      name: 'transaction_risk_group_bytes',
      help: 'Bytes of the submissions of one group commit.',
      buckets: [4_096, 16_384, 65_536, 262_144, 1_048_576, 2_097_152],
      registers,
    }),
    groupSeconds: new Histogram({
      name: 'transaction_risk_group_seconds',
      help: 'Time of one group commit.',
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
      registers,
    }),
    evaluations: new Counter({
      name: 'transaction_risk_evaluations_total',
      help: 'Evaluations by outcome: succeeded, failed, dead.',
      labelNames: ['outcome'],
      registers,
    }),
    acceptToResultSeconds: new Histogram({
      name: 'transaction_risk_accept_to_result_seconds',
      help: 'Time from received_at to the stored result.',
      buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 1800],
      registers,
    }),
    faults: new Counter({
      name: 'transaction_risk_faults_total',
      help: 'Errors nobody foresaw, by place; each is logged.',
      labelNames: ['place'],
      registers,
    }),
    sweeperFindings: new Counter({
      name: 'transaction_risk_sweeper_findings_total',
      help: 'Ledger rows found without evaluation, job or dead letter, and queued again.',
      registers,
    }),
  };
}

/** Adds the values that are read on demand. */
export function registerGauges(metrics: Metrics, gauges: Gauges): void {
  const read = (name: string, help: string, value: () => number): void =>
    registerGauge(metrics, name, help, value);
  read('transaction_risk_queue_rows', 'Submissions waiting for a group commit.', gauges.queuedRows);
  read('transaction_risk_queue_bytes', 'Bytes of those submissions.', gauges.queuedBytes);
}

/** Adds one value that is read on demand. */
export function registerGauge(
  metrics: Metrics,
  name: string,
  help: string,
  value: () => number,
): void {
  const gauge: Gauge = new Gauge({
    name,
    help,
    registers: [metrics.registry],
    collect: () => gauge.set(value()),
  });
}
