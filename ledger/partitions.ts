import { APPEND_ONLY_TABLES, PARTITIONED_TABLES, UNSAMPLED_COLUMNS } from '../entities/tables.ts';
import { run, type Db } from './database.ts';

const DAY_MS = 86_400_000;

const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10);

/**
 * Creates the daily partitions of the bulk tables for `at` and the days after it. Needs the owning role; safe to
 * repeat and to run from several processes under the migration lock. A day whose rows already went to the default
 * partition stays there. Returns how many were created.
 *
 * @param tables  those of an older schema, which may lack some
 */
export async function createPartitions(
  db: Db,
  at: number,
  days: number,
  tables: readonly { readonly table: string }[] = PARTITIONED_TABLES,
): Promise<number> {
  let created = 0;
  for (const { table } of tables) {
    for (let offset = 0; offset < days; offset += 1) {
      const from = dayOf(at + offset * DAY_MS);
      const until = dayOf(at + (offset + 1) * DAY_MS);
      const name = `${table}_${from.replaceAll('-', '')}`;
      if (await exists(db, name)) continue;
      const { rows } = await run(
        db,
        `select 1 from ${table}_default where ${columnOf(table)} >= $1::timestamptz
           and ${columnOf(table)} < $2::timestamptz limit 1`,
        [`${from}T00:00:00Z`, `${until}T00:00:00Z`],
      );
      if (rows.length > 0) continue;
      await run(
        db,
        `create table ${name} partition of ${table} for values from ('${from}T00:00:00Z') to ('${until}T00:00:00Z')`,
      );
      // A partition does not inherit what is sampled of its table.
      for (const { column } of UNSAMPLED_COLUMNS.filter((unsampled) => unsampled.table === table)) {
        await run(db, `alter table ${name} alter column ${column} set statistics 0`);
      }
      if (isAppendOnly(table)) {
        // The TRUNCATE guard is a statement trigger, which partitions do not inherit.
        await run(
          db,
          `create trigger ${name}_no_truncate before truncate on ${name}
             for each statement execute function refuse_change()`,
        );
      }
      created += 1;
    }
  }
  return created;
}

/** Days for which the partitions of each kind of table are kept. */
export interface RetentionDays {
  readonly payloads: number;
  readonly webhooks: number;
}

/** Drops the daily partitions whose days are over at `now` (ms): the only way out of an append-only table. Returns how many. */
export async function dropExpiredPartitions(
  db: Db,
  now: number,
  days: RetentionDays,
): Promise<number> {
  let dropped = 0;
  for (const { table, keptFor } of PARTITIONED_TABLES) {
    const limit = dayOf(now - days[keptFor] * DAY_MS).replaceAll('-', '');
    const { rows } = await run<{ name: string }>(
      db,
      `select child.relname as name from pg_inherits
       join pg_class child on child.oid = pg_inherits.inhrelid
       where pg_inherits.inhparent = $1::regclass and child.relname ~ '_[0-9]{8}$'`,
      [table],
    );
    for (const { name } of rows) {
      if (name.slice(-8) >= limit) continue;
      await run(db, `drop table ${name}`);
      dropped += 1;
    }
  }
  return dropped;
}

async function exists(db: Db, table: string): Promise<boolean> {
  const { rows } = await run<{ found: boolean }>(
    db,
    'select to_regclass($1) is not null as found',
    [table],
  );
  return rows[0]?.found === true;
}

function columnOf(table: string): string {
  const entry = PARTITIONED_TABLES.find((candidate) => candidate.table === table);
  if (entry === undefined) throw new RangeError('not a partitioned table');
  return entry.column;
}

function isAppendOnly(table: string): boolean {
  return APPEND_ONLY_TABLES.some((name) => name === table);
}

/**
 * Makes the partition of payloads for a day, so that retention can drop it. A day that has one, or whose rows lie in the
 * default partition already, is left alone.
 *
 * @param patienceMs  how long inserts may have to wait behind it
 */
export async function createPayloadPartition(
  db: Db,
  day: string,
  patienceMs: number,
): Promise<void> {
  await run(db, `select set_config('lock_timeout', $1, true)`, [`${patienceMs}ms`]);
  await run(db, 'select create_payload_partition($1::date)', [day]);
}
