import { run, type Db } from './database.ts';

/** The scope of what holds for all Sites: no Site has this id. */
export const ALL_SITES = 0n;

/** The scope under which the rules that came with the service are kept, so that what they judged can be judged again. */
export const SHIPPED = -1n;

/** Which part a rule set plays. */
export type RuleRole = 'LIVE' | 'SHADOW';

/** A version of a rule set on its way into the ledger. */
export interface NewRuleSet {
  /** {@link ALL_SITES}, or the Site's. */
  readonly siteId: bigint;
  readonly version: number;
  /** JSON text. */
  readonly content: string;
  readonly contentHash: string;
  readonly comment: string;
  readonly by: string;
  /** ms since 1970 UTC. */
  readonly at: number;
}

/** A stored version. */
export interface StoredRuleSet {
  readonly siteId: bigint;
  readonly version: number;
  readonly content: string;
  readonly contentHash: string;
  readonly comment: string;
  readonly createdBy: string;
  readonly createdAt: number;
}

/** A change of which version plays a part; version 0 is what came with the service. */
export interface NewRuleRelease {
  readonly siteId: bigint;
  readonly role: RuleRole;
  readonly version: number;
  readonly kind: 'PUBLISH' | 'ROLLBACK' | 'SHADOW' | 'STOP_SHADOW';
  /** Why an order of steps was left out; null where it was kept. */
  readonly reason: string | null;
  readonly by: string;
  readonly at: number;
}

/** A release as it is stored. */
export interface RuleRelease extends NewRuleRelease {
  readonly id: bigint;
}

/** A version in force. */
export interface RuleInForce {
  readonly siteId: bigint;
  readonly role: RuleRole;
  readonly version: number;
  /** The release that put it in force: a worker that has followed it judges by it. */
  readonly releaseId: bigint;
}

const iso = (at: number): string => new Date(at).toISOString();
const ms = (column: string): string =>
  `(extract(epoch from ${column}) * 1000)::bigint as ${column}`;

/**
 * Makes the changes that workers follow by number come one after the other until the transaction ends: a lower number
 * must not be committed after a higher one was seen.
 */
export async function lockReleases(db: Db): Promise<void> {
  await run(db, `select pg_advisory_xact_lock(hashtextextended('rule releases', 0))`);
}

/** The number of a scope's next version. The scope must be locked. */
export async function nextVersion(db: Db, siteId: bigint): Promise<number> {
  const { rows } = await run<{ version: number }>(
    db,
    'select coalesce(max(version), 0) + 1 as version from rule_set where site_id = $1',
    [siteId],
  );
  return rows[0]?.version ?? 1;
}

/** Adds a version, unless its number is taken; it judges nothing until it is released. Returns whether it was added. */
export async function insertRuleSet(db: Db, set: NewRuleSet): Promise<boolean> {
  const { affected } = await run(
    db,
    `insert into rule_set (site_id, version, content, content_hash, comment, created_by, created_at)
     select $1::bigint, $2::integer, $3::text, $4::text, $5::text, $6::text, $7::timestamptz
     on conflict (site_id, version) do nothing`,
    [set.siteId, set.version, set.content, set.contentHash, set.comment, set.by, iso(set.at)],
  );
  return affected === 1;
}

/** A scope's versions, newest first, from before `before`. */
export async function listRuleSets(
  db: Db,
  siteId: bigint,
  page: { readonly before: number | undefined; readonly limit: number },
): Promise<StoredRuleSet[]> {
  const { rows } = await run<{
    version: number;
    content: string;
    content_hash: string;
    comment: string;
    created_by: string;
    created_at: string;
  }>(
    db,
    `select version, content, content_hash, comment, created_by, ${ms('created_at')}
     from rule_set where site_id = $1 and version < $2 order by version desc limit $3`,
    [siteId, page.before ?? 2_147_483_647, page.limit],
  );
  return rows.map((row) => ({
    siteId,
    version: row.version,
    content: row.content,
    contentHash: row.content_hash,
    comment: row.comment,
    createdBy: row.created_by,
    createdAt: Number(row.created_at),
  }));
}

