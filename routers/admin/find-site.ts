import { LockMode, type EntityManager } from '@mikro-orm/postgresql';
import { TRPCError } from '@trpc/server';
import { Site } from '../../entities/site.ts';

/** The Site of a code. @throws TRPCError NOT_FOUND */
export async function findSite(em: EntityManager, code: string): Promise<Site> {
  return (await em.findOne(Site, { code })) ?? refuseMissing(code);
}

/**
 * The Site of a code, locked until the transaction ends: whatever depends on several rows of a Site (no overlapping
 * contracts, gates before approval) holds under concurrency because every such change takes this lock first.
 *
 * @throws TRPCError NOT_FOUND
 */
export async function lockSite(em: EntityManager, code: string): Promise<Site> {
  const site = await em.findOne(
    Site,
    { code },
    { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true },
  );
  return site ?? refuseMissing(code);
}

/** Answers that there is no such Site. @throws TRPCError NOT_FOUND, always */
export function refuseMissing(code: string): never {
  throw new TRPCError({
    code: 'NOT_FOUND',
    message: `There is no Site ${code}; sites.list shows all, sites.create makes one.`,
  });
}
