import { MEASUREMENT_HEAD, measurementRow } from '../measurement-table.ts';
import { WAYS, type Way } from '../ways.ts';
import type { Measurement } from '../measure.ts';
import { measureIngest, sideBySide, type Scenario } from './scenario.ts';

const CONNECTIONS = [1, 16, 64, 256] as const;

/** Ingest at saturation with few and many connections: an idle service must not wait, a busy one must not choke. */
export const connections: Scenario = async (bench) => {
  const plans = new Map<Way, number>(
    CONNECTIONS.map((count) => [
      { ...WAYS.api, name: `service, ROLE=api, ${count} connection${count === 1 ? '' : 's'}` },
      count,
    ]),
  );
  const results: Map<Way, Measurement[]> = await sideBySide(
    bench,
    [...plans.keys()],
    (way, running, database) =>
      measureIngest(bench, running, database, { kind: 'closed', connections: plans.get(way) ?? 1 }),
  );
  return [
    {
      title: 'Ingest by connections',
      head: MEASUREMENT_HEAD,
      rows: [...results].map(([way, rounds]) => measurementRow(way.name, rounds)),
      notes: [],
    },
  ];
};
