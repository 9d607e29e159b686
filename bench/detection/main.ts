import { chmodSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Client } from 'pg';
import { createOrm } from '../../entities/orm.ts';
import { createPartitions } from '../../ledger/partitions.ts';
import type { ImportTarget } from '../../ledger/import-events.ts';
import { rankingMetrics } from '../../risk/model/metrics.ts';
import { count, Progress } from '../../server/demo/progress.ts';
import { startEmbeddedPostgres } from '../../server/embedded-postgres/index.ts';
import { migrateDatabase } from '../../server/migrate.ts';
import { replay, type Replayed } from './replay.ts';
import { scoredRows } from './scored-rows.ts';
import { findStream, NoStream, readStream, type StreamLine } from './stream.ts';

const HELP = `Replays a labelled stream through the service and measures how well its scores find the frauds.

  npm run bench:detection -- <folder> --out scores.jsonl

<folder> has history.jsonl.gz, train.jsonl.gz, delay.jsonl.gz and test.jsonl.gz, or a folder "stream" with them. Events go
through ledger, features and evaluation on an embedded PostgreSQL in a temporary folder; each fraud is labelled seven days
after it happened; a model is learned when the test part begins. One line per test event is written to the file of --out.

  --rules-only    no labels and no model: the default rules alone
  --share 0.1     only so many of the customers, for a quick look
  --json          the result as JSON

Exit codes: 0 measured, 1 failed, 2 wrong usage.
`;

const DAY_MS = 86_400_000;

interface Options {
  readonly folder: string;
  readonly out: string | undefined;
  readonly withLabels: boolean;
  readonly share: number;
  readonly json: boolean;
}

function readOptions(args: string[]): Options | 'help' | undefined {
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        out: { type: 'string' },
        'rules-only': { type: 'boolean', default: false },
        share: { type: 'string', default: '1' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) return 'help';
    const share = Number(values.share);
    const [folder] = positionals;
    if (folder === undefined || positionals.length > 1 || !(share > 0 && share <= 1)) {
      return undefined;
    }
    return {
      folder,
      out: values.out,
      withLabels: !values['rules-only'],
      share,
      json: values.json,
    };
  } catch {
    return undefined;
  }
}

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  if (options === 'help') {
    process.stdout.write(HELP);
    return 0;
  }
  if (options === undefined) {
    process.stderr.write(HELP);
    return 2;
  }
  let folder: string;
  try {
    folder = findStream(options.folder);
  } catch (error: unknown) {
    if (!(error instanceof NoStream)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 2;
  }
  const lines: StreamLine[] = [];
  for await (const line of readStream(folder, options.share)) lines.push(line);
  const replayed = await onDatabase(lines, (appUrl, target) =>
    replayWithBars(lines, appUrl, target, options),
  );
  if (options.out !== undefined) writeScores(options.out, replayed);
  report(lines, replayed, options);
  return 0;
}

/** An embedded server in a temporary folder, with one Site and partitions for the stream's days. */
async function onDatabase<Result>(
  lines: readonly StreamLine[],
  work: (appUrl: string, target: ImportTarget) => Promise<Result>,
): Promise<Result> {
  const directory = mkdtempSync(join(realpathSync(tmpdir()), 'transaction-risk-detection-'));
  // Root's server runs as another user, who must be able to pass.
  chmodSync(directory, 0o711);
  let server: Awaited<ReturnType<typeof startEmbeddedPostgres>> | undefined;
  try {
    server = await startEmbeddedPostgres({ dataDir: directory, log: () => undefined });
    const { ownerUrl, appUrl } = server;
    await migrateDatabase({ ownerUrl, appUrl });
    await makePartitions(ownerUrl, lines);
    return await work(appUrl, await makeSite(ownerUrl));
  } finally {
    await server?.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

async function makePartitions(ownerUrl: string, lines: readonly StreamLine[]): Promise<void> {
  const from = lines[0]?.at ?? 0;
  const days = Math.ceil(((lines.at(-1)?.at ?? from) - from) / DAY_MS) + 1;
  const orm = createOrm({
    url: ownerUrl,
    poolSize: 1,
    applicationName: 'bench detection',
    statementTimeoutMs: 0,
  });
  try {
    await createPartitions(orm.em.getKysely(), from, days);
  } finally {
    await orm.close(true);
  }
}

async function makeSite(ownerUrl: string): Promise<ImportTarget> {
  const client = new Client({ connectionString: ownerUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ site_id: string; credential_id: string }>(
      `with new_site as (
         insert into site (code, name, customer_type, default_subject, created_at)
         values ('detection', 'Detection stream', 'MULTI_MERCHANT', 'detection', now()) returning id
       )
       insert into credential (site_id, environment, label, permissions, created_at)
       select id, 'production', 'stream', '{ingest,label}', now() from new_site
       returning site_id, id as credential_id`,
    );
    return {
      siteId: BigInt(rows[0]?.site_id ?? 0),
      credentialId: BigInt(rows[0]?.credential_id ?? 0),
      defaultSubject: 'detection',
    };
  } finally {
    await client.end();
  }
}

async function replayWithBars(
  lines: readonly StreamLine[],
  appUrl: string,
  target: ImportTarget,
  { withLabels }: Options,
): Promise<Replayed> {
  const events = new Progress(process.stderr, 'events', lines.length);
  const training = new Progress(process.stderr, 'training', 100);
  const replayed = await replay(inOrder(lines), {
    appUrl,
    target,
    withLabels,
    onEvents: (done) => events.show(done),
    onTraining: (share) => training.show(Math.round(share * 100)),
  });
  events.end();
  return replayed;
}

async function* inOrder(lines: readonly StreamLine[]): AsyncGenerator<StreamLine> {
  yield* lines;
}

function writeScores(file: string, { scores }: Replayed): void {
  const text = [...scores]
    .map(([sourceEventId, score]) => JSON.stringify({ source_event_id: sourceEventId, score }))
    .join('\n');
  writeFileSync(file, `${text}\n`);
}

function report(lines: readonly StreamLine[], replayed: Replayed, { json }: Options): void {
  const rows = scoredRows(
    lines.filter(({ part }) => part !== 'history'),
    replayed.scores,
  );
  const frauds = rows.filter(({ isFraud }) => isFraud).length;
  const metrics = rankingMetrics(rows);
  const perSecond = Math.round(replayed.events / replayed.replaySeconds);
  const result = {
    ...metrics,
    rows: rows.length,
    frauds,
    events: replayed.events,
    labels: replayed.labels,
    replay_seconds: replayed.replaySeconds,
    events_per_second: perSecond,
    training_seconds: replayed.trainingSeconds,
    training: replayed.training,
  };
  if (json) {
    process.stdout.write(`${JSON.stringify(result, undefined, 2)}\n`);
    return;
  }
  process.stdout.write(
    `
rows                 ${count(rows.length)} scored, ${frauds} frauds
AUC ROC              ${metrics.auc_roc.toFixed(4)}
Average precision    ${metrics.average_precision.toFixed(4)}
Card Precision@100   ${metrics.card_precision_100.toFixed(4)}   (worst order of ties)

replayed             ${count(replayed.events)} events and ${count(replayed.labels)} labels in ${replayed.replaySeconds.toFixed(0)} s, ${count(perSecond)}/s
training             ${replayed.trainingSeconds.toFixed(0)} s   ${JSON.stringify(replayed.training)}
`,
  );
}

process.exitCode = await main();
