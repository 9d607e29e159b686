import { ADMIN_TOKEN } from './service-process.ts';

/** What the service says of itself on /metrics, as far as the bench asks. */
export interface ServiceMetrics {
  readonly evaluated: number;
  readonly residentMegabytes: number;
  readonly heapUsedMegabytes: number;
}

/** Reads /metrics of a service of the bench. @throws Error when it does not answer */
export async function readServiceMetrics(port: number): Promise<ServiceMetrics> {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`, {
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`/metrics answered ${response.status}`);
  return {
    evaluated: metricOf(text, 'transaction_risk_evaluations_total{outcome="succeeded"}') ?? 0,
    residentMegabytes:
      (metricOf(text, 'transaction_risk_process_resident_memory_bytes') ?? Number.NaN) / 2 ** 20,
    heapUsedMegabytes:
      (metricOf(text, 'transaction_risk_nodejs_heap_size_used_bytes') ?? Number.NaN) / 2 ** 20,
  };
}

/** One value of Prometheus text; `name` with its labels exactly as written there. Undefined when it is not there (yet). */
export function metricOf(text: string, name: string): number | undefined {
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${name} `));
  return line === undefined ? undefined : Number(line.slice(name.length + 1));
}
