import type { EntityManager } from '@mikro-orm/postgresql';
import { TRPCError } from '@trpc/server';
import { z } from 'zod';
import { Contract } from '../../entities/contract.ts';
import { Site } from '../../entities/site.ts';
import { router } from '../procedure.ts';
import { DecimalId, IdCursor, Limit, SiteCode, UtcInstant, instantField } from './fields.ts';
import { instantMs, pageOf, statement, toIso, toPage } from './fields.ts';
import { findSite, lockSite } from './find-site.ts';
import { mutate } from './mutate.ts';
import { administratorProcedure, viewerProcedure } from './procedures.ts';

const Capacity = z.int().min(0);

const ContractOut = z.strictObject({
  contract_id: DecimalId,
  capacity_limit: Capacity,
  starts_at: UtcInstant,
  ends_at: UtcInstant,
  in_force: z.boolean(),
  created_at: UtcInstant,
});

const toContract = (row: Contract, now: number): z.infer<typeof ContractOut> => ({
  contract_id: String(row.id),
  capacity_limit: Number(row.capacity_limit),
  starts_at: toIso(row.starts_at),
  ends_at: toIso(row.ends_at),
  in_force: row.starts_at.getTime() <= now && now < row.ends_at.getTime(),
  created_at: toIso(row.created_at),
});

const create = administratorProcedure
  .input(
    z
      .strictObject({
        site_code: SiteCode,
        capacity_limit: Capacity.meta({
          description: 'New events each credential may send in a UTC month; 0 winds a Site down',
        }),
        starts_at: instantField('First instant in force'),
        ends_at: instantField('First instant no longer in force'),
      })
      .meta({ description: 'Creates a contract of a Site; contracts of a Site never overlap.' }),
  )
  .output(ContractOut)
  .mutation(async ({ ctx, input, path }) =>
    mutate(ctx, path, async (em, now) => {
      const startsAt = new Date(instantMs(input.starts_at));
      const endsAt = new Date(instantMs(input.ends_at));
      if (startsAt >= endsAt) {
        throw new TRPCError({
          code: 'BAD_REQUEST',
          message: 'starts_at must be before ends_at; correct one of them.',
        });
      }
      const site = await lockSite(em, input.site_code);
      await refuseOverlap(em, site, { startsAt, endsAt });
      const row = em.create(Contract, {
        site_id: site.id,
        capacity_limit: BigInt(input.capacity_limit),
        starts_at: startsAt,
        ends_at: endsAt,
        created_at: new Date(now),
      });
      await em.flush();
      const result = toContract(row, now);
      return { result, siteCode: site.code, after: termsOf(row) };
    }),
  );

const list = viewerProcedure
  .input(
    z
      .strictObject({ site_code: SiteCode, cursor: IdCursor.optional(), limit: Limit })
      .meta({ description: 'Lists the contracts of a Site, the one made last first.' }),
  )
  .output(pageOf(ContractOut))
  .query(async ({ ctx: { services }, input: { site_code: siteCode, cursor, limit } }) => {
    const em = services.orm.em.fork();
    const site = await findSite(em, siteCode);
    const before = cursor === undefined ? {} : { id: { $lt: BigInt(cursor) } };
    const rows = await em.find(
      Contract,
      { site_id: site.id, ...before },
      { orderBy: { id: 'desc' }, limit: limit + 1 },
    );
    const now = services.clock.now();
    return toPage(
      rows,
      limit,
      (row) => toContract(row, now),
      (row) => String(row.id),
    );
  });

