import type { ListName, SingleKind } from '../risk/index.ts';
import { run, type Db } from './database.ts';
import { lockReleases } from './rule-sets.ts';

/** One entity of a list: its kind and its key (risk/entities.ts), never the text it was made of. */
export interface ListedEntity {
  readonly list: ListName;
  readonly kind: SingleKind;
  /** 32 lower-case hex digits. */
  readonly key: string;
}

/** What is put on a list. Times in ms since 1970 UTC. */
export interface NewListing {
  /** {@link ALL_SITES} of rule-sets.ts, or the Site's. */
  readonly siteId: bigint;
  readonly list: ListName;
  readonly kind: SingleKind;
  readonly keys: readonly string[];
  readonly reason: string;
  readonly expiresAt: number | null;
  readonly by: string;
  readonly at: number;
}

/** An entry as operators see it. */
export interface ListView extends ListedEntity {
  readonly version: bigint;
  readonly reason: string;
  readonly putBy: string;
  readonly putAt: number;
  readonly expiresAt: number | null;
}

/** A change that a worker follows. */
export interface ListChange extends ListedEntity {
  readonly version: bigint;
  /** Infinity: never; -Infinity: it was removed. ms since 1970 UTC. */
  readonly until: number;
}

/** Entries that count at a time, of one scope, at most: every worker keeps them in memory. */
export const LIST_LIMIT = 100_000;

const iso = (at: number): string => new Date(at).toISOString();

/** How many entries of a scope count at an instant. */
export async function countEntries(db: Db, siteId: bigint, now: number): Promise<number> {
  const { rows } = await run<{ count: number }>(
    db,
    `select count(*)::int as count from list_entry
     where site_id = $1 and removed_at is null and (expires_at is null or expires_at > $2::timestamptz)`,
    [siteId, iso(now)],
  );
  return rows[0]?.count ?? 0;
}

/** Puts entities on a list, or changes their reason and expiry there. Returns the version of the lists afterwards. */
export async function putEntries(db: Db, listing: NewListing): Promise<bigint> {
  await lockReleases(db);
  const { rows } = await run<{ version: string }>(
    db,
    `insert into list_entry (site_id, list, entity_kind, entity_key, version, reason, put_by, put_at, expires_at)
     select $1::bigint, $2::text, $3::text, key, nextval('list_version'), $5::text, $6::text, $7::timestamptz, $8::timestamptz
     from (select distinct key from unnest($4::uuid[]) as wanted (key) order by key) as given
     on conflict (site_id, list, entity_kind, entity_key) do update set version = excluded.version,
       reason = excluded.reason, put_by = excluded.put_by, put_at = excluded.put_at, expires_at = excluded.expires_at,
       removed_at = null
     returning version`,
    [
      listing.siteId,
      listing.list,
      listing.kind,
      listing.keys,
      listing.reason,
      listing.by,
      iso(listing.at),
      listing.expiresAt === null ? null : iso(listing.expiresAt),
    ],
  );
  return newest(rows);
}

/** Takes entities off a list. Returns how many were on it. */
export async function removeEntries(
  db: Db,
  entities: {
    readonly siteId: bigint;
    readonly list: ListName;
    readonly kind: SingleKind;
    readonly keys: readonly string[];
  },
  now: number,
): Promise<number> {
  await lockReleases(db);
  const { affected } = await run(
    db,
    `update list_entry set version = nextval('list_version'), removed_at = $5::timestamptz
     where site_id = $1 and list = $2 and entity_kind = $3 and entity_key = any ($4::uuid[]) and removed_at is null`,
    [entities.siteId, entities.list, entities.kind, entities.keys, iso(now)],
  );
  return affected;
}

/** Which entries are meant; what is undefined does not narrow. */
export interface ListFilter {
  readonly siteId: bigint;
  readonly list?: ListName | undefined;
  readonly kind?: SingleKind | undefined;
  /** Only this entity. */
  readonly key?: string | undefined;
}

/** A page of the entries that count at an instant, latest change first. */
export async function listEntries(
  db: Db,
  filter: ListFilter,
  now: number,
  page: { readonly before: bigint | undefined; readonly limit: number },
): Promise<ListView[]> {
  const { rows } = await run<{
    list: ListName;
    entity_kind: SingleKind;
    entity_key: string;
    version: string;
    reason: string;
    put_by: string;
    put_at: string;
    expires_at: string | null;
  }>(
    db,
    `select list, entity_kind, entity_key, version, reason, put_by, (extract(epoch from put_at) * 1000)::bigint as put_at,
       (extract(epoch from expires_at) * 1000)::bigint as expires_at
     from list_entry
     where site_id = $1 and version < $2 and ($3::text is null or list = $3::text)
       and ($4::text is null or entity_kind = $4::text) and ($5::uuid is null or entity_key = $5::uuid)
       and removed_at is null and (expires_at is null or expires_at > $6::timestamptz)
     order by version desc limit $7`,
    [
      filter.siteId,
      page.before ?? 9_223_372_036_854_775_807n,
      filter.list ?? null,
      filter.kind ?? null,
      filter.key ?? null,
      iso(now),
      page.limit,
    ],
  );
  return rows.map((row) => ({
    list: row.list,
    kind: row.entity_kind,
    key: row.entity_key.replaceAll('-', ''),
    version: BigInt(row.version),
    reason: row.reason,
    putBy: row.put_by,
    putAt: Number(row.put_at),
    expiresAt: row.expires_at === null ? null : Number(row.expires_at),
  }));
}

/** What changed in the lists of a scope after a version, in order. */
export async function readListChanges(
  db: Db,
  siteId: bigint,
  after: bigint,
): Promise<ListChange[]> {
  const { rows } = await run<{
    list: ListName;
    entity_kind: SingleKind;
    entity_key: string;
    version: string;
    until: string | null;
    removed: boolean;
  }>(
    db,
    `select list, entity_kind, entity_key, version, (extract(epoch from expires_at) * 1000)::bigint as until,
       removed_at is not null as removed
     from list_entry where site_id = $1 and version > $2 order by version`,
    [siteId, after],
  );
  return rows.map((row) => ({
    list: row.list,
    kind: row.entity_kind,
    key: row.entity_key.replaceAll('-', ''),
    version: BigInt(row.version),
    until: row.removed ? -Infinity : row.until === null ? Infinity : Number(row.until),
  }));
}

/** What was removed or has expired is kept this long, ms, so that every worker has followed it. */
const KEEP_GONE_MS = 7 * 86_400_000;

/** Forgets entries that have not counted for long. Returns how many. */
export async function forgetEntries(db: Db, now: number): Promise<number> {
  const { affected } = await run(
    db,
    'delete from list_entry where removed_at < $1::timestamptz or expires_at < $1::timestamptz',
    [iso(now - KEEP_GONE_MS)],
  );
  return affected;
}

function newest(rows: readonly { readonly version: string }[]): bigint {
  return rows.reduce((most, { version }) => {
    const each = BigInt(version);
    return each > most ? each : most;
  }, 0n);
}
