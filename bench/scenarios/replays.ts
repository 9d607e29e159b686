import { MEASUREMENT_HEAD, measurementRow } from '../measurement-table.ts';
import { runLoad } from '../load/index.ts';
import { measure } from '../measure.ts';
import { WAYS } from '../ways.ts';
import { orderOf, sideBySide, type Scenario } from './scenario.ts';

/** Events are sent with the time they had the first time: a replay is equal to the byte. */
const TIME_BASE = Date.UTC(2026, 2, 1);

/** The same events with the same keys again. */
export const replays: Scenario = async (bench) => {
  const pace = { kind: 'closed', connections: 64 } as const;
  const results = await sideBySide(bench, [WAYS.api], async (_, running, database) => {
    const traffic = { kind: 'ingest', first: 0, timeBase: TIME_BASE } as const;
    const first = await runLoad(
      orderOf(bench, running, { traffic, pace, warmUpSeconds: 0, seconds: 4 }),
    );
    const again = { kind: 'replays', count: first.next, timeBase: TIME_BASE } as const;
    return measure(
      bench.cluster,
      database,
      orderOf(bench, running, { traffic: again, pace }),
      running.pid,
    );
  });
  return [
    {
      title: 'Replays, 64 connections',
      head: MEASUREMENT_HEAD,
      rows: [...results].map(([way, rounds]) => measurementRow(way.name, rounds)),
      notes: [
        'Every request repeats an accepted event with its Idempotency-Key and is answered 202 with the first ingestion_id.',
      ],
    },
  ];
};
