import type { Writable } from 'node:stream';
import { Pool, type PoolClient, type QueryResult } from 'pg';
import { prepareStatements } from '../entities/prepared-statements.ts';
import type { Db } from './database.ts';

/** Runs work in one transaction: committed when it resolves, rolled back when it throws. */
export type Transaction = <T>(work: (db: Db) => Promise<T>) => Promise<T>;

/**
 * Runs work whose statements need no answer of each other, in one round trip: `commit` follows the last of them at once.
 * What must hold is demanded inside the statements (`refuse_commit`, constraints): one that fails undoes all.
 *
 * @param statements how many `work` sends, exactly; a transaction with fewer is rolled back
 * @param onSent called when all of it is on its way and nothing is left to do but wait
 */
export type OneTrip = <T>(
  statements: number,
  work: (db: Db) => Promise<T>,
  onSent?: () => void,
) => Promise<T>;

/** Transactions whose statements travel without waiting for each other, on connections of their own. */
export interface PipelinedTransactions {
  readonly transaction: Transaction;
  readonly oneTrip: OneTrip;
  close(): Promise<void>;
}

/** What the connections are set up with; the same limits as the ORM's. */
export interface PipelineOptions {
  readonly url: string;
  readonly poolSize: number;
  readonly applicationName: string;
  readonly statementTimeoutMs: number;
  /** Gets the pool when it is made, for measuring. */
  readonly onPool?: (pool: Pool) => void;
}

/**
 * Statements of one transaction are sent as they come, `begin` included, and answered in the same order: what is awaited
 * together costs one round trip together. Neither MikroORM nor Kysely can do that on a connection, and the waiting, not
 * the work, was two thirds of a group commit (docs/decisions/0002-group-commit.md).
 *
 * The order on the wire is the order of execution, so it is still the order of locks. Work that sends several
 * statements at once awaits them with {@link together}.
 */
export function createPipelinedTransactions(options: PipelineOptions): PipelinedTransactions {
  const pool = new Pool({
    connectionString: options.url,
    max: options.poolSize,
    application_name: options.applicationName,
    connectionTimeoutMillis: 2_000,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    pipeline: true,
    statement_timeout: options.statementTimeoutMs,
    lock_timeout: options.statementTimeoutMs,
    query_timeout: options.statementTimeoutMs + 2_000,
    idle_in_transaction_session_timeout: 10_000,
  });
  // A connection that the server drops is an event without listener otherwise, which ends the process.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  prepareStatements(pool);
  options.onPool?.(pool);
  return {
    async transaction(work) {
      const client = await pool.connect();
      const begun = begin(client);
      try {
        const result = await work(executorOf(client));
        await begun;
        await client.query('commit');
        client.release();
        return result;
      } catch (error: unknown) {
        await rollBack(client);
        throw error;
      }
    },
    async oneTrip(statements, work, onSent) {
      const client = await pool.connect();
      // One packet for all of it: each by itself would wake the server once per statement.
      const send = hold(client);
      let ended: Promise<QueryResult> | undefined;
      let sent = 0;
      try {
        const begun = begin(client);
        const result = await work(
          executorOf(client, () => {
            sent += 1;
            if (sent !== statements) return;
            ended = client.query('commit');
            ended.catch(() => undefined);
            send();
            onSent?.();
          }),
        );
        await begun;
        if (ended === undefined) throw new Error(`${sent} statements instead of ${statements}`);
        // The server answers the commit of a failed transaction with ROLLBACK, and not with an error.
        if ((await ended).command !== 'COMMIT') throw new Error('the transaction was rolled back');
        client.release();
        return result;
      } catch (error: unknown) {
        send();
        await (ended === undefined ? rollBack(client) : leave(client, ended));
        throw error;
      }
    },
    close: () => pool.end(),
  };
}

function begin(client: PoolClient): Promise<QueryResult> {
  const begun = client.query('begin');
  // Reported by the first statement that was to run inside it.
  begun.catch(() => undefined);
  return begun;
}

const rollBack = (client: PoolClient): Promise<void> => leave(client, client.query('rollback'));

/** Gives a connection back once its transaction is over, or throws it away. */
async function leave(client: PoolClient, ended: Promise<QueryResult>): Promise<void> {
  const clean = await ended.then(
    () => true,
    () => false,
  );
  client.release(!clean);
}

/** Keeps what is written to a connection until the returned function is called. */
function hold(client: PoolClient): () => void {
  const { stream } = (client as unknown as { connection: { stream: Writable } }).connection;
  stream.cork();
  let held = true;
  return () => {
    if (held) stream.uncork();
    held = false;
  };
}

/** What `run` and pg-boss's Kysely adapter ask of a database handle, and no more. */
function executorOf(client: PoolClient, onSent?: () => void): Db {
  const executor = {
    async executeQuery({ sql, parameters }: { sql: string; parameters: readonly unknown[] }) {
      const answer = client.query(sql, [...parameters]);
      onSent?.();
      const { rows, rowCount } = await answer;
      return { rows: rows as unknown[], numAffectedRows: BigInt(rowCount ?? 0) };
    },
  };
  return executor as unknown as Db;
}

/** SQLSTATE of every statement behind the one that failed: it says nothing about the cause. */
const IN_FAILED_TRANSACTION = '25P02';

/**
 * Awaits statements that were sent together: all of them, so that none is left unobserved, then the first real failure.
 * A failed statement fails all behind it, which must not hide it.
 */
export async function together<T extends readonly unknown[]>(
  ...statements: { [K in keyof T]: Promise<T[K]> }
): Promise<T> {
  const outcomes = await Promise.allSettled(statements);
  const failures = outcomes.flatMap((outcome) =>
    outcome.status === 'rejected' ? [outcome.reason as unknown] : [],
  );
  const cause =
    failures.find(
      (error) =>
        !(error instanceof Error && 'code' in error && error.code === IN_FAILED_TRANSACTION),
    ) ?? failures[0];
  if (cause !== undefined) throw cause instanceof Error ? cause : new Error('a statement failed');
  return outcomes.map(
    (outcome) => (outcome as PromiseFulfilledResult<unknown>).value,
  ) as unknown as T;
}
