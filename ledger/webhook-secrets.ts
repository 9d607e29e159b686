import { randomKeyParts } from './api-key.ts';
import { run, type Db } from './database.ts';
import { SecretUnreadable, type SecretBox } from './secret-box.ts';

/** A replaced secret signs beside the current one for this long, ms (contract, section 6.1). */
export const PREVIOUS_SIGNS_MS = 24 * 3600 * 1000;

/**
 * After a replacement every worker signs with the new secret too within this time, ms: half a second for which it keeps
 * what it has read, and what attempts under way usually take.
 */
export const SIGNED_WITHIN_MS = 1_500;

/** The secrets of an endpoint in the clear: for signing only, never to be kept or worded. */
export interface EndpointSecrets {
  readonly current: string;
  /** Only within 24 hours after a replacement. */
  readonly previous: string | undefined;
}

/** Ties a sealed secret to its endpoint. */
const contextOf = (endpointId: bigint | string): string => `webhook_secret/${endpointId}`;

/** 256 random bits; the text itself, in UTF-8, is the key of the HMAC. */
const newSecret = (): string => `trk_whs_${randomKeyParts().secret}`;

const iso = (at: number): string => new Date(at).toISOString();

/** Makes the first secret of an endpoint; returns it for the one answer that shows it. */
export async function createSecret(
  db: Db,
  box: SecretBox,
  endpoint: { readonly siteId: bigint; readonly endpointId: bigint },
  now: number,
): Promise<string> {
  const secret = newSecret();
  const { keyId, sealed } = box.seal(secret, contextOf(endpoint.endpointId));
  await run(
    db,
    `insert into webhook_secret (site_id, endpoint_id, key_id, sealed, created_at)
     values ($1, $2, $3, $4, $5::timestamptz)`,
    [endpoint.siteId, endpoint.endpointId, keyId, sealed, iso(now)],
  );
  return secret;
}

/** What a replacement did, or why it did nothing. Times in ms since 1970 UTC. */
export type Rotation =
  | { readonly done: true; readonly secret: string; readonly previousSignsUntil: number }
  | { readonly done: false; readonly replacedAt: number; readonly previousSignsUntil: number };

/**
 * Replaces the secret of an endpoint, whose row the caller has locked. The present secret signs too for 24 hours; while
 * one before it still does, only `force` goes on, and that one stops signing at once.
 */
export async function rotateSecret(
  db: Db,
  box: SecretBox,
  endpoint: { readonly siteId: bigint; readonly endpointId: bigint },
  options: { readonly now: number; readonly force: boolean },
): Promise<Rotation> {
  const { now, force } = options;
  const { rows } = await run<{ signs_until: string }>(
    db,
    `select (extract(epoch from signs_until) * 1000)::bigint as signs_until from webhook_secret
     where endpoint_id = $1 and signs_until > $2::timestamptz`,
    [endpoint.endpointId, iso(now)],
  );
  const until = Number(rows[0]?.signs_until ?? 0);
  if (until > now && !force) {
    return { done: false, replacedAt: until - PREVIOUS_SIGNS_MS, previousSignsUntil: until };
  }
  await run(db, `delete from webhook_secret where endpoint_id = $1 and signs_until is not null`, [
    endpoint.endpointId,
  ]);
  const previousSignsUntil = now + PREVIOUS_SIGNS_MS;
  await run(
    db,
    `update webhook_secret set signs_until = $2::timestamptz where endpoint_id = $1 and signs_until is null`,
    [endpoint.endpointId, iso(previousSignsUntil)],
  );
  return { done: true, secret: await createSecret(db, box, endpoint, now), previousSignsUntil };
}

/**
 * Reads what endpoints sign with at `now` (ms), in one statement.
 *
 * @returns by endpoint id; an endpoint without a secret is absent
 * @throws SecretUnreadable
 */
