import { storeBusyHistory, storeOtherEntities } from '../growth/busy-entities.ts';
import {
  BATCH,
  evaluationCost,
  KINDS,
  type EvaluationCost,
  type Kind,
  type Turns,
} from '../growth/evaluation-cost.ts';
import { ratio, shown, type Table } from '../report.ts';
import { median } from '../statistics.ts';
import { WAYS } from '../ways.ts';
import { withDatabase, withWay, type Scenario } from './scenario.ts';

interface Size {
  readonly busiest: number;
  /** Entities with one event each that lie beside them. */
  readonly others: number;
  readonly turnsPerRound: number;
}

const FULL: Size = { busiest: 1_000_000, others: 200_000, turnsPerRound: 8 };
const QUICK: Size = { busiest: 20_000, others: 20_000, turnsPerRound: 4 };

/** What a card and a merchant with a million events cost beside those never seen. */
export const entities: Scenario = async (bench) => {
  const { quick, rounds } = bench.options;
  const size = quick ? QUICK : FULL;
  const [first] = bench.cluster.credentials;
  const siteId = first?.siteId ?? '';
  return withDatabase(bench, async (database) => {
    const stored = await storeBusyHistory({
      appUrl: database.appUrl,
      siteId: BigInt(siteId),
      events: size.busiest,
      until: Date.now(),
    });
    await storeOtherEntities(database.ownerUrl, size.others);
    bench.tell(`histories of ${shown(size.busiest)} events are stored`);
    const costs = await withWay(WAYS.api, database, async ({ target }) =>
      evaluationCost({
        database,
        databasePid: bench.cluster.pid,
        port: target.kind === 'http' ? target.port : 0,
        credentials: bench.cluster.credentials.filter((each) => each.siteId === siteId),
        turns: size.turnsPerRound * rounds,
      }),
    );
    return [tableOf(size, costs, stored)];
  });
};

function tableOf(
  size: Size,
  costs: ReadonlyMap<Kind, EvaluationCost>,
  stored: readonly { readonly kind: string; readonly characters: number }[],
): Table {
  const of = (kind: Kind): EvaluationCost => costs.get(kind) as EvaluationCost;
  const fresh = of('fresh');
  return {
    title: `Evaluation of an event with a history of ${shown(size.busiest)} events`,
    head: [
      'event of',
      'evaluations',
      'alone: median ms',
      'to fresh (range)',
      'CPU ms',
      'to fresh',
      `${BATCH} in a batch: median ms each`,
      'to fresh (range)',
      'CPU ms each',
      'to fresh',
    ],
    rows: (Object.keys(KINDS) as Kind[]).map((kind) => {
      const { alone, batched } = of(kind);
      return [
        KINDS[kind],
        shown(BATCH * (alone.times.length + batched.times.length)),
        shown(median(alone.times), 2),
        kind === 'fresh' ? '-' : ratios(alone.times, fresh.alone.times),
        shown(cpuOf(alone), 2),
        ratio(cpuOf(alone), cpuOf(fresh.alone)),
        shown(median(batched.times), 3),
        kind === 'fresh' ? '-' : ratios(batched.times, fresh.batched.times),
        shown(cpuOf(batched), 3),
        ratio(cpuOf(batched), cpuOf(fresh.batched)),
      ];
    }),
    notes: [
      `Histories were made by absorbing every one of the events by the service's own code over 45 days; stored lengths: ${stored.map(({ kind, characters }) => `${kind} ${shown(characters)}`).join(', ')} characters. Beside them lie ${shown(size.others)} entities with one event each.`,
      `The kinds take turns, ${BATCH} events each, in an order that is turned round every time; "to fresh" is the median over the turns of the time to that of the fresh events of the same turn, with the range from the tenth to the ninetieth percentile, so that what else runs on the machine cancels out.`,
      'Evaluated as a worker does it, which remembers the states it wrote itself; alone: one event per transaction. CPU is that of the evaluating process and the database together. All events of a batch are of the same kind. Customer, device and network of every event are new.',
    ],
  };
}

/** CPU ms of one evaluation. */
const cpuOf = ({ times, ownCpu, databaseCpu }: Turns): number =>
  ((ownCpu + databaseCpu) / (times.length * BATCH)) * 1000;

function ratios(times: readonly number[], fresh: readonly number[]): string {
  const each = times
    .map((time, turn) => time / (fresh[turn] ?? Number.NaN))
    .toSorted((a, b) => a - b);
  const at = (share: number): number => each[Math.floor(share * (each.length - 1))] ?? Number.NaN;
  return `${shown(median(each), 2)}x (${shown(at(0.1), 2)}..${shown(at(0.9), 2)})`;
}
