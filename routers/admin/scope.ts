import type { EntityManager } from '@mikro-orm/postgresql';
import { TRPCError } from '@trpc/server';
import type { Db } from '../../ledger/database.ts';
import { ALL_SITES, lockReleases } from '../../ledger/rule-sets.ts';
import type { Operator } from '../procedure.ts';
import { SiteCode } from './fields.ts';
import { findSite, lockSite } from './find-site.ts';

/** The `site_code` of what may also be for all Sites. */
export const ScopeIn = SiteCode.optional().meta({
  description: 'Code of the Site; left out: what holds for all Sites',
});

/** A scope that was found: the id of a Site or {@link ALL_SITES}. */
export interface Scope {
  readonly siteId: bigint;
  readonly siteCode: string | null;
}

/** The scope of a code. @throws TRPCError NOT_FOUND */
export async function findScope(em: EntityManager, code: string | undefined): Promise<Scope> {
  if (code === undefined) return { siteId: ALL_SITES, siteCode: null };
  return { siteId: (await findSite(em, code)).id, siteCode: code };
}

/**
 * {@link findScope} for a change, locked until the transaction ends. What holds for all Sites is an administrator's.
 *
 * @throws TRPCError NOT_FOUND, FORBIDDEN
 */
export async function lockScope(
  em: EntityManager,
  code: string | undefined,
  operator: Operator,
): Promise<Scope & { readonly db: Db }> {
  const db = em.getKysely();
  if (code !== undefined) return { siteId: (await lockSite(em, code)).id, siteCode: code, db };
  if (operator.role !== 'administrator') {
    throw new TRPCError({
      code: 'FORBIDDEN',
      message: 'What holds for all Sites needs the role administrator; give a site_code.',
    });
  }
  await lockReleases(db);
  return { siteId: ALL_SITES, siteCode: null, db };
}
