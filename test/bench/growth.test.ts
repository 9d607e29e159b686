import { expect } from 'chai';
import { withClient } from '../../bench/cluster.ts';
import { BUSIEST, storeBusyHistory } from '../../bench/growth/busy-entities.ts';
import { growLedger } from '../../bench/growth/ledger.ts';
import { seedSites } from '../../bench/sites.ts';
import { createIdSource } from '../../ledger/ids.ts';
import {
  createPipelinedTransactions,
  type PipelinedTransactions,
} from '../../ledger/transactions.ts';
import { readStates } from '../../ledger/entity-states.ts';
import { decodeState, entityKey } from '../../risk/index.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

const ROWS = 3_000;

describe('grown ledger of the bench', () => {
  let database: TestDatabase;
  let pipelined: PipelinedTransactions;
  let siteId = 0n;
  const definitions = (): Promise<Record<string, unknown>[]> =>
    database.query(
      `select 'constraint' as what, conname as name, pg_get_constraintdef(oid) as definition from pg_constraint
       where conrelid in ('ingestion'::regclass, 'idempotency_key'::regclass)
       union all
       select 'index', indexname, indexdef from pg_indexes where tablename in ('ingestion', 'idempotency_key')
       order by 1, 2`,
    );

  before(async () => {
    database = await createTestDatabase();
    const [first] = await withClient(database.ownerUrl, (owner) =>
      seedSites(owner, { sites: 4, credentials: 8 }),
    );
    siteId = BigInt(first?.siteId ?? 0);
    pipelined = createPipelinedTransactions({
      url: database.appUrl,
      poolSize: 1,
      applicationName: 'test',
      statementTimeoutMs: 5_000,
    });
  });
  after(async () => {
    await pipelined.close();
    await database.drop();
  });

  it('holds as many rows and keys as asked, and leaves every constraint and index as the migrations made it', async () => {
    const before = await definitions();
    const progress: number[] = [];
    await growLedger(database.ownerUrl, {
      rows: ROWS,
      busiestMerchantRows: 500,
      busiestMerchant: BUSIEST.merchant,
      idPrefix: 'ord-',
      onProgress: (rows) => progress.push(rows),
    });
    expect(await definitions()).to.deep.equal(before);
    expect(progress.at(-1)).to.equal(ROWS);
    const [counts] = await database.query(
      `select count(*)::int as rows, count(distinct event.site_id)::int as sites,
         count(*) filter (where event.merchant_subject = $1)::int as busiest, count(key.ingestion_id)::int as keys,
         count(*) filter (where key.fingerprint = event.payload_hash)::int as alike
       from ingestion event left join idempotency_key key on key.site_id = event.site_id and key.ingestion_id = event.id`,
      [BUSIEST.merchant],
    );
    expect(counts).to.deep.equal({
      rows: ROWS,
      sites: 4,
      busiest: 500,
      keys: ROWS,
      alike: ROWS,
    });
  });

  it('new events get ids that no grown row has', async () => {
    const [id = 0n] = await pipelined.transaction((db) => createIdSource().take(db, 1));
    const [row] = await database.query<{ last: string }>('select max(id) as last from ingestion');
    expect(Number(id)).to.be.greaterThan(Number(row?.last)).and.to.be.greaterThan(ROWS);
  });

  it('a busy card and merchant have absorbed every one of their events', async () => {
    const events = 4_000;
    await storeBusyHistory({ appUrl: database.appUrl, siteId, events, until: Date.now() });
    const wanted = (['card', 'merchant'] as const).map((kind) => ({
      siteId,
      kind,
      key: entityKey(kind, BUSIEST[kind]),
    }));
    const stored = await pipelined.transaction((db) => readStates(db, wanted));
    for (const [index, { kind }] of wanted.entries()) {
      const history = decodeState(stored[index]?.state ?? '', kind);
      expect(history.attempts).to.equal(events);
      expect(history.amounts.length).to.equal(3);
    }
  });
});