const end = administratorProcedure
  .input(
    z
      .strictObject({
        contract_id: DecimalId.meta({ description: 'Id from contracts.list' }),
        ends_at: instantField('First instant no longer in force; may shorten or extend'),
      })
      .meta({ description: 'Moves the end of a contract.' }),
  )
  .output(ContractOut)
  .mutation(async ({ ctx, input, path }) =>
    mutate(ctx, path, async (em, now) => {
      const endsAt = new Date(instantMs(input.ends_at));
      const { site, contract } = await lockContract(em, BigInt(input.contract_id));
      if (endsAt < contract.starts_at) {
        throw new TRPCError({
          code: 'BAD_REQUEST',
          message: `ends_at must not be before the contract's start, ${toIso(contract.starts_at)}; that instant itself cancels it.`,
        });
      }
      const before = termsOf(contract);
      await refuseOverlap(em, site, { startsAt: contract.starts_at, endsAt }, contract.id);
      contract.ends_at = endsAt;
      return {
        result: toContract(contract, now),
        siteCode: site.code,
        before,
        after: termsOf(contract),
      };
    }),
  );

const changeCapacity = administratorProcedure
  .input(
    z
      .strictObject({
        contract_id: DecimalId.meta({ description: 'Id from contracts.list' }),
        capacity_limit: Capacity.meta({
          description:
            'What each credential may send in a UTC month from now on, this month included',
        }),
        reason: statement(500).meta({ description: 'Why; kept in the audit' }),
      })
      .meta({
        description:
          'Changes the capacity of a contract at once; what was accepted this month goes on counting.',
      }),
  )
  .output(ContractOut)
  .mutation(async ({ ctx, input, path }) =>
    mutate(ctx, path, async (em, now) => {
      const { site, contract } = await lockContract(em, BigInt(input.contract_id));
      if (contract.ends_at.getTime() <= now) {
        throw new TRPCError({
          code: 'PRECONDITION_FAILED',
          message: `Contract ${contract.id} ended at ${toIso(contract.ends_at)}; create a new one with contracts.create.`,
        });
      }
      const before = termsOf(contract);
      contract.capacity_limit = BigInt(input.capacity_limit);
      return {
        result: toContract(contract, now),
        siteCode: site.code,
        before,
        after: { ...termsOf(contract), reason: input.reason },
      };
    }),
  );

/** The contract as it is once its Site is locked. @throws TRPCError NOT_FOUND */
async function lockContract(
  em: EntityManager,
  id: bigint,
): Promise<{ site: Site; contract: Contract }> {
  const found = await em.findOne(Contract, { id });
  if (found === null) {
    throw new TRPCError({
      code: 'NOT_FOUND',
      message: `There is no contract ${id}; contracts.list shows those of a Site.`,
    });
  }
  const { code } = await em.findOneOrFail(Site, { id: found.site_id });
  const site = await lockSite(em, code);
  // Read again: it may have been changed while the lock was waited for.
  const contract = await em.refresh(found);
  return { site, contract: contract ?? found };
}

/** A period of no length is never in force, so it overlaps nothing. @throws TRPCError CONFLICT */
async function refuseOverlap(
  em: EntityManager,
  site: Site,
  period: { readonly startsAt: Date; readonly endsAt: Date },
  except?: bigint,
): Promise<void> {
  if (period.startsAt >= period.endsAt) return;
  const near = await em.find(Contract, {
    site_id: site.id,
    starts_at: { $lt: period.endsAt },
    ends_at: { $gt: period.startsAt },
  });
  const other = near.find((row) => row.id !== except && row.starts_at < row.ends_at);
  if (other === undefined) return;
  throw new TRPCError({
    code: 'CONFLICT',
    message: `It would overlap contract ${other.id} of Site ${site.code} (${toIso(other.starts_at)} to ${toIso(other.ends_at)}); choose another period, or move that one's end with contracts.end.`,
  });
}

const termsOf = (row: Contract): Record<string, unknown> => ({
  contract_id: String(row.id),
  capacity_limit: Number(row.capacity_limit),
  starts_at: toIso(row.starts_at),
  ends_at: toIso(row.ends_at),
});

/** The periods in which a Site may send events, and how many. */
export const contracts = router({
  create,
  list,
  end,
  change_capacity: changeCapacity,
});
