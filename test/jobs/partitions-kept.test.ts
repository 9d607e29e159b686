import { expect } from 'chai';
import { Client } from 'pg';
import { keepPartitions, type UpkeepOptions } from '../../jobs/upkeep.ts';
import { createPipelinedTransactions } from '../../ledger/transactions.ts';
import { createTestDatabase } from '../support/database.ts';

const YEAR_MS = 366 * 86_400_000;

describe('partitions while somebody reads for long', () => {
  it('wait for a backup without making inserts wait for them', async () => {
    const database = await createTestDatabase();
    const pipelined = createPipelinedTransactions({
      url: database.ownerUrl,
      poolSize: 1,
      applicationName: 'test upkeep',
      statementTimeoutMs: 30_000,
    });
    const reader = new Client({ connectionString: database.ownerUrl });
    await reader.connect();
    try {
      const options: UpkeepOptions = {
        transaction: pipelined.transaction,
        requeue: () => Promise.resolve(0),
        // In two years all partitions of today are expired.
        clock: { now: () => Date.now() + 2 * YEAR_MS },
        retention: { payloads: 30, webhooks: 30 },
        onRequeued: () => undefined,
        onFault: () => undefined,
      };
      const partitions = async (): Promise<string[]> => {
        const rows = await database.query<{ name: string }>(
          `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'ingestion_payload'::regclass`,
        );
        return rows.map(({ name }) => name);
      };
      const before = await partitions();
      await reader.query('begin');
      await reader.query('select count(*) from ingestion_payload');
      const kept = keepPartitions(options);
      let longest = 0;
      const over = new AbortController();
      const watched = kept.finally(() => {
        over.abort();
      });
      const inserting = (async () => {
        for (let id = 1; !over.signal.aborted; id += 1) {
          const started = performance.now();
          await database.query(
            `insert into ingestion_payload (site_id, ingestion_id, received_at, body) values (1, $1, now(), '{}')`,
            [id],
          );
          longest = Math.max(longest, performance.now() - started);
        }
      })();
      await watched;
      await inserting;
      expect(await partitions(), 'given up for now').to.deep.equal(before);
      expect(longest).to.be.lessThan(2_000);
      await reader.query('commit');
      await keepPartitions(options);
      expect((await partitions()).filter((name) => before.includes(name))).to.deep.equal([
        'ingestion_payload_default',
      ]);
    } finally {
      await reader.end();
      await pipelined.close();
      await database.drop();
    }
  });
});