/** One version; undefined where the scope has none of that number. */
export async function findRuleSet(
  db: Db,
  siteId: bigint,
  version: number,
): Promise<StoredRuleSet | undefined> {
  const [set] = await listRuleSets(db, siteId, { before: version + 1, limit: 1 });
  return set?.version === version ? set : undefined;
}

/** Records a release; every worker follows it within about a second. Takes {@link lockReleases} until the commit. */
export async function releaseRules(db: Db, release: NewRuleRelease): Promise<void> {
  await lockReleases(db);
  await run(
    db,
    `insert into rule_release (site_id, role, version, kind, reason, released_by, released_at)
     select $1::bigint, $2::text, $3::integer, $4::text, $5::text, $6::text, $7::timestamptz`,
    [
      release.siteId,
      release.role,
      release.version,
      release.kind,
      release.reason,
      release.by,
      iso(release.at),
    ],
  );
}

/** What is in force: everywhere, or in one scope. Version 0 is left out. */
export async function rulesInForce(db: Db, siteId?: bigint): Promise<RuleInForce[]> {
  const { rows } = await run<{ site_id: string; role: RuleRole; version: number; id: string }>(
    db,
    `select * from (
       select distinct on (site_id, role) site_id, role, version, id from rule_release
       where $1::bigint is null or site_id = $1::bigint
       order by site_id, role, id desc
     ) as latest where version <> 0`,
    [siteId ?? null],
  );
  return rows.map((row) => ({
    siteId: BigInt(row.site_id),
    role: row.role,
    version: row.version,
    releaseId: BigInt(row.id),
  }));
}

/** The releases of a scope, newest first, at most a hundred. */
export async function listReleases(db: Db, siteId: bigint): Promise<RuleRelease[]> {
  const { rows } = await run<{
    id: string;
    role: RuleRole;
    version: number;
    kind: RuleRelease['kind'];
    reason: string | null;
    released_by: string;
    released_at: string;
  }>(
    db,
    `select id, role, version, kind, reason, released_by, ${ms('released_at')}
     from rule_release where site_id = $1 order by id desc limit 100`,
    [siteId],
  );
  return rows.map((row) => ({
    siteId,
    id: BigInt(row.id),
    role: row.role,
    version: row.version,
    kind: row.kind,
    reason: row.reason,
    by: row.released_by,
    at: Number(row.released_at),
  }));
}

/** Versions of a scope that were released in a role at any time. */
export async function everReleased(db: Db, siteId: bigint, role: RuleRole): Promise<Set<number>> {
  const { rows } = await run<{ version: number }>(
    db,
    'select distinct version from rule_release where site_id = $1 and role = $2',
    [siteId, role],
  );
  return new Set(rows.map(({ version }) => version));
}

/**
 * The version that was live before the one that is; 0 where that was none, undefined where nothing was ever published.
 * After a rollback it is the one before that again, so that rolling back twice goes two releases back.
 */
export async function versionBeforeLive(db: Db, siteId: bigint): Promise<number | undefined> {
  const { rows } = await run<{ version: number; kind: string }>(
    db,
    `select version, kind from rule_release where site_id = $1 and role = 'LIVE' order by id`,
    [siteId],
  );
  const published: number[] = [];
  for (const row of rows) {
    if (row.kind === 'ROLLBACK') published.pop();
    else published.push(row.version);
  }
  return published.length === 0 ? undefined : (published.at(-2) ?? 0);
}

/** Numbers that grow with every release and with every change of a list, of any Site. */
export interface RuleMarks {
  readonly releaseId: bigint;
  readonly listVersion: bigint;
}

/** How far releases and lists have come. */
export async function readMarks(db: Db): Promise<RuleMarks> {
  const { rows } = await run<{ release_id: string | null; list_version: string | null }>(
    db,
    `select (select max(id) from rule_release) as release_id, (select max(version) from list_entry) as list_version`,
  );
  return {
    releaseId: BigInt(rows[0]?.release_id ?? 0),
    listVersion: BigInt(rows[0]?.list_version ?? 0),
  };
}
