import { setImmediate as turn } from 'node:timers/promises';
import { createOrm } from '../../entities/orm.ts';
import type { Db } from '../../ledger/database.ts';
import { RATE_LIMIT } from '../../ledger/rate-window.ts';
import { withClient, type BenchCluster, type BenchDatabase } from '../cluster.ts';
import { cpuSecondsOfTree } from '../processes.ts';
import { USED } from './statements.ts';
import { UNLIMITED, type Decider, type LimitWay } from './ways.ts';

/** Callers that wait for a decision at any moment, and the credentials they use in turn. */
export const CALLERS = 64;
export const CREDENTIALS = 2_000;

/** Connections of one process, as the service has them. */
const POOL = 8;

/** Longest warm-up and the decisions it ends at, so that most of the windows' room is left to be measured. */
const WARM_UP = { ms: 500, decisions: 20_000 };

/** No window may fill while decisions are measured: a refusal from memory is another path. */
const ROOM = (RATE_LIMIT - USED - 2) * CREDENTIALS;

/** Asked at once by two processes on one fresh credential each. */
const CONTENDED = 200;

/** What one round of one way gave. CPU in seconds per thousand decisions; the client's includes the callers'. */
export interface Decisions {
  readonly perSecond: number;
  readonly clientCpu: number;
  readonly databaseCpu: number;
  readonly totalCpu: number;
  /** Bytes of WAL per decision. */
  readonly wal: number;
  /** Refusals while measured; 0 unless the way is wrong. */
  readonly refused: number;
  /** Of 2 x 200 requests of one credential in two processes' limiters, sent at once. */
  readonly contended: number;
}

/** Measures a way on a fresh database. */
export async function measureDecisions(
  cluster: BenchCluster,
  database: BenchDatabase,
  way: LimitWay,
  seconds: number,
): Promise<Decisions> {
  const ids = cluster.credentials.map(({ credentialId }) => credentialId);
  const used = ids.slice(0, CREDENTIALS);
  await withClient(database.ownerUrl, (owner) =>
    way.prepare(owner, used, new URL(database.appUrl).username),
  );
  const orms = [0, 1].map(() =>
    createOrm({
      url: database.appUrl,
      poolSize: POOL,
      applicationName: 'bench',
      statementTimeoutMs: 10_000,
    }),
  );
  const deciders = orms.map((orm) => way.open((): Db => orm.em.fork().getKysely()));
  try {
    const [decider] = deciders as [Decider];
    const ask = askInTurn(decider, used.map(BigInt));
    const warmUp = await ask(WARM_UP.ms, WARM_UP.decisions);
    const walBefore = await walOf(database);
    const before = { client: process.cpuUsage(), database: cpuSecondsOfTree(cluster.pid) };
    const began = performance.now();
    const measured = await ask(
      seconds * 1000,
      way === UNLIMITED ? Infinity : ROOM - warmUp.decided,
    );
    const elapsed = (performance.now() - began) / 1000;
    const client = process.cpuUsage(before.client);
    const thousands = measured.decided / 1000;
    const clientCpu = (client.user + client.system) / 1e6 / thousands;
    const databaseCpu = (cpuSecondsOfTree(cluster.pid) - before.database) / thousands;
    return {
      perSecond: measured.decided / elapsed,
      clientCpu,
      databaseCpu,
      totalCpu: clientCpu + databaseCpu,
      wal: ((await walOf(database)) - walBefore) / measured.decided,
      refused: measured.refused,
      contended: await contend(deciders, BigInt(ids[CREDENTIALS] as string)),
    };
  } finally {
    await Promise.all(orms.map((orm) => orm.close(true)));
  }
}

function walOf(database: BenchDatabase): Promise<number> {
  return withClient(database.ownerUrl, async (client) => {
    const { rows } = await client.query<{ wal: string }>(
      `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::text as wal`,
    );
    return Number(rows[0]?.wal);
  });
}

interface Asked {
  readonly decided: number;
  readonly refused: number;
}

/** Callers that ask again once they are answered, through the event loop as requests arrive. */
function askInTurn(
  decider: Decider,
  ids: readonly bigint[],
): (ms: number, most: number) => Promise<Asked> {
  let next = 0;
  return async (ms, most) => {
    const until = performance.now() + ms;
    let decided = 0;
    let refused = 0;
    let begun = 0;
    await Promise.all(
      Array.from({ length: CALLERS }, async () => {
        while (performance.now() < until && begun < most) {
          begun += 1;
          // A stride without a common divisor: each credential equally often, neighbours far apart.
          const id = ids[(next * 7_919) % ids.length] as bigint;
          next += 1;
          const { admitted } = await decider.admit(id);
          decided += 1;
          if (!admitted) refused += 1;
          await turn();
        }
      }),
    );
    return { decided, refused };
  };
}

async function contend(deciders: readonly Decider[], id: bigint): Promise<number> {
  const answers = await Promise.all(
    deciders.flatMap((decider) => Array.from({ length: CONTENDED }, () => decider.admit(id))),
  );
  return answers.filter(({ admitted }) => admitted).length;
}
