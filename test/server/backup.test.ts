import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { Client } from 'pg';
import { MIGRATIONS } from '../../entities/migrations/index.ts';
import { createOrm } from '../../entities/orm.ts';
import { createBoss, createQueues } from '../../jobs/queues.ts';
import { BackupError } from '../../server/backup/backup-error.ts';
import { copyOut } from '../../server/backup/copy-stream.ts';
import { writeBackup } from '../../server/backup/write-backup.ts';
import { verifyLedger } from '../../server/ledger-verify/verify-ledger.ts';
import { restoreBackup } from '../../server/restore/restore-backup.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventOf, merchant } from '../support/merchant.ts';
import { runService, type RunningService } from '../support/running-service.ts';
import type { TestSite } from '../support/site.ts';
import { makeTemporaryDirectory } from '../support/temporary.ts';

/** What a backup leaves out, and what the upgrade after a restore writes anew. */
const OF_THE_MOMENT = new Set([
  'public.schema_migration',
  'public.rate_window',
  'pgboss.queue_stats',
]);

describe('backup and restore', function () {
  // Several databases are filled and compared.

  let root: string;
  let database: TestDatabase;
  let restored: TestDatabase;
  let folder: string;
  let site: TestSite;
  let apiKey: string;
  const waiting = eventOf();
  const known = eventOf({ order: { note: 'tab\there, back\\slash, 한국어, "quotes" and \\N' } });
  const tell = (): void => undefined;

  before(async () => {
    root = makeTemporaryDirectory();
    folder = join(root, 'backup');
    database = await createTestDatabase();
    restored = await createTestDatabase({ migrated: false });
    let service = await runService({ database });
    site = await service.createSite();
    ({ apiKey } = await site.issue());
    const shop = merchant(service.url, apiKey);
    const { body } = await shop.submit(known, 'known-key-1');
    await shop.evaluated(body.ingestion_id);
    await shop.label(String(known['source_event_id']), { outcome_label: 'FRAUD_CONFIRMED' });
    await plantDeadLetter(service, body.ingestion_id);
    await service.stop();
    // Accepted, and not judged before the backup: its job must come back as well.
    service = await runService({ database, role: 'api' });
    await merchant(service.url, apiKey).submit(waiting);
    await backUnderLoad(service);
    await service.stop();
    await restoreBackup({ folder, ...restored, backend: 'postgres', tell });
  });

  after(async () => {
    await database.drop();
    await restored.drop();
    rmSync(root, { recursive: true, force: true });
  });

  async function plantDeadLetter(service: RunningService, id: string): Promise<void> {
    const ingestionId = id.slice('ing_'.length);
    await service.database.query(
      `insert into dead_letter (site_id, ingestion_id, cause, attempts, dead_at) values ($1, $2, 'RangeError', 6, now())`,
      [site.siteId, ingestionId],
    );
    await service.database.query(
      `insert into dead_letter_resolution (site_id, ingestion_id, dead_letter_id, kind, reason, resolved_by, resolved_at)
       select site_id, ingestion_id, id, 'REDRIVEN', 'repaired', 'me', now() from dead_letter`,
    );
  }

  /** The backup is made while events are being accepted: it must be of one instant all the same. */
  async function backUnderLoad(service: RunningService): Promise<void> {
    const other = await service.createSite();
    const keys = await Promise.all([other.issue(), other.issue()]);
    const over = new AbortController();
    const callers = keys.map(async (key) => {
      const shop = merchant(service.url, key.apiKey);
      for (let sent = 0; sent < 110 && !over.signal.aborted; sent += 1) {
        await shop.submit(eventOf());
      }
    });
    await sleep(100);
    const result = await writeBackup({
      ownerUrl: database.ownerUrl,
      folder,
      serviceVersion: '0.0.0',
      now: Date.now(),
      tell,
    });
    over.abort();
    await Promise.all(callers);
    expect(result.rows).to.be.greaterThan(20);
  }

  const refusal = async (work: Promise<unknown>): Promise<string> => {
    const error: unknown = await work.then(
      () => undefined,
      (caught: unknown) => caught,
    );
    expect(error).to.be.instanceOf(BackupError);
    return (error as BackupError).message;
  };

  it('restores the ledger, and everything around it, so that it passes ledger:verify', async () => {
    const result = await verifyLedger({ url: restored.ownerUrl, now: Date.now(), tell });
    expect(result.checks.filter(({ deviations }) => deviations > 0)).to.deep.equal([]);
    expect(result.sound).to.equal(true);
    expect(result.rows).to.be.greaterThan(2);
    expect(result.hashed).to.equal(result.rows);
  });

  it('restores every row of every table as it was', async () => {
    const copy = await createTestDatabase({ migrated: false });
    try {
      // Nobody works on the database now, so that both sides can be read.
      const path = join(root, 'quiet');
      await writeBackup({
        ...database,
        folder: path,
        serviceVersion: '0.0.0',
        now: Date.now(),
        tell,
      });
      await restoreBackup({ folder: path, ...copy, backend: 'postgres', tell });
      rmSync(path, { recursive: true });
      const tables = await database.query<{ name: string }>(
        `select nspname || '.' || relname as name
         from pg_class join pg_namespace on pg_namespace.oid = relnamespace
         where nspname in ('public', 'pgboss') and relkind in ('r', 'p') and not relispartition`,
      );
      expect(tables.length).to.be.greaterThan(30);
      for (const { name } of tables) {
        if (OF_THE_MOMENT.has(name)) continue;
        const digest = `select count(*)::int as rows, md5(string_agg(t::text, '|' order by t::text)) as content
          from ${name} t`;
        expect(await copy.query(digest), name).to.deep.equal(await database.query(digest));
      }
      const sequences = `select schemaname, sequencename, last_value from pg_sequences order by 1, 2`;
      expect(await copy.query(sequences)).to.deep.equal(await database.query(sequences));
    } finally {
      await copy.drop();
    }
  });

  it('goes on as if nothing had happened: keys, replays, waiting jobs and new events', async () => {
    const service = await runService({ database: restored });
    try {
      const shop = merchant(service.url, apiKey);
      const replay = await shop.submit(known, 'known-key-1');
      expect([replay.status, replay.headers.get('idempotent-replayed')]).to.deep.equal([
        202,
        'true',
      ]);
      const state = await shop.risk(String(known['source_event_id']));
      expect(state.body.evaluation_status).to.equal('SUCCEEDED');
      const { body } = await shop.submit(waiting);
      await shop.evaluated(body.ingestion_id);
      const fresh = await shop.submit(eventOf());
      expect(fresh.status).to.equal(202);
      await shop.evaluated(fresh.body.ingestion_id);
    } finally {
      await service.stop();
    }
    for (const statement of ['delete from ingestion', `update audit_entry set actor = 'x'`]) {
      const refused: unknown = await restored.query(statement).catch((error: unknown) => error);
      if (statement.startsWith('delete')) expect(String(refused)).to.include('append-only');
    }
    const result = await verifyLedger({ url: restored.ownerUrl, now: Date.now(), tell });
    expect(result.sound).to.equal(true);
  });

  it('is private on disk, and its sums are in the form of sha256sum', () => {
    const files = readdirSync(folder);
    for (const file of files)
      expect(statSync(join(folder, file)).mode & 0o777, file).to.equal(0o600);
    expect(statSync(folder).mode & 0o777).to.equal(0o700);
    const sums = readFileSync(join(folder, 'SHA256SUMS'), 'utf8').trim().split('\n');
    expect(sums).to.have.length(files.length - 1);
    for (const line of sums) {
      const [sum = '', file = ''] = line.split('  ');
      const content = readFileSync(join(folder, file));
      expect(createHash('sha256').update(content).digest('hex'), file).to.equal(sum);
    }
  });

  it('refuses what is damaged, incomplete, or made by a newer version, and a database that is not empty', async () => {
    const empty = await createTestDatabase({ migrated: false });
    try {
      const restore = (): Promise<number> =>
        restoreBackup({ folder, ...empty, backend: 'postgres', tell });
      expect(
        await refusal(restoreBackup({ folder, ...database, backend: 'postgres', tell })),
      ).to.include('has tables already');
      expect(
        await refusal(
          writeBackup({ ...empty, folder: join(root, 'x'), serviceVersion: '', now: 0, tell }),
        ),
      ).to.include('no data of this service');
      expect(readdirSync(root), 'nothing is left').to.deep.equal(['backup']);
      expect(
        await refusal(writeBackup({ ...database, folder, serviceVersion: '', now: 0, tell })),
      ).to.include('exists already');

      const manifest = join(folder, 'manifest.json');
      const sums = join(folder, 'SHA256SUMS');
      const whole = { manifest: readFileSync(manifest), sums: readFileSync(sums) };
      const changed = Buffer.from(
        whole.manifest.toString().replace('"0001-ledger"', '"0001-ledger", "9999-later"'),
      );
      writeFileSync(manifest, changed);
      expect(await refusal(restore())).to.include('manifest.json is damaged');
      const sumOf = (content: Buffer): string => createHash('sha256').update(content).digest('hex');
      writeFileSync(sums, whole.sums.toString().replace(sumOf(whole.manifest), sumOf(changed)));
      expect(await refusal(restore())).to.include('which this version does not know');
      rmSync(sums);
      expect(await refusal(restore())).to.include('not a complete backup');
      writeFileSync(manifest, whole.manifest);
      writeFileSync(sums, whole.sums);

      const file = join(folder, 'public.ingestion.copy.zst');
      const content = readFileSync(file);
      const flipped = Buffer.from(content);
      flipped[flipped.length >> 1] = (flipped[flipped.length >> 1] ?? 0) ^ 1;
      writeFileSync(file, flipped);
      expect(await refusal(restore())).to.include('missing or damaged');
      const [count] = await empty.query<{ rows: string }>('select count(*) as rows from site');
      expect(count?.rows, 'nothing of it is kept').to.equal('0');
      writeFileSync(file, content);
    } finally {
      await empty.drop();
    }
  });

  it('restores a backup of an older version and brings it up to date', async () => {
    const old = await createTestDatabase({ migrated: false });
    const target = await createTestDatabase({ migrated: false });
    try {
      const orm = createOrm({
        url: old.ownerUrl,
        poolSize: 1,
        applicationName: 'test',
        statementTimeoutMs: 0,
      });
      await orm.migrator.up({ to: '0004-rate-window-sum' });
      await orm.close(true);
      const boss = createBoss({
        url: old.ownerUrl,
        backend: 'postgres',
        applicationName: 'test',
        supervise: false,
        migrate: true,
        onError: () => undefined,
      });
      await boss.start();
      await createQueues(boss);
      await boss.stop({ graceful: false });
      await old.query(
        `insert into site (code, name, customer_type, default_subject, created_at)
         values ('old', 'Old', 'SINGLE_COMPANY', 'subject', '2026-01-01')`,
      );
      await old.query(
        `insert into dead_letter (site_id, ingestion_id, cause, attempts, dead_at) values (1, 1000, 'RangeError', 6, now())`,
      );
      const path = join(root, 'old');
      await writeBackup({ ...old, folder: path, serviceVersion: '0.0.0', now: Date.now(), tell });
      await restoreBackup({ folder: path, ...target, backend: 'postgres', tell });
      const migrations = await target.query<{ name: string }>('select name from schema_migration');
      expect(migrations.map(({ name }) => name)).to.have.members(
        MIGRATIONS.map(({ name }) => name),
      );
      // What a later migration makes out of older rows is made out of the restored ones.
      expect(await target.query('select cause, discarded from open_dead_letter')).to.deep.equal([
        { cause: 'RangeError', discarded: false },
      ]);
    } finally {
      await old.drop();
      await target.drop();
    }
  });

  it('reads a table of any size in bounded memory, however slow the disk is', async () => {
    const client = new Client({ connectionString: database.ownerUrl });
    await client.connect();
    try {
      const rows = copyOut(
        client,
        `copy (select repeat('x', 2000) from generate_series(1, 30000)) to stdout`,
      );
      let bytes = 0;
      let most = 0;
      for await (const chunk of rows as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        most = Math.max(most, rows.readableLength);
        if (bytes % 50 === 0) await sleep(1);
      }
      expect(bytes).to.equal(30_000 * 2001);
      expect(rows.rows).to.equal(30_000);
      expect(most).to.be.lessThan(2 * 1024 * 1024);
      expect((await client.query('select 1 as one')).rows).to.deep.equal([{ one: 1 }]);
      // All of it has come and the reader is still asleep: the client must be free afterwards all the same.
      for (const count of [1, 4, 5, 9]) {
        const late = copyOut(
          client,
          `copy (select repeat('x', 65536) from generate_series(1, ${count})) to stdout`,
        );
        await sleep(50);
        let size = 0;
        for await (const chunk of late as AsyncIterable<Buffer>) size += chunk.length;
        expect(size).to.equal(count * 65_537);
        expect((await client.query('select 1 as one')).rowCount).to.equal(1);
      }
    } finally {
      await client.end();
    }
  });
});

