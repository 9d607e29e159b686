import { expect } from 'chai';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { importBatch } from '../../jobs/import-batch.ts';
import { defaultEvaluators } from '../../jobs/evaluators.ts';
import { createIdSource } from '../../ledger/ids.ts';
import { createPipelinedTransactions } from '../../ledger/transactions.ts';
import { runAdminCli } from '../../server/admin-cli/run.ts';
import { hashOfFile, linesOf } from '../../server/admin-cli/upload-file.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventOf, merchant } from '../support/merchant.ts';
import { makePast, pastEvent } from '../support/past.ts';
import { ADMIN_TOKEN, runService, type RunningService } from '../support/running-service.ts';
import { createSite, type TestSite } from '../support/site.ts';
import { makeTemporaryDirectory } from '../support/temporary.ts';

const DAY = 86_400_000;

/** A card number that must not be stored or repeated. */
const CARD = '4111111111111111';

interface Task {
  readonly state: string;
  readonly result: Record<string, unknown>;
}

describe('imports of history', () => {
  let database: TestDatabase;
  let api: RunningService;
  let folder: string;

  before(async () => {
    database = await createTestDatabase();
    api = await runService({ database });
    folder = makeTemporaryDirectory();
  });

  after(async () => {
    await api.stop();
    await database.drop();
    rmSync(folder, { recursive: true });
  });

  const cli = async (...args: string[]): Promise<{ code: number; out: string; err: string }> => {
    const out: string[] = [];
    const err: string[] = [];
    const code = await runAdminCli({
      args,
      environment: { ADMIN_URL: api.url, ADMIN_TOKEN },
      isTerminal: false,
      readStdin: () => Promise.resolve(''),
      print: (line) => out.push(line),
      complain: (line) => err.push(line),
    });
    return { code, out: out.join('\n'), err: err.join('\n') };
  };

  const answer = async <Answer>(...args: string[]): Promise<Answer> => {
    const { code, err, out } = await cli(...args);
    expect(code, err).to.equal(0);
    return JSON.parse(out) as Answer;
  };

  const fileOf = (name: string, lines: readonly unknown[]): string => {
    const path = join(folder, name);
    const text = lines
      .map((line) => (typeof line === 'string' ? line : JSON.stringify(line)))
      .join('\n');
    writeFileSync(path, name.endsWith('.gz') ? gzipSync(text) : text);
    return path;
  };

  const upload = (site: TestSite, file: string): Promise<Task> =>
    answer<Task>('imports', 'create', '--site-code', site.code, '--file', file, '--wait');

  const newSite = async (): Promise<TestSite & { apiKey: string; credentialId: string }> => {
    const site = await createSite(database, { customerType: 'MULTI_MERCHANT' });
    return { ...site, ...(await site.issue()) };
  };

  const labelLine = (label: {
    sourceEventId: string;
    outcomeLabel: string;
    labelledAt: number;
  }) => ({
    source_event_id: label.sourceEventId,
    outcome_label: label.outcomeLabel,
    labelled_at: new Date(label.labelledAt).toISOString(),
  });

  const statesOf = (site: TestSite): Promise<unknown[]> =>
    database.query(
      `select entity_kind, entity_key, state from entity_state where site_id = $1 order by entity_key`,
      [site.siteId],
    );
  const labelDaysOf = (site: TestSite): Promise<unknown[]> =>
    database.query(
      `select to_jsonb(held) - 'site_id' as held from entity_label_day held where site_id = $1 order by entity_kind, entity_key, day`,
      [site.siteId],
    );
  const judgedOf = (site: TestSite): Promise<unknown[]> =>
    database.query(
      `select event.source_event_id, result.score, result.reasons, seen.features from evaluation result
       join ingestion event on event.site_id = result.site_id and event.id = result.ingestion_id
       join evaluation_features seen on seen.site_id = result.site_id and seen.ingestion_id = result.ingestion_id
       where result.site_id = $1 order by 1`,
      [site.siteId],
    );

  it('a file in any order becomes what a life through it in the order of time leaves: results, histories, label sums', async () => {
    const past = makePast(162, Date.now() - DAY, 11);
    const labels = past.labels.filter(({ labelledAt }) => labelledAt < Date.now());
    const [imported, lived] = [await newSite(), await newSite()];
    const lines = [...labels.map(labelLine), ...past.events.map(({ event }) => event)].reverse();
    const task = await upload(imported, fileOf('past.ndjson.gz', lines));
    expect(task.result).to.include({
      events_added: 162,
      events_known: 0,
      labels_added: labels.length,
      labels_known: 0,
      refused_lines: 0,
    });

    const pipelined = createPipelinedTransactions({
      url: database.appUrl,
      poolSize: 1,
      applicationName: 'test',
      statementTimeoutMs: 10_000,
    });
    const parts = {
      ids: createIdSource(),
      evaluators: defaultEvaluators(),
      target: {
        siteId: BigInt(lived.siteId),
        credentialId: BigInt(lived.credentialId),
        defaultSubject: 'none',
      },
    };
    const waiting = [...labels];
    const rest = [...past.events];
    while (rest.length > 0) {
      const due = waiting.splice(
        0,
        waiting.filter(({ labelledAt }) => labelledAt < (rest[0]?.at ?? 0)).length,
      );
      const until = waiting[0]?.labelledAt ?? Infinity;
      const events = rest.splice(0, Math.max(1, rest.filter(({ at }) => at <= until).length));
      await pipelined.transaction((db) =>
        importBatch(db, parts, { events, labels: due }, Date.now()),
      );
    }
    await pipelined.transaction((db) =>
      importBatch(db, parts, { events: [], labels: waiting }, Date.now()),
    );
    await pipelined.close();
    expect(await judgedOf(imported)).to.deep.equal(await judgedOf(lived));
    expect(await statesOf(imported)).to.deep.equal(await statesOf(lived));
    expect(await labelDaysOf(imported)).to.deep.equal(await labelDaysOf(lived));
  }).timeout(30_000);

  it('is dated by its own times, costs no quota, tells no webhook, and live events see it; twice adds nothing', async () => {
    const site = await newSite();
    const at = Date.now() - 3 * DAY;
    const made = { card: 'warm', merchant: 'shop', amount: 500 };
    const file = fileOf('warm.ndjson', [
      pastEvent('w-1', at, made),
      pastEvent('w-2', at + 1_000, made),
      labelLine({ sourceEventId: 'w-1', outcomeLabel: 'FRAUD_CONFIRMED', labelledAt: at + DAY }),
    ]);
    await upload(site, file);
    const rows = await database.query<{ received: string }>(
      `select (extract(epoch from received_at) * 1000)::bigint as received from ingestion where site_id = $1 order by source_event_id`,
      [site.siteId],
    );
    expect(rows.map(({ received }) => Number(received))).to.deep.equal([at, at + 1_000]);
    const [day] = await database.query<{ name: string }>(
      `select tableoid::regclass::text as name from ingestion_payload where site_id = $1 limit 1`,
      [site.siteId],
    );
    expect(day?.name).to.equal(
      `ingestion_payload_${new Date(at).toISOString().slice(0, 10).replaceAll('-', '')}`,
    );
    for (const table of [
      'usage_counter',
      'idempotency_key',
      'webhook_event',
      'history_import_line',
    ]) {
      expect(
        await database.query(`select 1 from ${table} where site_id = $1`, [site.siteId]),
        table,
      ).to.deep.equal([]);
    }

    const shop = merchant(api.url, site.apiKey);
    const now = new Date().toISOString();
    const live = eventOf({
      source_event_id: 'live-1',
      occurred_at: now,
      merchant_external_id: 'shop',
      payment_method: { type: 'CARD', token: 'warm' },
      transaction: { source_event_id: 'live-1', occurred_at: now },
    });
    const accepted = await shop.submit(live);
    await shop.evaluated(String(accepted.body.ingestion_id));
    const explained = await answer<{ features: { name: string; value: number }[] | null }>(
      'ingestions',
      'explain',
      '--ingestion-id',
      String(accepted.body.ingestion_id),
    );
    expect(JSON.stringify(explained)).to.include('card_attempts_30d');
    const [features] = await database.query<{ state: string }>(
      `select state from entity_state where site_id = $1 and entity_kind = 'card'`,
      [site.siteId],
    );
    expect((JSON.parse(features?.state ?? '[]') as number[])[3]).to.equal(3);

    const again = await upload(site, file);
    expect(again.result).to.include({
      events_added: 0,
      events_known: 2,
      labels_added: 0,
      labels_known: 1,
    });
    expect((await shop.usage()).body.accepted_events ?? 1).to.equal(1);
  }).timeout(30_000);

  it('names wrong lines by number and path, never by value, and imports the others', async () => {
    const site = await newSite();
    const at = Date.now() - DAY;
    const made = { card: 'c', merchant: 'm', amount: 100 };
    const good = pastEvent('good', at, made);
    const other = { ...pastEvent('good', at, made), source_system: 'elsewhere' };
    const file = fileOf('wrong.ndjson', [
      good,
      'not JSON',
      { ...pastEvent('secret', at, made), payment_method: { type: 'CARD', token: CARD } },
      '',
      pastEvent('future', Date.now() + DAY, made),
      pastEvent('ancient', Date.now() - 500 * DAY, made),
      { ...good, transaction: { ...good.transaction, amount_minor: '100' } },
      labelLine({ sourceEventId: 'nobody', outcomeLabel: 'FALSE_POSITIVE', labelledAt: at }),
      { ...pastEvent('nameless', at, made), merchant_external_id: undefined },
      `"${'x'.repeat(300_000)}"`,
      `{"source_event_id": "\u0000"}`,
    ]);
    const task = await upload(site, file);
    expect(task.result).to.include({ events_added: 1, refused_lines: 9 });
    const { import_id: id } = task.result as { import_id: string };
    const list = await answer<{ items: { line: number; problems: string[] }[] }>(
      'imports',
      'problems',
      '--import-id',
      id,
    );
    const paths = list.items.map(({ line, problems }) => [line, problems[0]?.split(':')[0]]);
    expect(paths).to.deep.equal([
      [2, 'line'],
      [3, 'payment_method.token'],
      [5, 'transaction.occurred_at'],
      [6, 'transaction.occurred_at'],
      [7, 'transaction.amount_minor'],
      [8, 'source_event_id'],
      [9, 'merchant_external_id'],
      [10, 'line'],
      [11, 'line'],
    ]);
    expect(JSON.stringify(list)).to.not.include(CARD);
    expect(JSON.stringify(await database.query('select * from audit_entry'))).to.not.include(CARD);
    expect(api.logLines.join('')).to.not.include(CARD);

    const second = await upload(site, fileOf('other.ndjson', [other]));
    expect(second.result).to.include({ events_added: 0, events_known: 0, refused_lines: 1 });
  }).timeout(30_000);

  it('goes on where an upload was cut off, and refuses lines out of turn', async () => {
    const site = await newSite();
    const made = { card: 'c', merchant: 'm', amount: 100 };
    const lines = Array.from({ length: 50 }, (_, i) =>
      pastEvent(`cut-${i}`, Date.now() - DAY + i, made),
    );
    const file = fileOf('cut.ndjson', lines);
    const begun = await answer<{ import_id: string }>(
      'imports',
      'create',
      '--site-code',
      site.code,
      '--content-hash',
      await hashOfFile(file),
    );
    const append = (from: number, to: number) =>
      cli(
        'imports',
        'append',
        '--import-id',
        begun.import_id,
        '--first-line',
        String(from + 1),
        '--lines',
        lines
          .slice(from, to)
          .map((line) => `${JSON.stringify(line)}\n`)
          .join(''),
      );
    expect((await append(0, 20)).code).to.equal(0);
    // Sent again because its answer was lost: there already.
    expect((await append(0, 20)).code).to.equal(0);
    expect((await append(30, 40)).err).to.include('the next one is 21');
    expect((await append(10, 30)).err).to.include('the next one is 21');
    const early = await cli('imports', 'commit', '--import-id', begun.import_id, '--lines', '50');
    expect(early.err).to.include('20 lines of 50');
    const task = await upload(site, file);
    expect(task.result).to.include({ import_id: begun.import_id, events_added: 50 });
    expect((await append(0, 20)).err).to.include('takes no more lines');
  }).timeout(30_000);

  it('is brought in once, also where the worker was stopped on its way', async () => {
    const site = await newSite();
    const { events } = makePast(600, Date.now() - DAY, 12);
    const file = fileOf(
      'stopped.ndjson',
      events.map(({ event }) => event),
    );
    await answer('imports', 'create', '--site-code', site.code, '--file', file);
    const done = async (): Promise<number> =>
      Number(
        (
          await database.query<{ done: string }>('select done from task where site_id = $1', [
            site.siteId,
          ])
        )[0]?.done ?? 0,
      );
    while ((await done()) === 0) await sleep(20);
    await api.stop();
    const stoppedAt = await done();
    expect(stoppedAt).to.be.lessThan(600);
    api = await runService({ database });
    const isOpen = `select 1 from history_import where site_id = $1 and ended_at is null`;
    while ((await database.query(isOpen, [site.siteId])).length > 0) await sleep(50);
    expect(await done()).to.equal(600);
    const [counted] = await database.query<{ rows: string; judged: string }>(
      `select (select count(*) from ingestion where site_id = $1) as rows,
         (select count(*) from evaluation where site_id = $1) as judged`,
      [site.siteId],
    );
    expect(counted).to.deep.equal({ rows: '600', judged: '600' });
    expect((await upload(site, file)).result).to.include({ events_added: 0, events_known: 600 });
  }).timeout(60_000);

  it('needs a credential that its events can name, and a file that can be read', async () => {
    const site = await createSite(database);
    const file = fileOf('one.ndjson', ['{}']);
    const refused = await cli('imports', 'create', '--site-code', site.code, '--file', file);
    expect(refused).to.include({ code: 1 });
    expect(refused.err).to.include('credentials.issue');
    const missing = await cli('imports', 'create', '--site-code', site.code, '--file', `${file}x`);
    expect(missing).to.include({ code: 2 });
    expect(missing.err).to.include('ENOENT');
  });

  it('a line that is too long, not UTF-8 or has NUL costs no more than itself', async () => {
    async function* chunks(): AsyncGenerator<Buffer> {
      yield Buffer.from('one\ntw');
      for (let i = 0; i < 5; i += 1) yield Buffer.alloc(100_000, 'x');
      yield Buffer.from([10, 0xff, 10, 65, 0, 10]);
      yield Buffer.from('last');
    }
    const lines: string[] = [];
    for await (const line of linesOf(chunks())) lines.push(line);
    expect(lines.map((line) => (line.length > 100 ? line.length : line))).to.deep.equal([
      'one',
      256 * 1024 + 1,
      'not UTF-8',
      'not UTF-8',
      'last',
    ]);
  });
});
