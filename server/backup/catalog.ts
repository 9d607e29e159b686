import type { Client } from 'pg';
import type { Manifest } from './manifest.ts';

/** A table as it is found in the database. */
export interface FoundTable {
  readonly schema: 'public' | 'pgboss';
  readonly name: string;
  readonly columns: readonly string[];
}

/** Kept by the program itself: migrations say what was migrated; counts over time of the queue say nothing about it. */
const LEFT_OUT = ['public.schema_migration', 'pgboss.queue_stats'];

/**
 * Every table of the service and of its queue, partitioned ones as one, in an order in which each can be filled: what is
 * referred to comes first. Unlogged tables are left out: they hold a minute of rate limiting.
 */
export async function findTables(client: Client): Promise<FoundTable[]> {
  const { rows } = await client.query<{
    id: string;
    schema: 'public' | 'pgboss';
    name: string;
    columns: string[];
    refers_to: string[];
  }>(
    `select pg_class.oid::text as id, nspname as schema, relname as name,
       array(select attname::text from pg_attribute where attrelid = pg_class.oid and attnum > 0
         and not attisdropped and attgenerated = '' order by attnum) as columns,
       array(select distinct coalesce(pg_partition_root(confrelid), confrelid::regclass)::oid::text from pg_constraint
         where contype = 'f' and coalesce(pg_partition_root(conrelid), conrelid::regclass)::oid = pg_class.oid
           and confrelid <> conrelid) as refers_to
     from pg_class join pg_namespace on pg_namespace.oid = relnamespace
     where nspname in ('public', 'pgboss') and relkind in ('r', 'p') and not relispartition and relpersistence = 'p'
     order by nspname desc, relname`,
  );
  const wanted = rows.filter(({ schema, name }) => !LEFT_OUT.includes(`${schema}.${name}`));
  const ordered: typeof wanted = [];
  const done = new Set<string>();
  const place = (row: (typeof wanted)[number]): void => {
    if (done.has(row.id)) return;
    done.add(row.id);
    for (const other of wanted) if (row.refers_to.includes(other.id)) place(other);
    ordered.push(row);
  };
  for (const row of wanted) place(row);
  return ordered.map(({ schema, name, columns }) => ({ schema, name, columns }));
}

/** Estimated rows of a table, from the server's statistics: for showing progress. */
export async function estimateRows(client: Client, table: FoundTable): Promise<number> {
  const { rows } = await client.query<{ rows: string }>(
    `select coalesce(sum(greatest(reltuples, 0)), 0)::bigint as rows from pg_partition_tree($1::regclass)
     join pg_class on pg_class.oid = relid where isleaf`,
    [nameOf(table)],
  );
  return Number(rows[0]?.rows ?? 0);
}

/** The quoted, qualified name of a table. */
export const nameOf = ({ schema, name }: Pick<FoundTable, 'schema' | 'name'>): string =>
  `"${schema}"."${name}"`;

/** Where every sequence stands. Read after the rows: what was handed out since then is only skipped. */
export async function readSequences(client: Client): Promise<Manifest['sequences']> {
  const { rows } = await client.query<{ schema: 'public' | 'pgboss'; name: string }>(
    `select nspname as schema, relname as name from pg_class join pg_namespace on pg_namespace.oid = relnamespace
     where relkind = 'S' and nspname in ('public', 'pgboss') order by 1, 2`,
  );
  const sequences: Manifest['sequences'] = [];
  for (const row of rows) {
    const { rows: values } = await client.query<{ last_value: string; is_called: boolean }>(
      `select last_value::text as last_value, is_called from ${nameOf(row)}`,
    );
    const value = values[0];
    if (value !== undefined) sequences.push({ ...row, ...value });
  }
  return sequences;
}

/** The days for which any table has a partition of its own. */
export async function readDays(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ day: string }>(
    `select distinct right(relname, 8) as day from pg_class
     where relispartition and relnamespace = 'public'::regnamespace and relname ~ '_[0-9]{8}$' and relkind = 'r'
     order by 1`,
  );
  return rows.map(({ day }) => day);
}

/** What the schema and the queue are, by their own word. */
export async function readVersions(
  client: Client,
): Promise<
  Pick<Manifest, 'migrations' | 'queue_version' | 'queues'> & { readonly postgres_version: string }
> {
  const { rows: migrations } = await client.query<{ name: string }>(
    'select name from schema_migration order by name',
  );
  const { rows: version } = await client.query<{ version: number; server: string }>(
    `select version, current_setting('server_version') as server from pgboss.version`,
  );
  const { rows: queues } = await client.query<Manifest['queues'][number]>(
    'select name, policy, partition from pgboss.queue order by dead_letter nulls first, name',
  );
  return {
    migrations: migrations.map(({ name }) => name),
    queue_version: version[0]?.version ?? 0,
    postgres_version: version[0]?.server ?? '',
    queues,
  };
}
