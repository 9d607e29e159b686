import { CompiledQuery, type QueryResult } from 'kysely';
import type { Client } from 'pg';
import type { Db } from '../../ledger/database.ts';
import { admitToWindows } from '../../ledger/rate-window.ts';
import { RateLimiter } from '../../server/rate-limiter.ts';
import {
  ADDED_UP,
  createSecondRows,
  fillSecondRows,
  fillWindows,
  PLAIN_SQL,
  SECOND_ROWS,
} from './statements.ts';

/** What answers one request. */
export interface Decider {
  admit(credentialId: bigint): Promise<{ readonly admitted: boolean }>;
}

/** A way of keeping the limit. */
export interface LimitWay {
  readonly name: string;
  /** Prepares the schema and the credentials' windows, as the owner. */
  prepare(owner: Client, ids: readonly string[], appRole: string): Promise<void>;
  /** One process's decider. */
  open(pool: () => Db): Decider;
}

interface Answered {
  readonly buckets?: readonly number[];
}

/**
 * The product's limiter with another statement of its first three parameters. Its rows are those of the product, or hold all
 * `buckets`, which are added up here.
 */
const limiterWith = (pool: () => Db, text: string): Decider => {
  const executeQuery = async ({ parameters }: CompiledQuery): Promise<QueryResult<unknown>> => {
    const query = CompiledQuery.raw(text, parameters.slice(0, 3)) as CompiledQuery<Answered>;
    const result = await pool().executeQuery(query);
    return { ...result, rows: result.rows.map(withSum) };
  };
  return new RateLimiter(() => ({ executeQuery }) as unknown as Db);
};

function withSum(row: Answered): object {
  const { buckets } = row;
  if (buckets === undefined) return row;
  return {
    ...row,
    used: buckets.reduce((sum, bucket) => sum + (bucket % 1000), 0),
    oldest: Math.floor((buckets[0] ?? 0) / 1000),
  };
}

/** The product as it is. */
export const TODAY: LimitWay = {
  name: 'batch per tick, unlogged, sum kept (the product)',
  prepare: fillWindows,
  open: (pool) => new RateLimiter(pool),
};

/** No limit at all. */
export const UNLIMITED: LimitWay = {
  name: 'no limit',
  prepare: () => Promise.resolve(),
  open: () => ({ admit: () => Promise.resolve({ admitted: true }) }),
};

/** All ways side by side. */
export const LIMIT_WAYS: readonly LimitWay[] = [
  TODAY,
  {
    name: 'the same on a logged table',
    async prepare(owner, ids) {
      await owner.query('alter table rate_window set logged');
      await fillWindows(owner, ids);
    },
    open: (pool) => new RateLimiter(pool),
  },
  {
    name: 'the same, one statement per request',
    prepare: fillWindows,
    open: (pool) => ({
      async admit(credentialId) {
        const [window] = await admitToWindows(pool(), new Map([[credentialId, 1]]));
        return { admitted: window?.granted === 1 };
      },
    }),
  },
  {
    name: 'batch per tick, window added up in plpgsql',
    prepare: fillWindows,
    open: (pool) => limiterWith(pool, ADDED_UP),
  },
  {
    name: 'batch per tick, window added up in plain SQL',
    prepare: fillWindows,
    open: (pool) => limiterWith(pool, PLAIN_SQL),
  },
  {
    name: 'batch per tick, a row per second',
    async prepare(owner, ids, appRole) {
      await createSecondRows(owner, appRole);
      await fillSecondRows(owner, ids);
    },
    open: (pool) => limiterWith(pool, SECOND_ROWS),
  },
  UNLIMITED,
];
