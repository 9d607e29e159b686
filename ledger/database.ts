import { CompiledQuery, type Kysely } from 'kysely';

/**
 * A handle to run SQL on: the ORM's pool or transaction (`em.getKysely()`), or a pipelined one (transactions.ts).
 * It is all that our statements and pg-boss's Kysely adapter use.
 */
// oxlint-disable-next-line typescript/no-explicit-any -- the ledger writes SQL itself; table types would be unused
export type Db = Pick<Kysely<any>, 'executeQuery'>;

/** Rows and the number of rows a statement touched. */
export interface SqlResult<Row> {
  readonly rows: Row[];
  readonly affected: number;
}

/**
 * Runs one statement with `$n` parameters. Arrays are sent as PostgreSQL arrays, Buffers as bytea.
 * Nothing is ever put into the text, so no value can reach a log with it.
 */
export async function run<Row = Record<string, unknown>>(
  db: Db,
  text: string,
  parameters: readonly unknown[] = [],
): Promise<SqlResult<Row>> {
  const result = await db.executeQuery(CompiledQuery.raw(text, [...parameters]));
  return { rows: result.rows as Row[], affected: Number(result.numAffectedRows ?? 0n) };
}
