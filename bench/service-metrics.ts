import { ADMIN_TOKEN } from './service-process.ts';

/** What the service says of itself on /metrics, as far as the bench asks. */
export interface ServiceMetrics {
  readonly evaluated: number;
  readonly residentMegabytes: number;
  readonly heapUsedMegabytes: number;
  /** Waiting for a group commit. */
  readonly queuedRows: number;
  readonly queuedBytes: number;
  /** Set aside for bodies that are being received. */
  readonly bodyBytes: number;
  /** Group commits so far, those of at most 2 MiB, and the bytes of all. */
  readonly groups: number;
  readonly groupsWithinBound: number;
  readonly groupBytes: number;
}

/** Reads /metrics of a service of the bench. @throws Error when it does not answer */
export async function readServiceMetrics(port: number): Promise<ServiceMetrics> {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`, {
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`/metrics answered ${response.status}`);
  const of = (name: string): number => metricOf(text, name) ?? Number.NaN;
  return {
    evaluated: metricOf(text, 'transaction_risk_evaluations_total{outcome="succeeded"}') ?? 0,
    residentMegabytes:
      (metricOf(text, 'transaction_risk_process_resident_memory_bytes') ?? Number.NaN) / 2 ** 20,
    heapUsedMegabytes:
      (metricOf(text, 'transaction_risk_nodejs_heap_size_used_bytes') ?? Number.NaN) / 2 ** 20,
    queuedRows: of('transaction_risk_queue_rows'),
    queuedBytes: of('transaction_risk_queue_bytes'),
    bodyBytes: of('transaction_risk_body_bytes'),
    groups: of('transaction_risk_group_bytes_count'),
    groupsWithinBound: of('transaction_risk_group_bytes_bucket{le="2097152"}'),
    groupBytes: of('transaction_risk_group_bytes_sum'),
  };
}

/** One value of Prometheus text; `name` with its labels exactly as written there. Undefined when it is not there (yet). */
export function metricOf(text: string, name: string): number | undefined {
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${name} `));
  return line === undefined ? undefined : Number(line.slice(name.length + 1));
}