export async function readSecrets(
  db: Db,
  box: SecretBox,
  endpointIds: readonly bigint[],
  now: number,
): Promise<Map<bigint, EndpointSecrets>> {
  const { rows } = await run<{
    endpoint_id: string;
    key_id: string;
    sealed: Buffer;
    current: boolean;
  }>(
    db,
    `select endpoint_id, key_id, sealed, signs_until is null as current from webhook_secret
     where endpoint_id = any ($1::bigint[]) and (signs_until is null or signs_until > $2::timestamptz)`,
    [endpointIds.map(String), iso(now)],
  );
  const open = (row: (typeof rows)[number]): string =>
    box.open({ keyId: row.key_id, sealed: row.sealed }, contextOf(row.endpoint_id));
  const previous = new Map(
    rows.filter(({ current }) => !current).map((row) => [row.endpoint_id, row]),
  );
  return new Map(
    rows
      .filter(({ current }) => current)
      .map((row) => {
        const before = previous.get(row.endpoint_id);
        const secrets = {
          current: open(row),
          previous: before === undefined ? undefined : open(before),
        };
        return [BigInt(row.endpoint_id), secrets];
      }),
  );
}

/** Removes replaced secrets that sign no longer; returns how many. */
export async function forgetExpiredSecrets(db: Db, now: number): Promise<number> {
  const { affected } = await run(
    db,
    'delete from webhook_secret where signs_until <= $1::timestamptz',
    [iso(now)],
  );
  return affected;
}

/**
 * Seals anew, with the first key, whatever another key sealed. Needs an open transaction. Returns how many were sealed
 * anew; afterwards the other keys open nothing and can be taken out of SECRETS_KEY.
 *
 * @throws SecretUnreadable
 */
export async function rewrapSecrets(db: Db, box: SecretBox): Promise<number> {
  const { rows } = await run<{
    id: string;
    endpoint_id: string;
    key_id: string;
    sealed: Buffer;
  }>(
    db,
    'select id, endpoint_id, key_id, sealed from webhook_secret where key_id <> $1 order by id for update',
    [box.currentKeyId],
  );
  if (rows.length === 0) return 0;
  const anew = rows.map((row) => {
    const context = contextOf(row.endpoint_id);
    const secret = box.open({ keyId: row.key_id, sealed: row.sealed }, context);
    return { id: row.id, ...box.seal(secret, context) };
  });
  await run(
    db,
    `update webhook_secret as secret set key_id = $1::text, sealed = anew.sealed
     from unnest($2::bigint[], $3::bytea[]) as anew (id, sealed) where secret.id = anew.id`,
    [box.currentKeyId, anew.map(({ id }) => id), anew.map(({ sealed }) => sealed)],
  );
  return rows.length;
}

/** How SECRETS_KEY and what is stored fit together. Key ids are names, no secrets. */
export interface SecretsFit {
  /** Ids of keys that stored secrets need and that are missing, or differ under the same id. */
  readonly unreadable: readonly string[];
  /** Ids of keys, besides the first, that nothing stored needs any more. */
  readonly idle: readonly string[];
}

/** Tries every key of the stored secrets on one of them. */
export async function checkSecrets(db: Db, box: SecretBox): Promise<SecretsFit> {
  const { rows } = await run<{ endpoint_id: string; key_id: string; sealed: Buffer }>(
    db,
    `select distinct on (key_id) endpoint_id, key_id, sealed from webhook_secret order by key_id, id desc`,
  );
  const unreadable = rows.flatMap((row) => {
    try {
      box.open({ keyId: row.key_id, sealed: row.sealed }, contextOf(row.endpoint_id));
      return [];
    } catch (error: unknown) {
      if (error instanceof SecretUnreadable) return [row.key_id];
      throw error;
    }
  });
  const used = new Set(rows.map(({ key_id }) => key_id));
  const idle = box.keyIds.filter((id) => id !== box.currentKeyId && !used.has(id));
  return { unreadable, idle };
}
