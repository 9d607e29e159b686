import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { createOrm } from '../../entities/orm.ts';
import { sumUp } from '../../jobs/report-sums.ts';
import { systemClock } from '../../ledger/clock.ts';
import { listProcedures } from '../../routers/admin/procedure-list.ts';
import { startCluster, withClient, type BenchDatabase } from '../cluster.ts';
import { machineLines } from '../machine.ts';
import { markdownOf, shown } from '../report.ts';
import { ADMIN_TOKEN, startService } from '../service-process.ts';
import { summarise, type Latencies } from '../statistics.ts';
import { CALLS, ONCE_PER_SITE, type Known, type MeasuredCall } from './calls.ts';
import { fill } from './fill.ts';

const HELP = `Measures the administrative reads and small mutations over HTTP on a filled ledger, one after another.

  npm run bench:admin                    a million events; prints p50, p95 and the slowest call of each
  npm run bench:admin -- --rows 200000   a smaller ledger
  npm run bench:admin -- --calls 50      fewer calls of each (200)
  npm run bench:admin -- --write         also writes bench/ADMIN.md

Exit codes: 0 every p95 within its limit (search 50 ms, everything else 100 ms), 1 one beyond it, 2 wrong usage.
`;

const RESULTS = new URL('../ADMIN.md', import.meta.url);
const SITES = 20;

interface Options {
  readonly rows: number;
  readonly calls: number;
  readonly write: boolean;
}

function readOptions(args: string[]): Options | 'help' | undefined {
  try {
    const { values } = parseArgs({
      args,
      options: {
        help: { type: 'boolean', default: false },
        rows: { type: 'string', default: '1000000' },
        calls: { type: 'string', default: '200' },
        write: { type: 'boolean', default: false },
      },
    });
    if (values.help) return 'help';
    const rows = Number(values.rows);
    const calls = Number(values.calls);
    if (!Number.isInteger(rows) || rows < 50_000 || !Number.isInteger(calls) || calls < 20) {
      return undefined;
    }
    return { rows, calls, write: values.write };
  } catch {
    return undefined;
  }
}

const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** One call over HTTP, as the command line makes it. @returns milliseconds @throws Error where it was refused */
async function time(port: number, path: string, input: object): Promise<number> {
  const started = performance.now();
  const response = await fetch(`http://127.0.0.1:${port}/admin/trpc/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify(input),
  });
  const text = await response.text();
  const took = performance.now() - started;
  if (response.status !== 200) throw new Error(`${path}: ${text.slice(0, 300)}`);
  return took;
}

async function measure(port: number, each: MeasuredCall, calls: number, known: Known) {
  const samples: number[] = [];
  const count = ONCE_PER_SITE.has(each.path) ? SITES : calls;
  for (let n = 0; n < count; n += 1)
    samples.push(await time(port, each.path, each.input(n, known)));
  return { samples: samples.length, ...summarise(samples) };
}

/** What the calls refer to beside the ledger: an endpoint and a task. */
async function prepare(database: BenchDatabase, rows: number): Promise<Known> {
  return withClient(database.ownerUrl, async (owner) => {
    const credentials = await owner.query<{ id: string }>('select id from credential limit 200');
    const endpoint = await owner.query<{ id: string }>(
      `insert into webhook_endpoint (site_id, url, description, event_types, state, created_by, created_at, changed_by, changed_at)
       select min(id), 'https://merchant.example/hook', 'bench', '{transaction.evaluated}', 'ACTIVE', 'bench', now(), 'bench', now()
       from site returning id`,
    );
    const task = await owner.query<{ id: string }>(
      `insert into task (kind, site_id, state, input, done, starts, fruitless_starts, created_by, created_at, updated_at)
       select 'bench', 0, 'DONE', '{}', n, 1, 0, 'bench', now(), now() from generate_series(1, 1000) as n returning id`,
    );
    return {
      rows,
      judgedFrom: 1_000 + Math.floor(rows * 0.1),
      credentialIds: credentials.rows.map(({ id }) => id),
      endpointId: endpoint.rows[0]?.id ?? '',
      taskId: task.rows[0]?.id ?? '',
    };
  });
}

/** The sums that reports read, as a worker would have kept them. */
async function sum(database: BenchDatabase): Promise<void> {
  const orm = createOrm({
    url: database.ownerUrl,
    poolSize: 1,
    applicationName: 'bench',
    statementTimeoutMs: 0,
  });
  try {
    await sumUp({
      transaction: (work) => orm.em.fork().transactional((em) => work(em.getKysely())),
      clock: systemClock,
      onFault: () => undefined,
    });
  } finally {
    await orm.close(true);
  }
}

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  if (options === 'help' || options === undefined) {
    (options === 'help' ? process.stdout : process.stderr).write(HELP);
    return options === 'help' ? 0 : 2;
  }
  const cluster = await startCluster();
  try {
    const database = await cluster.clone();
    await fill(database.ownerUrl, { rows: options.rows, onStep: (step) => say(`fills: ${step}`) });
    say('fills: sums of reports');
    await sum(database);
    const known = await prepare(database, options.rows);
    const service = await startService({ ...database, role: 'api' });
    const results: { call: MeasuredCall; took: Latencies & { samples: number } }[] = [];
    try {
      // The first calls of a process compile and connect; a session of operators does not consist of them.
      for (const path of ['sites.list', 'ingestions.search']) {
        for (let n = 0; n < 20; n += 1) await time(service.port, path, {});
      }
      for (const each of CALLS) {
        say(`measures: ${each.path} ${each.about}`);
        results.push({ call: each, took: await measure(service.port, each, options.calls, known) });
      }
    } finally {
      await service.stop();
    }
    const slow = results.filter(({ call, took }) => !(took.p95 <= call.limit));
    const measured = new Set(CALLS.map(({ path }) => path));
    const left = listProcedures().filter(
      ({ type, path }) => type === 'query' && !measured.has(path),
    );
    const command = `npm run bench:admin -- --rows ${options.rows} --calls ${options.calls}`;
    const table = markdownOf({
      title: `Administrative calls on ${shown(options.rows)} events`,
      head: ['call', 'about', 'calls', 'p50 ms', 'p95 ms', 'max ms', 'limit ms'],
      rows: results.map(({ call, took }) => [
        call.path,
        call.about,
        shown(took.samples),
        shown(took.p50, 1),
        shown(took.p95, 1),
        shown(took.max, 1),
        shown(call.limit),
      ]),
      notes: [
        'Over HTTP, one call after another, each with other inputs; 60 % of the events belong to one of 20 Sites.',
        `${shown(options.rows * 0.6)} dead letters, a sixth of them open; 2,000 events wait; the audit has 200,000 rows.`,
        ...(left.length === 0
          ? []
          : [`Queries that are not measured: ${left.map(({ path }) => path).join(', ')}.`]),
        slow.length === 0
          ? 'Every p95 is within its limit.'
          : `Beyond their limit: ${slow.map(({ call }) => `${call.path} ${call.about}`.trim()).join('; ')}.`,
      ],
    });
    process.stdout.write(table);
    if (options.write) {
      const head = machineLines(cluster, command).map((line) => `- ${line}`);
      writeFileSync(
        RESULTS,
        `# The administrative side, measured\n\n${head.join('\n')}\n\n${table}`,
      );
    }
    return slow.length === 0 ? 0 : 1;
  } finally {
    await cluster.stop();
  }
}

process.exitCode = await main();
