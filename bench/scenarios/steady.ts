import { MEASUREMENT_HEAD, measurementRow } from '../measurement-table.ts';
import type { Measurement } from '../measure.ts';
import { ratio, shown } from '../report.ts';
import { median } from '../statistics.ts';
import { WAYS, type Way } from '../ways.ts';
import { measureIngest, sideBySide, type Scenario } from './scenario.ts';

const PER_SECOND = 500;

/** Latency at a rate that is far from saturation, service and reference side by side. */
export const steady: Scenario = async (bench) => {
  const ways = [WAYS.reference, WAYS.referenceFull, WAYS.api, WAYS.all];
  const results = await sideBySide<Measurement>(bench, ways, async (way, running, database) => {
    // A service is asked after it has run for a while: at this rate compilers would take a minute to get there.
    const before =
      way === WAYS.all
        ? undefined
        : await measureIngest(bench, running, database, { kind: 'closed', connections: 64 });
    return measureIngest(
      bench,
      running,
      database,
      { kind: 'open', connections: 64, perSecond: PER_SECOND },
      before?.next,
    );
  });
  const of = (way: Way, share: 'p50' | 'p99'): number =>
    median((results.get(way) ?? []).map(({ latencies }) => latencies[share]));
  const late = (share: 'p50' | 'p99'): number =>
    median([...results.values()].flat().map(({ sentLate }) => sentLate[share]));
  return [
    {
      title: `Steady ingest, ${PER_SECOND} per second`,
      head: MEASUREMENT_HEAD,
      rows: [...results].map(([way, rounds]) => measurementRow(way.name, rounds)),
      notes: [
        `Service (ROLE=api) to reference: p50 ${ratio(of(WAYS.api, 'p50'), of(WAYS.reference, 'p50'))}, p99 ${ratio(of(WAYS.api, 'p99'), of(WAYS.reference, 'p99'))}.`,
        'All but ROLE=all were at saturation for as long as a round before, so that their compilers are done.',
        `Latency counts from the moment a request was due, whatever kept it from being sent. The load itself sent late by ${shown(late('p50'), 2)} ms (p50) and ${shown(late('p99'), 2)} ms (p99), medians over all rounds, which is part of every latency.`,
      ],
    },
  ];
};
