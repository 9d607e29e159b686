import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { enqueueDeliveries } from '../../jobs/enqueue-webhooks.ts';
import { createBoss, WEBHOOK } from '../../jobs/queues.ts';
import { createSecretBox } from '../../ledger/secret-box.ts';
import { createPipelinedTransactions } from '../../ledger/transactions.ts';
import { recordWebhookEvents } from '../../ledger/webhook-events.ts';
import { createSecret } from '../../ledger/webhook-secrets.ts';
import { startCluster, withClient, type BenchDatabase } from '../cluster.ts';
import { machineLines } from '../machine.ts';
import { cpuSecondsOf, cpuSecondsOfTree, residentMegabytes } from '../processes.ts';
import { startServer, type ServerProcess } from '../service-process.ts';
import { summarise } from '../statistics.ts';
import type { Ports, Tally } from './receiver.ts';

const HELP = `Measures delivery of webhooks: one worker process, a fast receiver, endpoints that never answer.

  npm run bench:webhooks -- [--backlog 20000] [--rate 1000] [--seconds 20] [--hanging 100] [--fast 20] [--write]

  --backlog   events committed before the worker starts: how fast they are delivered is its throughput
  --rate      events per second for the endpoints that answer, while their lag is measured
  --hanging   endpoints that never answer; each gets one event per second all the while
  --fast      endpoints that answer at once
  --write     writes bench/WEBHOOKS.md instead of printing`;

const { values } = parseArgs({
  options: {
    backlog: { type: 'string', default: '20000' },
    rate: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '20' },
    hanging: { type: 'string', default: '100' },
    fast: { type: 'string', default: '20' },
    write: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(HELP);
  process.exit();
}
const wanted = {
  backlog: Number(values.backlog),
  rate: Number(values.rate),
  seconds: Number(values.seconds),
  hanging: Number(values.hanging),
  fast: Number(values.fast),
};
if (Object.values(wanted).some((value) => !Number.isInteger(value) || value < 1)) {
  console.error('Every option takes a whole number of at least 1; --help shows them.');
  process.exit(2);
}

/** Guards nothing but a temporary database. */
const KEY = Buffer.alloc(32, 9);

/** Events of one commit while the rate is kept, in ms of the rate. */
const SLICE_MS = 20;

interface Receivers {
  readonly ports: Ports;
  tally(): Promise<Tally>;
  stop(): void;
}

async function startReceivers(): Promise<Receivers> {
  const child: ChildProcess = fork(join(import.meta.dirname, 'receiver.ts'));
  const [ports] = (await once(child, 'message')) as [Ports];
  return {
    ports,
    async tally() {
      const told = once(child, 'message') as Promise<[Tally]>;
      child.send('tally');
      return (await told)[0];
    },
    stop: () => void child.kill(),
  };
}

/** Commits events as the service does, on connections of its own. */
async function createProducer(database: BenchDatabase) {
  const boss = createBoss({
    url: database.appUrl,
    backend: 'postgres',
    applicationName: 'bench queue',
    supervise: false,
    migrate: false,
    onError: () => undefined,
  });
  await boss.start();
  await boss.getQueue(WEBHOOK);
  const pipelined = createPipelinedTransactions({
    url: database.appUrl,
    poolSize: 2,
    applicationName: 'bench events',
    statementTimeoutMs: 30_000,
  });
  let ingestion = 0n;
  return {
    transaction: pipelined.transaction,
    async emit(siteIds: readonly bigint[]): Promise<void> {
      const now = Date.now();
      const events = siteIds.map((siteId) => {
        ingestion += 1n;
        const names = { ingestion_id: `ing_${ingestion}`, source_event_id: `order-${ingestion}` };
        const risk = {
          score: 42,
          level: 'medium' as const,
          decision: 'REVIEW' as const,
          reasons: ['The card was used 7 times within one hour; the threshold is 5.'],
          rule_scores: { card_velocity_1h: 25, amount_above_usual: 17 },
          evaluator_version: '1.0.0+rules.1',
          evaluated_at: new Date(now).toISOString(),
        };
        const type = 'transaction.evaluated' as const;
        return { siteId, type, ingestionId: ingestion, data: { ...names, risk } };
      });
      await pipelined.transaction((db) =>
        recordWebhookEvents(db, events, now, (inner, rows) => enqueueDeliveries(boss, inner, rows)),
      );
    },
    async close(): Promise<void> {
      await boss.stop({ graceful: false, close: true });
      await pipelined.close();
    },
  };
}
type Producer = Awaited<ReturnType<typeof createProducer>>;

/** Adds an active endpoint to each Site of a new set of them; returns the Sites. */
async function addSites(
  database: BenchDatabase,
  producer: Producer,
  urls: readonly string[],
): Promise<bigint[]> {
  const box = createSecretBox([{ id: 'bench', key: KEY }]);
  return withClient(database.ownerUrl, async (owner) => {
    const sites: bigint[] = [];
    for (const url of urls) {
      const { rows } = await owner.query<{ site_id: string; id: string }>(
        `with made as (
           insert into site (code, name, customer_type, default_subject, approved_at, created_at)
           values ('hooks-' || gen_random_uuid(), 'Hooks', 'SINGLE_COMPANY', 'subject', now(), now()) returning id
         )
         insert into webhook_endpoint (site_id, url, description, event_types, state, activated_at, created_by,
           created_at, changed_by, changed_at)
         select id, $1, '', '{transaction.evaluated}', 'ACTIVE', now(), 'bench', now(), 'bench', now() from made
         returning site_id, id`,
        [url],
      );
      const siteId = BigInt(rows[0]?.site_id ?? 0);
      const endpointId = BigInt(rows[0]?.id ?? 0);
      await producer.transaction((db) => createSecret(db, box, { siteId, endpointId }, Date.now()));
      sites.push(siteId);
    }
    return sites;
  });
}

const startOptions = (
  JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')) as {
    scripts: { start: string };
  }
).scripts.start
  .split(' ')
  .filter((word) => word.startsWith('--'));

