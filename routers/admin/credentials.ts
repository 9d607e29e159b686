import { LockMode, type EntityManager } from '@mikro-orm/postgresql';
import { TRPCError } from '@trpc/server';
import { z } from 'zod';
import { CredentialKey } from '../../entities/credential-key.ts';
import { Credential } from '../../entities/credential.ts';
import { Site } from '../../entities/site.ts';
import { generateApiKey, maskedKey } from '../../ledger/api-key.ts';
import { readKeyUse } from '../../ledger/key-use.ts';
import { router } from '../procedure.ts';
import { DecimalId, IdCursor, Limit, SiteCode, UtcInstant, instantField } from './fields.ts';
import { instantMs, pageOf, statement, toIso, toIsoOrNull, toPage } from './fields.ts';
import { findSite } from './find-site.ts';
import { mutate, type AuditFacts } from './mutate.ts';
import { administratorProcedure, viewerProcedure } from './procedures.ts';

const Environment = z.enum(['production', 'sandbox']);
const PermissionName = z.enum(['ingest', 'read', 'label']);

const KeyOut = z.strictObject({
  masked_key: z.string(),
  created_at: UtcInstant,
  expires_at: UtcInstant.nullable(),
  /** When it was last accepted, to the minute; null: not yet. Tells whether a key that was replaced is still in use. */
  last_used_at: UtcInstant.nullable(),
});

const CredentialOut = z.strictObject({
  credential_id: DecimalId,
  environment: Environment,
  label: z.string(),
  permissions: z.array(PermissionName),
  keys: z.array(KeyOut),
  expires_at: UtcInstant.nullable(),
  revoked_at: UtcInstant.nullable(),
  last_used_at: UtcInstant.nullable(),
  created_at: UtcInstant,
});

/** The only answer that ever holds a key; it cannot be read again. */
const IssuedKey = z.strictObject({ credential_id: DecimalId, api_key: z.string() });

const CredentialIdIn = DecimalId.meta({ description: 'Id from credentials.list' });

/** Adds a new key to a credential. Returns the key and what the audit may hold of it. */
function addKey(em: EntityManager, credential: Credential, now: number) {
  const { apiKey, keyId, hash } = generateApiKey(credential.environment);
  em.create(CredentialKey, {
    key_hash: hash,
    credential_id: credential.id,
    key_id: keyId,
    expires_at: null,
    created_at: new Date(now),
  });
  return { apiKey, masked: maskedKey(credential.environment, keyId) };
}

const issue = administratorProcedure
  .input(
    z
      .strictObject({
        site_code: SiteCode,
        environment: Environment.meta({
          description: 'A production key works only while the Site is active',
        }),
        label: statement(80).meta({ description: 'What it is for, for people' }),
        permissions: z
          .array(PermissionName)
          .min(1)
          .refine((names) => new Set(names).size === names.length, {
            error: 'must not name a permission twice',
          })
          .optional()
          .meta({ description: 'What it allows; all when left out' }),
        expires_at: instantField('When it ends; never when left out').optional(),
      })
      .meta({ description: 'Issues a credential and shows its API key, once.' }),
  )
  .output(IssuedKey)
  .mutation(async ({ ctx, input, path }) =>
    mutate(ctx, path, async (em, now) => {
      const expiresAt = input.expires_at === undefined ? null : instantMs(input.expires_at);
      if (expiresAt !== null && expiresAt <= now) {
        throw new TRPCError({
          code: 'BAD_REQUEST',
          message: 'expires_at must be in the future, or be left out.',
        });
      }
      const site = await findSite(em, input.site_code);
      const credential = em.create(Credential, {
        site_id: site.id,
        environment: input.environment,
        label: input.label,
        permissions: input.permissions ?? [...PermissionName.options],
        expires_at: expiresAt === null ? null : new Date(expiresAt),
        revoked_at: null,
        created_at: new Date(now),
      });
      await em.flush();
      const { apiKey, masked } = addKey(em, credential, now);
      return {
        result: { credential_id: String(credential.id), api_key: apiKey },
        siteCode: site.code,
        after: { ...factsOf(credential), masked_key: masked },
      };
    }),
  );

const rotate = administratorProcedure
  .input(
    z
      .strictObject({
        credential_id: CredentialIdIn,
        overlap_seconds: z
          .int()
          .min(0)
          .max(2_592_000)
          .meta({ description: 'How long the present keys go on working' }),
      })
      .meta({
        description: 'Gives a credential a new API key, shown once; its usage and quota go on.',
      }),
  )
  .output(IssuedKey)
  .mutation(async ({ ctx, input, path }) =>
    mutate(ctx, path, async (em, now) => {
      const { credential, site } = await lockCredential(em, input.credential_id);
      const id = String(credential.id);
      refuseRevoked(credential);
      const expiresAt = credential.expires_at ?? null;
      if (expiresAt !== null && expiresAt.getTime() <= now) {
        throw new TRPCError({
          code: 'PRECONDITION_FAILED',
          message: `Credential ${id} expired at ${toIso(expiresAt)}; issue a new one with credentials.issue.`,
        });
      }
      const end = new Date(now + input.overlap_seconds * 1000);
      const present = await em.find(CredentialKey, {
        credential_id: credential.id,
        $or: [{ expires_at: null }, { expires_at: { $gt: end } }],
      });
      for (const key of present) key.expires_at = end;
      const { apiKey, masked } = addKey(em, credential, now);
      return {
        result: { credential_id: id, api_key: apiKey },
        siteCode: site.code,
        before: {
          credential_id: id,
          masked_keys: present.map((key) => maskedKey(credential.environment, key.key_id)),
        },
        after: { credential_id: id, masked_key: masked, former_keys_expire_at: toIso(end) },
      };
    }),
  );

