import type { Measurement } from './measure.ts';
import { shown, withSpread } from './report.ts';
import { median } from './statistics.ts';

/** Columns of {@link measurementRow}. */
export const MEASUREMENT_HEAD = [
  'way',
  'accepted/s, median (range)',
  'p50 ms',
  'p95 ms',
  'p99 ms (range)',
  'max ms',
  'service CPU s/1000',
  'database CPU s/1000',
  'all CPU s/1000',
  'WAL bytes/req',
  'fsyncs/req',
  'service RSS MB',
  'load CPU, cores',
  'other CPU, cores',
  'other answers',
] as const;

/** CPU seconds of service, database and load per thousand accepted requests: two cores can give 2,000 / this per second. */
export function allCpu({ serviceCpu, databaseCpu, cpuShare, perSecond }: Measurement): number {
  return (Number.isNaN(serviceCpu) ? 0 : serviceCpu) + databaseCpu + (cpuShare / perSecond) * 1000;
}

/** The rounds of one way as one row: medians over the rounds, the largest of maxima. */
export function measurementRow(name: string, rounds: readonly Measurement[]): string[] {
  const middle = (of: (measurement: Measurement) => number): number => median(rounds.map(of));
  return [
    name,
    withSpread(rounds.map(({ perSecond }) => perSecond)),
    shown(
      middle(({ latencies }) => latencies.p50),
      1,
    ),
    shown(
      middle(({ latencies }) => latencies.p95),
      1,
    ),
    withSpread(
      rounds.map(({ latencies }) => latencies.p99),
      1,
    ),
    shown(Math.max(...rounds.map(({ latencies }) => latencies.max)), 1),
    shown(
      middle(({ serviceCpu }) => serviceCpu),
      3,
    ),
    shown(
      middle(({ databaseCpu }) => databaseCpu),
      3,
    ),
    shown(middle(allCpu), 3),
    shown(middle(({ walBytes }) => walBytes)),
    shown(
      middle(({ fsyncs }) => fsyncs),
      3,
    ),
    shown(Math.max(...rounds.map(({ residentMegabytes }) => residentMegabytes))),
    shown(
      middle(({ cpuShare }) => cpuShare),
      2,
    ),
    shown(
      middle(({ otherCores }) => otherCores),
      2,
    ),
    otherAnswers(rounds),
  ];
}

function otherAnswers(rounds: readonly Measurement[]): string {
  const sums = new Map<string, number>();
  for (const { statuses, unsent } of rounds) {
    for (const [status, count] of Object.entries(statuses)) {
      if (status !== '200' && status !== '202') sums.set(status, (sums.get(status) ?? 0) + count);
    }
    if (unsent > 0) sums.set('unsent', (sums.get('unsent') ?? 0) + unsent);
  }
  return sums.size === 0
    ? 'none'
    : [...sums].map(([status, count]) => `${status}: ${count}`).join(', ');
}
