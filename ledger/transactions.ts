import { Pool, type PoolClient } from 'pg';
import { prepareStatements } from '../entities/prepared-statements.ts';
import type { Db } from './database.ts';

/** Runs work in one transaction: committed when it resolves, rolled back when it throws. */
export type Transaction = <T>(work: (db: Db) => Promise<T>) => Promise<T>;

/** Transactions whose statements travel without waiting for each other, on connections of their own. */
export interface PipelinedTransactions {
  readonly transaction: Transaction;
  close(): Promise<void>;
}

/** What the connections are set up with; the same limits as the ORM's. */
export interface PipelineOptions {
  readonly url: string;
  readonly poolSize: number;
  readonly applicationName: string;
  readonly statementTimeoutMs: number;
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
  return {
    async transaction(work) {
      const client = await pool.connect();
      const begun = client.query('begin');
      // Reported by the first statement that was to run inside it.
      begun.catch(() => undefined);
      try {
        const result = await work(executorOf(client));
        await begun;
        await client.query('commit');
        client.release();
        return result;
      } catch (error: unknown) {
        const clean = await client.query('rollback').then(
          () => true,
          () => false,
        );
        client.release(!clean);
        throw error;
      }
    },
    close: () => pool.end(),
  };
}

/** What `run` and pg-boss's Kysely adapter ask of a database handle, and no more. */
function executorOf(client: PoolClient): Db {
  const executor = {
    async executeQuery({ sql, parameters }: { sql: string; parameters: readonly unknown[] }) {
      const { rows, rowCount } = await client.query(sql, [...parameters]);
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