const revoke = administratorProcedure
  .input(
    z.strictObject({ credential_id: CredentialIdIn }).meta({
      description: 'Ends a credential and all its keys at once; it cannot be undone.',
    }),
  )
  .output(z.strictObject({ credential_id: DecimalId, revoked_at: UtcInstant }))
  .mutation(async ({ ctx, input, path }) =>
    mutate(ctx, path, async (em, now) => {
      const { credential, site } = await lockCredential(em, input.credential_id);
      refuseRevoked(credential);
      credential.revoked_at = new Date(now);
      const revoked = { credential_id: String(credential.id), revoked_at: toIso(now) };
      return {
        result: revoked,
        siteCode: site.code,
        before: factsOf(credential, null),
        after: revoked,
      };
    }),
  );

const list = viewerProcedure
  .input(
    z
      .strictObject({ site_code: SiteCode, cursor: IdCursor.optional(), limit: Limit })
      .meta({ description: 'Lists the credentials of a Site with masked keys, newest first.' }),
  )
  .output(pageOf(CredentialOut))
  .query(async ({ ctx, input: { site_code: siteCode, cursor, limit } }) => {
    const em = ctx.services.orm.em.fork();
    const site = await findSite(em, siteCode);
    const before = cursor === undefined ? {} : { id: { $lt: BigInt(cursor) } };
    const rows = await em.find(
      Credential,
      { site_id: site.id, ...before },
      { orderBy: { id: 'desc' }, limit: limit + 1 },
    );
    const keys = await em.find(
      CredentialKey,
      { credential_id: { $in: rows.map((row) => row.id) } },
      { orderBy: { created_at: 'desc', key_id: 'asc' } },
    );
    const keysOf = Map.groupBy(keys, (key) => key.credential_id);
    const uses = await readKeyUse(
      em.getKysely(),
      rows.map((row) => row.id),
    );
    return toPage(
      rows,
      limit,
      (row) => toCredential(row, keysOf.get(row.id) ?? [], uses),
      (row) => String(row.id),
    );
  });

function toCredential(
  row: Credential,
  keys: readonly CredentialKey[],
  uses: ReadonlyMap<string, number>,
): z.infer<typeof CredentialOut> {
  const usedAt = keys.map((key) => uses.get(key.key_hash.toString('hex')) ?? null);
  return {
    credential_id: String(row.id),
    environment: row.environment,
    label: row.label,
    permissions: row.permissions.map((name) => PermissionName.parse(name)),
    keys: keys.map((key, index) => ({
      masked_key: maskedKey(row.environment, key.key_id),
      created_at: toIso(key.created_at),
      expires_at: toIsoOrNull(key.expires_at),
      last_used_at: toIsoOrNull(usedAt[index]),
    })),
    expires_at: toIsoOrNull(row.expires_at),
    revoked_at: toIsoOrNull(row.revoked_at),
    last_used_at: toIsoOrNull(
      usedAt.reduce((last, at) => ((last ?? 0) > (at ?? 0) ? last : at), null),
    ),
    created_at: toIso(row.created_at),
  };
}

const factsOf = (row: Credential, revokedAt: Date | null = row.revoked_at ?? null): AuditFacts => ({
  credential_id: String(row.id),
  environment: row.environment,
  label: row.label,
  permissions: [...row.permissions],
  expires_at: toIsoOrNull(row.expires_at),
  revoked_at: toIsoOrNull(revokedAt),
});

/** Two rotations of one credential happen one after the other. @throws TRPCError NOT_FOUND */
async function lockCredential(
  em: EntityManager,
  id: string,
): Promise<{ credential: Credential; site: Site }> {
  const credential = await em.findOne(
    Credential,
    { id: BigInt(id) },
    { lockMode: LockMode.PESSIMISTIC_WRITE },
  );
  if (credential === null) {
    throw new TRPCError({
      code: 'NOT_FOUND',
      message: `There is no credential ${id}; credentials.list shows those of a Site.`,
    });
  }
  return { credential, site: await em.findOneOrFail(Site, { id: credential.site_id }) };
}

function refuseRevoked(credential: Credential): void {
  if (credential.revoked_at === null || credential.revoked_at === undefined) return;
  throw new TRPCError({
    code: 'CONFLICT',
    message: `Credential ${credential.id} was revoked at ${toIso(credential.revoked_at)}; issue a new one with credentials.issue.`,
  });
}

/** What Sites call with: issued, rotated and revoked; keys are shown once and stored as hashes. */
export const credentials = router({ issue, rotate, revoke, list });
