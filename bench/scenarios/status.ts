import { withClient } from '../cluster.ts';
import { MEASUREMENT_HEAD, measurementRow } from '../measurement-table.ts';
import { measure } from '../measure.ts';
import { WAYS } from '../ways.ts';
import { drainBacklog, prepareBacklog } from './backlog.ts';
import { orderOf, withDatabase, withWay, type Bench, type Scenario } from './scenario.ts';
import type { BenchDatabase } from '../cluster.ts';
import type { Measurement } from '../measure.ts';

/** Look-ups of evaluated ingestions, each by a credential of its Site. */
export const status: Scenario = async (bench) => {
  const { rounds, quick } = bench.options;
  const measured = await withDatabase(bench, async (database) => {
    await drainBacklog(bench, database, await prepareBacklog(bench, database, quick ? 1 : 3));
    const ingestions = await evaluatedIngestions(bench, database);
    const results: Measurement[] = [];
    for (let round = 1; round <= rounds; round += 1) {
      const result = await withWay(WAYS.api, database, (running) =>
        measure(
          bench.cluster,
          database,
          orderOf(bench, running, {
            traffic: { kind: 'status', ingestions },
            pace: { kind: 'closed', connections: 64 },
          }),
          running.pid,
        ),
      );
      results.push(result);
      bench.tell(`round ${round}/${rounds}  look-ups: ${Math.round(result.perSecond)}/s`);
    }
    return results;
  });
  return [
    {
      title: 'Status look-ups of evaluated ingestions, 64 connections',
      head: MEASUREMENT_HEAD,
      rows: [measurementRow('service, ROLE=api', measured)],
      notes: [],
    },
  ];
};

/** Evaluated ingestions beside a credential that may read them, credentials in turn. */
async function evaluatedIngestions(
  bench: Bench,
  database: BenchDatabase,
): Promise<[number, string][]> {
  const rows = await withClient(database.ownerUrl, async (client) => {
    const result = await client.query<{ site_id: string; ingestion_id: string }>(
      'select site_id, ingestion_id from evaluation order by ingestion_id limit 20000',
    );
    return result.rows;
  });
  const bySite = new Map<string, number[]>();
  for (const [index, { siteId }] of bench.cluster.credentials.entries()) {
    bySite.set(siteId, [...(bySite.get(siteId) ?? []), index]);
  }
  const used = new Map<string, number>();
  return rows.map(({ site_id, ingestion_id }) => {
    const candidates = bySite.get(site_id) ?? [];
    const turn = used.get(site_id) ?? 0;
    used.set(site_id, turn + 1);
    return [candidates[turn % candidates.length] ?? 0, `ing_${ingestion_id}`];
  });
}
