import { randomUUID } from 'node:crypto';
import { evaluateBatch } from '../../jobs/evaluate-batch.ts';
import { defaultEvaluators } from '../../jobs/evaluators.ts';
import { KnownStates } from '../../jobs/known-states.ts';
import { systemClock } from '../../ledger/clock.ts';
import type { LedgerRef } from '../../ledger/load-batch.ts';
import { createPipelinedTransactions } from '../../ledger/transactions.ts';
import type { BenchDatabase } from '../cluster.ts';
import { EventSource } from '../events.ts';
import type { LoadCredential } from '../load/protocol.ts';
import { cpuSecondsOfTree } from '../processes.ts';
import { median } from '../statistics.ts';
import { BUSIEST } from './busy-entities.ts';

/** Whose history the event of a kind meets. */
export const KINDS = {
  fresh: 'a card and a merchant never seen',
  card: 'the busiest card, a merchant never seen',
  merchant: 'a card never seen, the busiest merchant',
  both: 'the busiest card at the busiest merchant',
} as const;
/** One of {@link KINDS}. */
export type Kind = keyof typeof KINDS;

const ALL = Object.keys(KINDS) as Kind[];

/** What the evaluations of one kind took, turn by turn: {@link BATCH} of them in each. */
export interface EvaluationCost {
  /** Each alone in its transaction: median ms of a turn. */
  readonly alone: Turns;
  /** All of a turn in one transaction: ms divided by their number. */
  readonly batched: Turns;
}

/** Of every turn the ms of one evaluation; of all together the CPU seconds of this process and of the database. */
export interface Turns {
  readonly times: number[];
  ownCpu: number;
  databaseCpu: number;
}

/** Evaluations of one kind in a row: enough for the clock of CPU time, which ticks a hundred times a second. */
export const BATCH = 50;

/** Turns at the beginning that pay for compilers and caches, and are not measured. */
const WARM_UP_TURNS = 2;

/**
 * Accepts events of every kind over HTTP and evaluates them as the worker's code does it, the kinds in turn: one by one,
 * then by the batch. Alone, a busy history costs the most beside the rest; in a batch it is read and written once however
 * many of its events there are.
 */
export async function evaluationCost(options: {
  readonly database: BenchDatabase;
  readonly databasePid: number;
  readonly port: number;
  /** Credentials of the Site that has the histories. */
  readonly credentials: readonly LoadCredential[];
  /** In each of them every kind has {@link BATCH} events alone and as many in a batch. */
  readonly turns: number;
}): Promise<Map<Kind, EvaluationCost>> {
  const { database, databasePid, port, credentials, turns } = options;
  const source = new EventSource({ seed: 2, sites: 1 });
  let number = 0;
  const acceptSome = async (kind: Kind): Promise<LedgerRef[]> => {
    const refs: LedgerRef[] = [];
    for (let n = 0; n < BATCH; n += 1) {
      const credential = credentials[number % credentials.length] as LoadCredential;
      refs.push(await accept(port, credential, eventBody(source, kind, number)));
      number += 1;
    }
    return refs;
  };
  const pipelined = createPipelinedTransactions({
    url: database.appUrl,
    poolSize: 1,
    applicationName: 'bench',
    statementTimeoutMs: 10_000,
  });
  const evaluators = defaultEvaluators();
  const known = new KnownStates();
  const evaluate = async (refs: readonly LedgerRef[]): Promise<number> => {
    const began = performance.now();
    const { failed } = await pipelined.transaction((db) =>
      evaluateBatch(db, refs, systemClock.now(), { evaluators, known }),
    );
    if (failed.length > 0) throw failed[0]?.error;
    return performance.now() - began;
  };
  const costs = new Map<Kind, EvaluationCost>(
    ALL.map((kind) => [
      kind,
      {
        alone: { times: [], ownCpu: 0, databaseCpu: 0 },
        batched: { times: [], ownCpu: 0, databaseCpu: 0 },
      },
    ]),
  );
  try {
    for (let turn = 0; turn < WARM_UP_TURNS + turns; turn += 1) {
      const order = turn % 2 === 0 ? ALL : ALL.toReversed();
      // Accepted before anything is measured: nothing else runs meanwhile.
      const accepted: { kind: Kind; alone: LedgerRef[]; together: LedgerRef[] }[] = [];
      for (const kind of order) {
        accepted.push({ kind, alone: await acceptSome(kind), together: await acceptSome(kind) });
      }
      for (const { kind, alone } of accepted) {
        const times: number[] = [];
        const from = cpuSeconds(databasePid);
        for (const ref of alone) times.push(await evaluate([ref]));
        note(costs.get(kind)?.alone, turn, median(times), from, cpuSeconds(databasePid));
      }
      for (const { kind, together } of accepted) {
        const from = cpuSeconds(databasePid);
        const took = await evaluate(together);
        note(costs.get(kind)?.batched, turn, took / BATCH, from, cpuSeconds(databasePid));
      }
    }
  } finally {
    await pipelined.close();
  }
  return costs;
}

function note(
  turns: Turns | undefined,
  turn: number,
  time: number,
  from: CpuSeconds,
  to: CpuSeconds,
): void {
  if (turns === undefined || turn < WARM_UP_TURNS) return;
  turns.times.push(time);
  turns.ownCpu += to.own - from.own;
  turns.databaseCpu += to.database - from.database;
}

interface CpuSeconds {
  readonly own: number;
  readonly database: number;
}

function cpuSeconds(databasePid: number): CpuSeconds {
  const { user, system } = process.cpuUsage();
  return { own: (user + system) / 1e6, database: cpuSecondsOfTree(databasePid) };
}

/** An approved payment by people never seen, whose card and merchant are as the kind says. */
function eventBody(source: EventSource, kind: Kind, number: number): string {
  const event = JSON.parse(source.event(number, Date.now()).body.toString('utf8')) as Record<
    string,
    unknown
  > & { transaction: Record<string, unknown> };
  const { original_event_id: _, ...transaction } = event.transaction;
  return JSON.stringify({
    ...event,
    event_type: 'PAYMENT_AUTH',
    merchant_external_id:
      kind === 'merchant' || kind === 'both' ? BUSIEST.merchant : `merchant-new-${number}`,
    transaction: { ...transaction, type: 'AUTH', status: 'APPROVED', currency: 'KRW' },
    payment_method: {
      type: 'CARD',
      token: kind === 'card' || kind === 'both' ? BUSIEST.card : `tok_new-${number}`,
    },
    customer: { customer_id: `cus_new-${number}` },
    device: { device_id: `dev_new-${number}` },
    network: { ip_prefix: `198.51.${number % 256}.0/24`, country: 'KR' },
  });
}

async function accept(port: number, credential: LoadCredential, body: string): Promise<LedgerRef> {
  const response = await fetch(`http://127.0.0.1:${port}/v1/transactions`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-api-key': credential.apiKey,
      'idempotency-key': randomUUID(),
    },
    body,
  });
  const answer = (await response.json()) as { ingestion_id?: string };
  if (response.status !== 202 || answer.ingestion_id === undefined) {
    throw new Error(`An event of the bench was answered ${response.status}.`);
  }
  return {
    siteId: BigInt(credential.siteId),
    ingestionId: BigInt(answer.ingestion_id.slice('ing_'.length)),
  };
}
