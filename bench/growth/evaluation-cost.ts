import { randomUUID } from 'node:crypto';
import { evaluateBatch } from '../../jobs/evaluate-batch.ts';
import { defaultEvaluators } from '../../jobs/evaluators.ts';
import { systemClock } from '../../ledger/clock.ts';
import type { LedgerRef } from '../../ledger/load-batch.ts';
import { createPipelinedTransactions } from '../../ledger/transactions.ts';
import type { BenchDatabase } from '../cluster.ts';
import { EventSource } from '../events.ts';
import type { LoadCredential } from '../load/protocol.ts';
import { cpuSecondsOfTree } from '../processes.ts';
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

/** What the evaluations of one kind took. */
export interface EvaluationCost {
  /** Elapsed of each that was alone in its transaction, ms. */
  readonly alone: readonly number[];
  /** Of this process and the database, seconds for all those together. */
  cpuSeconds: number;
  /** Elapsed of each batch of {@link BATCH}, divided by it, ms. */
  readonly batched: readonly number[];
}

/** Evaluations of one kind in a row: enough for the clock of CPU time, which ticks a hundred times a second. */
export const BATCH = 50;

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
  readonly eventsPerKind: number;
}): Promise<Map<Kind, EvaluationCost>> {
  const { database, databasePid, port, credentials, eventsPerKind } = options;
  const blocks = Math.ceil(eventsPerKind / BATCH);
  const plan = Array.from({ length: 2 * blocks }, (_, turn) =>
    (turn % 4 < 2 ? ALL : ALL.toReversed()).map((kind) => ({ kind, together: turn % 2 === 1 })),
  ).flat();
  const accepted: { kind: Kind; together: boolean; refs: LedgerRef[] }[] = [];
  const source = new EventSource({ seed: 2, sites: 1 });
  let number = 0;
  for (const { kind, together } of plan) {
    const refs: LedgerRef[] = [];
    for (let n = 0; n < BATCH; n += 1) {
      const credential = credentials[number % credentials.length] as LoadCredential;
      refs.push(await accept(port, credential, eventBody(source, kind, number)));
      number += 1;
    }
    accepted.push({ kind, together, refs });
  }
  const pipelined = createPipelinedTransactions({
    url: database.appUrl,
    poolSize: 1,
    applicationName: 'bench',
    statementTimeoutMs: 10_000,
  });
  const evaluators = defaultEvaluators();
  const evaluate = async (refs: readonly LedgerRef[]): Promise<number> => {
    const began = performance.now();
    const { failed } = await pipelined.transaction((db) =>
      evaluateBatch(db, refs, systemClock.now(), { evaluators }),
    );
    if (failed.length > 0) throw failed[0]?.error;
    return performance.now() - began;
  };
  const costs = new Map(
    ALL.map((kind) => [kind, { alone: [] as number[], cpuSeconds: 0, batched: [] as number[] }]),
  );
  try {
    for (const [index, { kind, together, refs }] of accepted.entries()) {
      const from = cpuSeconds(databasePid);
      const times: number[] = [];
      if (together) times.push((await evaluate(refs)) / BATCH);
      else for (const ref of refs) times.push(await evaluate([ref]));
      // The first of each kind pay for compilers and caches.
      const cost = costs.get(kind);
      if (index < 2 * ALL.length || cost === undefined) continue;
      (together ? cost.batched : cost.alone).push(...times);
      if (!together) cost.cpuSeconds += cpuSeconds(databasePid) - from;
    }
  } finally {
    await pipelined.close();
  }
  return costs;
}

function cpuSeconds(databasePid: number): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6 + cpuSecondsOfTree(databasePid);
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
