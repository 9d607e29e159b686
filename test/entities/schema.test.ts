import { expect } from 'chai';
import { Client } from 'pg';
import { createOrm } from '../../entities/orm.ts';
import { MIGRATIONS } from '../../entities/migrations/index.ts';
import {
  APPEND_ONLY_TABLES,
  MUTABLE_TABLES,
  PARTITIONED_TABLES,
  UNSAMPLED_COLUMNS,
} from '../../entities/tables.ts';
import { run } from '../../ledger/database.ts';
import { createPartitions, dropExpiredPartitions } from '../../ledger/partitions.ts';
import { migrateDatabase } from '../../server/migrate.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

describe('the schema', () => {
  let database: TestDatabase;

  before(async () => {
    database = await createTestDatabase();
  });

  after(() => database.drop());

  it('is what the migrations say, and migrating again changes nothing', async () => {
    const list = (): Promise<unknown[]> =>
      database.query(
        `select table_name, column_name, data_type, is_nullable from information_schema.columns
         where table_schema = 'public' order by 1, 2`,
      );
    const before = await list();
    await migrateDatabase({ ownerUrl: database.ownerUrl, appUrl: database.appUrl });
    expect(await list()).to.deep.equal(before);
    const names = await database.query('select name from schema_migration order by name');
    expect(names.map((row) => row['name'])).to.deep.equal(MIGRATIONS.map(({ name }) => name));
  });

  it('has for every entity exactly the columns that the entity says, as nullable as it says', async () => {
    const orm = createOrm({
      url: database.ownerUrl,
      poolSize: 1,
      applicationName: 'test',
      statementTimeoutMs: 0,
    });
    try {
      for (const meta of Object.values(orm.getMetadata().getAll()) as unknown as {
        tableName: string;
        props: { fieldNames: string[]; nullable?: boolean }[];
      }[]) {
        const columns = await database.query<{ column_name: string; is_nullable: string }>(
          'select column_name, is_nullable from information_schema.columns where table_name = $1',
          [meta.tableName],
        );
        const stored = columns.map(
          (row) => `${row.column_name}${row.is_nullable === 'YES' ? '?' : ''}`,
        );
        const declared = meta.props.map(
          (prop) => `${prop.fieldNames[0]}${prop.nullable === true ? '?' : ''}`,
        );
        expect(stored.sort(), meta.tableName).to.deep.equal(declared.sort());
      }
    } finally {
      await orm.close(true);
    }
  });

  it('lists every table as append-only or mutable, and nothing else', async () => {
    const tables = await database.query<{ name: string }>(
      `select relname as name from pg_class where relnamespace = 'public'::regnamespace
         and relkind in ('r', 'p') and not relispartition and relname <> 'schema_migration'`,
    );
    expect(tables.map(({ name }) => name)).to.have.members([
      ...APPEND_ONLY_TABLES,
      ...MUTABLE_TABLES,
    ]);
  });

  describe('append-only tables', () => {
    it('refuse UPDATE and DELETE by trigger, even for their owner, partitions included', async () => {
      const guarded = await database.query<{ relname: string; kinds: string }>(
        `select relname, string_agg(distinct case when tgtype & 32 = 32 then 'truncate' else 'row' end, ',' order by 
             case when tgtype & 32 = 32 then 'truncate' else 'row' end) as kinds
         from pg_trigger join pg_class on pg_class.oid = tgrelid
         where tgfoid = 'refuse_change'::regproc group by relname`,
      );
      const kinds = new Map(guarded.map((row) => [row.relname, row.kinds]));
      for (const table of APPEND_ONLY_TABLES)
        expect(kinds.get(table), table).to.equal('row,truncate');
      const partitions = await database.query<{ name: string }>(
        `select inhrelid::regclass::text as name from pg_inherits where inhparent::regclass::text = any ($1)`,
        [
          PARTITIONED_TABLES.map(({ table }) => table).filter((table) =>
            APPEND_ONLY_TABLES.some((name) => name === table),
          ),
        ],
      );
      expect(partitions.length).to.be.at.least(4);
      for (const { name } of partitions) expect(kinds.get(name), name).to.equal('row,truncate');
    });

    it('really refuse: a row of the audit can be added, not changed, removed or truncated', async () => {
      await database.query(
        `insert into audit_entry (at, actor, address, procedure) values (now(), 'a', 'b', 'c')`,
      );
      for (const statement of [
        `update audit_entry set actor = 'x'`,
        'delete from audit_entry',
        'truncate audit_entry',
      ]) {
        const error = await database.query(statement).then(
          () => undefined,
          (reason: unknown) => reason as { code: string },
        );
        expect(error?.code, statement).to.equal('23001');
      }
    });

    it("grant the application's role SELECT and INSERT and nothing more", async () => {
      const role = new URL(database.appUrl).username;
      const rights = await database.query<{ name: string; rights: string }>(
        `select table_name as name, string_agg(privilege_type, ',' order by privilege_type) as rights
         from information_schema.role_table_grants where grantee = $1 and table_schema = 'public' group by 1`,
        [role],
      );
      const byTable = new Map(rights.map((row) => [row.name, row.rights]));
      for (const table of APPEND_ONLY_TABLES)
        expect(byTable.get(table), table).to.equal('INSERT,SELECT');
      for (const table of MUTABLE_TABLES) {
        expect(byTable.get(table), table).to.equal('DELETE,INSERT,SELECT,UPDATE');
      }
      const client = new Client({ connectionString: database.appUrl });
      await client.connect();
      const refused = await client.query('delete from ingestion').catch((error: unknown) => error);
      await client.end();
      expect(refused).to.include({ code: '42501' });
    });
  });

  it('is asked with prepared statements: a text with parameters is planned once per connection', async () => {
    const orm = createOrm({
      url: database.appUrl,
      poolSize: 1,
      applicationName: 'test',
      statementTimeoutMs: 0,
    });
    try {
      const db = orm.em.fork().getKysely();
      for (const n of [1, 2, 3]) await run(db, 'select $1::int as n', [n]);
      const { rows } = await run<{ name: string; used: string }>(
        db,
        'select name, generic_plans + custom_plans as used from pg_prepared_statements where statement = $1',
        ['select $1::int as n'],
      );
      expect(rows).to.have.length(1);
      expect(Number(rows[0]?.used)).to.equal(3);
    } finally {
      await orm.close(true);
    }
  });

  it('has the planner keep no samples of payloads, features and results, and small ones of jobs', async () => {
    const targets = await database.query<{ table: string; column: string; target: number | null }>(
      `select coalesce(parent.relname, held.relname) as table, attname as column, nullif(attstattarget, -1) as target
       from pg_attribute join pg_class held on held.oid = attrelid and held.relkind in ('r', 'p')
       left join pg_inherits on inhrelid = held.oid left join pg_class parent on parent.oid = inhparent
       where attnum > 0 and not attisdropped and held.relnamespace in ('public'::regnamespace, 'pgboss'::regnamespace)`,
    );
    for (const { table, column } of UNSAMPLED_COLUMNS) {
      const found = targets.filter((each) => each.table === table && each.column === column);
      const partitions = PARTITIONED_TABLES.some((each) => each.table === table) ? 9 : 1;
      expect(found.length, `${table}.${column}`).to.be.at.least(partitions);
      expect(new Set(found.map(({ target }) => target)), table).to.deep.equal(new Set([0]));
    }
    const ofJobs = targets.filter(({ table }) => table === 'job').map(({ target }) => target);
    expect(ofJobs.filter((target) => target === 10)).to.have.length.greaterThan(40);
    const others = targets.filter(({ target }) => target === 0);
    expect(new Set(others.map(({ table, column }) => `${table}.${column}`))).to.have.keys(
      UNSAMPLED_COLUMNS.map(({ table, column }) => `${table}.${column}`),
    );
  });

  it('keeps partitions ready, and drops only whole days that are past retention', async () => {
    const orm = createOrm({
      url: database.ownerUrl,
      poolSize: 1,
      applicationName: 'test',
      statementTimeoutMs: 0,
    });
    try {
      const db = orm.em.fork().getKysely();
      const day = Date.UTC(2031, 4, 6, 12);
      expect(await createPartitions(db, day, 2)).to.equal(2 * PARTITIONED_TABLES.length);
      expect(await createPartitions(db, day, 2), 'again').to.equal(0);
      const put = (at: string): Promise<unknown> =>
        database.query(
          `insert into ingestion_payload (site_id, ingestion_id, received_at, body) values (1, 1, $1, '{}')`,
          [at],
        );
      await put('2031-05-06T23:59:59Z');
      await put('2031-05-07T00:00:00Z');
      const kept = { payloads: 400, webhooks: 35 };
      const DAY_MS = 86_400_000;
      const days = async (table: string): Promise<string[]> =>
        (
          await database.query<{ name: string }>(
            `select inhrelid::regclass::text as name from pg_inherits
             where inhparent = $1::regclass and inhrelid::regclass::text like '%_2031%' order by 1`,
            [table],
          )
        ).map(({ name }) => name.slice(-8));
      await dropExpiredPartitions(db, Date.UTC(2031, 4, 7) + 35 * DAY_MS, kept);
      expect(await days('webhook_delivery')).to.deep.equal(['20310507']);
      expect(await days('ingestion_payload')).to.deep.equal(['20310506', '20310507']);
      await dropExpiredPartitions(db, Date.UTC(2031, 4, 7) + 400 * DAY_MS, kept);
      const left = await database.query<{ received_at: Date }>(
        'select received_at from ingestion_payload where site_id = 1',
      );
      expect(left.map((row) => row.received_at.toISOString())).to.deep.equal([
        '2031-05-07T00:00:00.000Z',
      ]);
    } finally {
      await orm.close(true);
    }
  });
});