const startWorker = (database: BenchDatabase): Promise<ServerProcess> =>
  startServer([...startOptions, join(import.meta.dirname, '../../server/main.ts')], '/readyz', {
    DATABASE_URL: database.appUrl,
    MIGRATION_DATABASE_URL: database.ownerUrl,
    ADMIN_TOKEN: 'bench-administrator-token-0123456789abcdef',
    SECRETS_KEY: `bench:${KEY.toString('base64')}`,
    WEBHOOK_ALLOW_PRIVATE_NETWORKS: 'true',
    ROLE: 'worker',
    LOG_LEVEL: 'warn',
  });

const round = (value: number, digits = 0): string => value.toFixed(digits);

const [busy = 0] = loadavg();
const cluster = await startCluster();
const receivers = await startReceivers();
const database = await cluster.clone();
const producer = await createProducer(database);
let worker: ServerProcess | undefined;
try {
  const { fast, silent } = receivers.ports;
  const urls = (count: number, port: number): string[] =>
    Array.from({ length: count }, (_, n) => `http://127.0.0.1:${port}/hooks/${n}`);
  const healthy = await addSites(database, producer, urls(wanted.fast, fast));
  const hanging = await addSites(database, producer, urls(wanted.hanging, silent));
  const siteOf = (n: number): bigint => healthy[n % healthy.length] ?? 0n;

  console.error(`Commits a backlog of ${wanted.backlog} events ...`);
  for (let n = 0; n < wanted.backlog; n += 250) {
    const size = Math.min(250, wanted.backlog - n);
    await producer.emit(Array.from({ length: size }, (_, index) => siteOf(n + index)));
    if (n % 5_000 === 0) await producer.emit(hanging);
  }
  worker = await startWorker(database);
  console.error('Delivers the backlog, while the silent endpoints hang ...');
  const cpu = (): { worker: number; database: number } => ({
    worker: cpuSecondsOf(worker?.pid ?? 0),
    database: cpuSecondsOfTree(cluster.pid),
  });
  let tally = await receivers.tally();
  const first = { at: performance.now(), answered: tally.answered, cpu: cpu() };
  while (tally.answered < wanted.backlog) {
    await sleep(100);
    tally = await receivers.tally();
    if (performance.now() - first.at > 300_000) throw new Error('the backlog is not delivered');
  }
  const drained = (performance.now() - first.at) / 1000;
  const perSecond = (tally.answered - first.answered) / drained;
  const spent = cpu();
  const thousands = (tally.answered - first.answered) / 1000;
  const cost = {
    worker: (spent.worker - first.cpu.worker) / thousands,
    database: (spent.database - first.cpu.database) / thousands,
  };

  console.error(`Keeps ${wanted.rate} events per second for ${wanted.seconds} s ...`);
  await sleep(1_000);
  const before = await receivers.tally();
  const begun = performance.now();
  let sent = 0;
  let slices = 0;
  let beats = 0;
  let most = 0;
  for (;;) {
    const elapsed = performance.now() - begun;
    if (elapsed > wanted.seconds * 1000) break;
    const due = Math.floor((elapsed / 1000) * wanted.rate) - sent;
    if (due > 0) {
      const from = sent;
      await producer.emit(Array.from({ length: due }, (_, index) => siteOf(from + index)));
      sent += due;
    }
    if (elapsed > beats * 1000) {
      beats += 1;
      await producer.emit(hanging);
    }
    slices += 1;
    if (slices % 25 === 0) most = Math.max(most, residentMegabytes(worker.pid));
    await sleep(SLICE_MS);
  }
  const sending = (performance.now() - begun) / 1000;
  await sleep(3_000);
  const after = await receivers.tally();
  const lag = summarise(after.lags);
  const missing = sent - (after.answered - before.answered);
  const held = await withClient(database.ownerUrl, async (owner) => {
    const { rows } = await owner.query<{ open: number; held: number }>(
      `select (select count(*)::int from webhook_endpoint_health where breaker <> 'CLOSED') as open,
         (select count(*)::int from webhook_delivery where state = 'PENDING' and next_attempt_at is null) as held`,
    );
    return rows[0] ?? { open: 0, held: 0 };
  });
  const command = `npm run bench:webhooks -- --backlog ${wanted.backlog} --rate ${wanted.rate} --seconds ${wanted.seconds} --hanging ${wanted.hanging} --fast ${wanted.fast}`;
  const text = `# What delivery of webhooks reaches

${machineLines(cluster, command)
  .map((line) => `- ${line}`)
  .join('\n')}
- One worker process (\`ROLE=worker\`), receivers over plain HTTP in a process of their own, events of about 600 bytes from a
  third process; all of them share the cores. ${wanted.fast} endpoints answer at once, ${wanted.hanging} never answer and get an event per second each.
- Load average of the machine before the run: ${round(busy, 1)}. Anything above 0.5 or so took its share of the cores.

| measured                                                             |                                    |
| -------------------------------------------------------------------- | ---------------------------------- |
| backlog of ${wanted.backlog} events delivered, per second            | ${round(perSecond)}                |
| CPU seconds per 1,000 deliveries: worker / database                  | ${round(cost.worker, 2)} / ${round(cost.database, 2)} |
| events per second while the lag was measured                         | ${round(sent / sending)}           |
| lag from event to arrival, ms: p50 / p95 / p99 / max                 | ${[lag.p50, lag.p95, lag.p99, lag.max].map((value) => round(value)).join(' / ')} |
| of them not delivered 3 s after the last one                         | ${missing}                         |
| worker's resident memory, MB at most                                 | ${round(most)}                     |
| attempts at silent endpoints, which time out after 10 s each         | ${after.unanswered}                |
| silent endpoints spared at the end, deliveries held for them         | ${held.open}, ${held.held}         |
`;
  if (values.write) {
    writeFileSync(join(import.meta.dirname, '../WEBHOOKS.md'), text);
    console.error('Wrote bench/WEBHOOKS.md; npm run format sets its columns.');
  } else console.log(text);
} finally {
  await worker?.stop();
  await producer.close();
  receivers.stop();
  await database.drop();
  await cluster.stop();
}
