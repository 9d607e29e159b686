import { writeFileSync } from 'node:fs';
import { count, Progress } from '../../server/demo/progress.ts';
import { startCluster, withClient, type BenchCluster, type BenchDatabase } from '../cluster.ts';
import { machineLines } from '../machine.ts';
import { measure, type Measurement } from '../measure.ts';
import { importPast } from '../model/import-past.ts';
import { learnedDays } from '../model/learned-model.ts';
import { residentMegabytes } from '../processes.ts';
import { markdownOf } from '../report.ts';
import { startService } from '../service-process.ts';
import { HELP, readTrainingOptions, type TrainingBenchOptions } from './options.ts';
import { tablesOf, type Limits, type TrainingRun } from './report.ts';
import { busiestNewThread, threadCpuSeconds } from './thread-cpu.ts';
import { callAdmin, trainOverHttp } from './train-over-http.ts';

const RESULTS = new URL('../TRAINING.md', import.meta.url);

const LIMITS: Limits = { seconds: 300, p99: 2 };

const SITE_CODE = 'bench-1';
const HOUR_MS = 3_600_000;

/** A training is over before this, or has failed, seconds. */
const LONGEST_SECONDS = 3_600;

const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** Judged and labelled payments of the days that a training ordered within the next two hours learns from. */
async function fill(
  cluster: BenchCluster,
  database: BenchDatabase,
  rows: number,
): Promise<{ readonly events: number; readonly seconds: number }> {
  const [credential] = cluster.credentials;
  if (credential === undefined) throw new Error('The bench has no credential.');
  const now = Date.now();
  const { from, to } = learnedDays(now);
  const began = performance.now();
  const bar = new Progress(process.stderr, 'events', Math.round(rows * 1.1));
  const past = { seed: 11, payments: rows, from: from + 2 * HOUR_MS, to, until: now };
  const { events } = await importPast(database, credential, past, (done) => bar.show(done));
  bar.end();
  await withClient(database.ownerUrl, async (owner) => {
    await owner.query('vacuum (analyze)');
    await owner.query('checkpoint');
  });
  return { events, seconds: (performance.now() - began) / 1000 };
}

async function run(
  cluster: BenchCluster,
  database: BenchDatabase,
  { rate, rows, seconds }: TrainingBenchOptions,
): Promise<TrainingRun> {
  say(`imports ${count(rows)} payments and what became of them`);
  const filled = await fill(cluster, database, rows);
  const service = await startService({ ...database, role: 'all' });
  try {
    // Only what is ordered here: a schedule would begin on its own as soon as there are labels.
    await callAdmin(service.port, 'models.configure', {
      site_code: SITE_CODE,
      train_every_days: 0,
    });
    let next = 0;
    const phase = async (
      length: number,
      warmUpSeconds: number,
      options: Parameters<typeof measure>[4] = {},
    ): Promise<Measurement> => {
      const measured = await measure(
        cluster,
        database,
        {
          target: { kind: 'http', port: service.port },
          traffic: { kind: 'ingest', first: next },
          pace: { kind: 'open', connections: 64, perSecond: rate },
          credentials: cluster.credentials,
          sites: cluster.sites,
          seed: 20_262,
          warmUpSeconds,
          seconds: length,
        },
        service.pid,
        options,
      );
      ({ next } = measured);
      return measured;
    };
    say(`${rate} transactions a second, ${seconds} s before the training`);
    const before = await phase(seconds, 15);
    const idleMegabytes = residentMegabytes(service.pid);

    const bar = new Progress(process.stderr, 'training', 100);
    const threads = threadCpuSeconds(service.pid);
    let threadSeconds = Number.NaN;
    let begin: () => void = () => undefined;
    const training = new Promise<void>((resolve) => {
      begin = resolve;
    }).then(() =>
      trainOverHttp(service.port, SITE_CODE, (percent) => {
        bar.show(percent);
        const now = busiestNewThread(threads, threadCpuSeconds(service.pid));
        // Gone with the thread: the last look at it counts.
        if (now > threadSeconds || Number.isNaN(threadSeconds)) threadSeconds = now;
      }),
    );
    training.catch(() => undefined);
    const during = await phase(LONGEST_SECONDS, 2, { enough: training, onMeasuring: begin });
    const { result, seconds: took } = await training;
    bar.end();
    say(`${rate} transactions a second, ${seconds} s after the training`);
    const after = await phase(seconds, 2);
    return {
      filled,
      phases: { before, during, after },
      training: { seconds: took, threadSeconds, result },
      idleMegabytes,
      rate,
    };
  } finally {
    await service.stop();
  }
}

async function main(): Promise<number> {
  const args = process.argv.slice(2);
  const options = readTrainingOptions(args);
  if (options === 'help' || options === undefined) {
    (options === 'help' ? process.stdout : process.stderr).write(HELP);
    return options === 'help' ? 0 : 2;
  }
  say('starts an embedded PostgreSQL in a temporary directory');
  const cluster = await startCluster();
  const interrupted = new Promise<never>((_, reject) => {
    const stop = (): void => reject(new Error('Interrupted.'));
    process.once('SIGINT', stop);
    process.once('SIGTERM', stop);
  });
  interrupted.catch(() => undefined);
  try {
    const database = await cluster.clone();
    const measured = await Promise.race([run(cluster, database, options), interrupted]);
    const { tables, isWithin } = tablesOf(measured, LIMITS);
    const command = ['npm run bench:training', ...(args.length > 0 ? ['--', ...args] : [])].join(
      ' ',
    );
    const about = machineLines(cluster, command).map((line) => `- ${line}`);
    const text = `${about.join('\n')}\n\n${tables.map(markdownOf).join('\n')}`;
    process.stdout.write(`${text}\n`);
    if (options.write) writeFileSync(RESULTS, `# A training under load, measured\n\n${text}`);
    return isWithin ? 0 : 1;
  } finally {
    await cluster.stop();
  }
}

try {
  process.exitCode = await main();
} catch (error: unknown) {
  say(error instanceof Error ? error.message : 'The bench failed.');
  // What is under way would keep the process alive.
  process.exit(1);
}
