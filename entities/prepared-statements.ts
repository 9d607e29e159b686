import { hash } from 'node:crypto';
import type { Pool, PoolClient } from 'pg';

/** Statements prepared on one connection at most: ours are a few dozen; a text that varies must not fill the server. */
const PREPARED_AT_MOST = 200;

/**
 * Has every parametrised statement prepared under a name on first use, so that later runs on the same connection are
 * neither parsed nor planned again: a third of the database's time for a group commit (docs/decisions/0002).
 *
 * Texts without parameters pass unchanged, among them everything that MikroORM writes itself. A connection pooler in
 * transaction mode must support prepared statements (PgBouncer 1.21 or later does).
 */
export function prepareStatements(pool: Pool): void {
  const names = new Map<string, string>();
  pool.on('connect', (client: PoolClient) => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown;
    const named = (text: unknown, values: unknown, ...rest: unknown[]): unknown => {
      const name =
        typeof text === 'string' && Array.isArray(values) && values.length > 0
          ? nameOf(names, text)
          : undefined;
      if (name === undefined) return query(text, values, ...rest);
      return query({ name, text, values }, ...rest);
    };
    client.query = named as typeof client.query;
  });
}

function nameOf(names: Map<string, string>, text: string): string | undefined {
  const known = names.get(text);
  if (known !== undefined || names.size >= PREPARED_AT_MOST) return known;
  // The text decides the name: two processes behind one pooler must not mean different things by it.
  const name = `trk_${hash('sha256', text, 'hex').slice(0, 24)}`;
  names.set(text, name);
  return name;
}