describe('ledger:verify', () => {
  let database: TestDatabase;
  let site: TestSite;
  const secret = `note ${'z'.repeat(40)}`;

  before(async () => {
    const service = await runService();
    ({ database } = service);
    site = await service.createSite();
    const { apiKey } = await site.issue();
    const shop = merchant(service.url, apiKey);
    for (let i = 0; i < 4; i += 1) {
      const { body } = await shop.submit(eventOf({ order: { note: secret } }));
      await shop.evaluated(body.ingestion_id);
    }
    await service.service.close();
  });

  after(() => database.drop());

  /** Changes what no role may change, as a broken disk or a hand at the database would. */
  const tamper = async (...statements: readonly string[]): Promise<void> => {
    for (const statement of statements) {
      const table = /(?:update|from|into) (\w+)/.exec(statement)?.[1] ?? '';
      await database.query(`alter table ${table} disable trigger user`);
      await database.query(statement);
      await database.query(`alter table ${table} enable trigger user`);
    }
  };

  const verify = () =>
    verifyLedger({ url: database.ownerUrl, now: Date.now() + 3_600_000, tell: () => undefined });

  it('finds nothing in a ledger that is sound, imported events that used no quota included', async () => {
    await database.query(
      `insert into ingestion (site_id, id, source_event_id, payload_hash, hash_version, received_at, occurred_at, event_type,
         transaction_type, transaction_status, amount_minor, currency, merchant_subject, credential_id)
       select site_id, 5, 'imported', sha256('{}'), 1, received_at, occurred_at, event_type, transaction_type,
         transaction_status, amount_minor, currency, merchant_subject, credential_id
       from ingestion order by id limit 1`,
    );
    await database.query(
      `insert into ingestion_payload (site_id, ingestion_id, received_at, body)
       select site_id, id, received_at, '{}' from ingestion where id = 5`,
    );
    await database.query(
      `insert into evaluation (site_id, ingestion_id, score, level, decision, reasons, rule_scores, evaluator_version, evaluated_at)
       select site_id, 5, score, level, decision, reasons, rule_scores, evaluator_version, evaluated_at
       from evaluation limit 1`,
    );
    const result = await verify();
    expect(result).to.include({ rows: 5, hashed: 5, sound: true });
    expect(result.checks.flatMap(({ named }) => named)).to.deep.equal([]);
  });

  it('finds each kind of damage, names it by our ids, and shows no value', async () => {
    const ids = await database.query<{ id: string }>(
      'select id from ingestion where id > 5 order by id',
    );
    const [first, second, third, fourth] = ids.map(({ id }) => id);
    await tamper(
      `update ingestion_payload set body = replace(body, 'zz', 'zy') where ingestion_id = ${first}`,
      `delete from ingestion_payload where ingestion_id = ${second}`,
      `update usage_counter set accepted = accepted + 1`,
      `delete from evaluation where ingestion_id = ${third}`,
      `update idempotency_key set fingerprint = '\\x00' where ingestion_id = ${fourth}`,
      `insert into outcome_label (site_id, ingestion_id, outcome_label, credential_id, labelled_at)
       values (${site.siteId}, 77, 'FRAUD_CONFIRMED', 1, now())`,
      `insert into open_dead_letter (site_id, ingestion_id, dead_letter_id, cause, attempts, dead_at)
       values (${site.siteId}, ${first}, 5, 'RangeError', 1, now())`,
    );
    const result = await verify();
    expect(result.sound).to.equal(false);
    const found = Object.fromEntries(
      result.checks
        .filter(({ deviations }) => deviations > 0)
        .map(({ name, named }) => [name, named]),
    );
    const of = (id: string | undefined): string => `Site ${site.siteId}, ing_${id}`;
    expect(found).to.deep.equal({
      'payloads have the hash that was stored': [of(first)],
      'payloads are there until retention ends': [of(second)],
      'evaluation_features belongs to evaluation': [`Site ${site.siteId}, ${third}`],
      'outcome_label belongs to ingestion': [`Site ${site.siteId}, 77`],
      'open_dead_letter belongs to dead_letter': [`Site ${site.siteId}, ${first}`],
      'idempotency keys stand for the payload that was accepted': [of(fourth)],
      'usage counters agree with the ledger': [
        `Site ${site.siteId}, credential 1, ${new Date().toISOString().slice(0, 7)}: counted 5, in the ledger 4`,
      ],
      'every event is judged, queued or a dead letter': [of(third)],
    });
    expect(JSON.stringify(result)).not.to.include('zzzz');
  });
});
