import type { EntityManager } from '@mikro-orm/postgresql';
import { AuditEntry } from '../../entities/audit-entry.ts';
import type { Operator } from '../procedure.ts';
import type { Services } from '../services.ts';

/** What an administrative procedure is called with once its role was checked. */
export interface AdminContext {
  readonly services: Services;
  readonly operator: Operator;
}

/** Facts for the audit: plain JSON, never a key, token or secret. */
export type AuditFacts = Record<string, unknown>;

/** What a mutation did: its answer, and what the audit keeps of it. */
export interface Mutation<Result> {
  readonly result: Result;
  /** The Site it was about; null for what belongs to none. */
  readonly siteCode: string | null;
  readonly before?: AuditFacts;
  readonly after?: AuditFacts;
}

/**
 * Runs a mutation and writes its one audit entry, in the same transaction: neither exists without the other. A
 * mutation that throws leaves nothing. Opened here and not around tRPC's `next()`, which returns failures instead of
 * throwing them, so that the transaction would commit.
 *
 * @param procedure its path, such as `sites.create`
 * @param work gets an entity manager bound to the transaction, and the moment the mutation happens (ms)
 */
export async function mutate<Result>(
  { services, operator }: AdminContext,
  procedure: string,
  work: (em: EntityManager, now: number) => Promise<Mutation<Result>>,
): Promise<Result> {
  const now = services.clock.now();
  return services.orm.em.fork().transactional(async (em) => {
    const { result, siteCode, before, after } = await work(em, now);
    em.create(AuditEntry, {
      at: new Date(now),
      actor: operator.name,
      actor_role: operator.role,
      address: operator.address,
      procedure,
      site_code: siteCode,
      before: before ?? null,
      after: after ?? null,
    });
    return result;
  });
}
