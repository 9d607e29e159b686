import { randomUUID } from 'node:crypto';
import { UniqueConstraintViolationException } from '@mikro-orm/core';
import { TRPCError } from '@trpc/server';
import { z } from 'zod';
import { Site } from '../../entities/site.ts';
import type { Db } from '../../ledger/database.ts';
import type { OperatorEventKind } from '../../ledger/operator-event-kinds.ts';
import { raiseOperatorEvent } from '../../ledger/operator-events.ts';
import { listSites, readSite, siteState, type SiteView } from '../../ledger/sites.ts';
import { router } from '../procedure.ts';
import { Limit, SiteCode, UtcInstant, cursorOf, pageOf, statement } from './fields.ts';
import { DecimalId, toIso, toIsoOrNull, toPage } from './fields.ts';
import { lockSite, refuseMissing } from './find-site.ts';
import { mutate, type AdminContext } from './mutate.ts';
import { administratorProcedure, operatorProcedure, viewerProcedure } from './procedures.ts';

const GateResult = z.enum(['PASSED', 'FAILED']).nullable();

/** A Site as operators see it: without the opaque subject that stands for a single company's merchant. */
const SiteOut = z.strictObject({
  code: SiteCode,
  name: z.string(),
  customer_type: z.enum(['SINGLE_COMPANY', 'MULTI_MERCHANT']),
  state: z.enum(['CREATED', 'ACTIVE', 'APPROVED_WITHOUT_CONTRACT', 'GATE_FAILED', 'SUSPENDED']),
  gates: z.strictObject({ QUALITY: GateResult, SECURITY: GateResult }),
  contract: z
    .strictObject({
      contract_id: DecimalId,
      capacity_limit: z.int().min(0),
      starts_at: UtcInstant,
      ends_at: UtcInstant,
    })
    .nullable(),
  approved_at: UtcInstant.nullable(),
  suspended_at: UtcInstant.nullable(),
  suspended_reason: z.string().nullable(),
  created_at: UtcInstant,
  payload_retention_days: z
    .int()
    .nullable()
    .meta({ description: 'Of its own; null: as long as the service keeps payloads' }),
});

const toSite = (view: SiteView): z.infer<typeof SiteOut> => ({
  code: view.code,
  name: view.name,
  customer_type: view.customerType,
  state: siteState(view),
  gates: { ...view.gates },
  contract:
    view.contract === null
      ? null
      : {
          contract_id: String(view.contract.contractId),
          capacity_limit: view.contract.capacityLimit,
          starts_at: toIso(view.contract.startsAt),
          ends_at: toIso(view.contract.endsAt),
        },
  approved_at: toIsoOrNull(view.approvedAt),
  suspended_at: toIsoOrNull(view.suspendedAt),
  suspended_reason: view.suspendedReason,
  created_at: toIso(view.createdAt),
  payload_retention_days: view.payloadRetentionDays,
});

async function requireSite(db: Db, code: string, at: number): Promise<SiteView> {
  return (await readSite(db, code, at)) ?? refuseMissing(code);
}

const create = administratorProcedure
  .input(
    z
      .strictObject({
        code: SiteCode,
        name: statement(120).meta({ description: 'Name for people' }),
        customer_type: z
          .enum(['SINGLE_COMPANY', 'MULTI_MERCHANT'])
          .meta({ description: 'One merchant, or many under one Site' }),
      })
      .meta({ description: 'Creates a Site; it takes production traffic once it is active.' }),
  )
  .output(SiteOut)
  .mutation(async ({ ctx, input, path }) => {
    const taken = (): TRPCError =>
      new TRPCError({
        code: 'CONFLICT',
        message: `A Site ${input.code} exists already; choose another code.`,
      });
    return mutate(ctx, path, async (em, now) => {
      em.create(Site, {
        ...input,
        default_subject: `sub_${randomUUID().replaceAll('-', '')}`,
        approved_at: null,
        suspended_at: null,
        suspended_reason: null,
        created_at: new Date(now),
        payload_retention_days: null,
        payload_expired_to: null,
      });
      try {
        await em.flush();
      } catch (error: unknown) {
        throw error instanceof UniqueConstraintViolationException ? taken() : error;
      }
      const site = toSite(await requireSite(em.getKysely(), input.code, now));
      return { result: site, siteCode: input.code, after: { ...input } };
    });
  });

const get = viewerProcedure
  .input(z.strictObject({ site_code: SiteCode }).meta({ description: 'Shows one Site.' }))
  .output(SiteOut)
  .query(async ({ ctx: { services }, input }) => {
    const db = services.orm.em.fork().getKysely();
    return toSite(await requireSite(db, input.site_code, services.clock.now()));
  });

const list = viewerProcedure
  .input(
    z
      .strictObject({
        cursor: cursorOf(/^[a-z0-9-]{2,40}$/).optional(),
        limit: Limit,
      })
      .meta({ description: 'Lists Sites in the order of their codes.' }),
  )
  .output(pageOf(SiteOut))
  .query(async ({ ctx: { services }, input: { cursor, limit } }) => {
    const page = { after: cursor ?? '', limit: limit + 1, at: services.clock.now() };
    const sites = await listSites(services.orm.em.fork().getKysely(), page);
    return toPage(sites, limit, toSite, (site) => site.code);
  });

const approve = administratorProcedure
  .input(
    z.strictObject({ site_code: SiteCode }).meta({
      description:
        'Activates a Site for production: both gates PASSED and a contract in force are required.',
    }),
  )
  .output(SiteOut)
  .mutation(async ({ ctx, input, path }) =>
    mutate(ctx, path, async (em, now) => {
      const code = input.site_code;
      const site = await lockSite(em, code);
      const before = await requireSite(em.getKysely(), code, now);
      if (before.approvedAt !== null) {
        throw new TRPCError({
          code: 'CONFLICT',
          message: `Site ${code} was approved at ${toIso(before.approvedAt)} already; nothing is left to do.`,
        });
      }
      const missing = missingForApproval(before);
      if (missing.length > 0) {
        throw new TRPCError({
          code: 'PRECONDITION_FAILED',
          message: `Site ${code} cannot be approved: ${missing.join(', ')}.`,
        });
      }
      site.approved_at = new Date(now);
      await em.flush();
      const result = toSite(await requireSite(em.getKysely(), code, now));
      return {
        result,
        siteCode: code,
        before: { state: siteState(before), approved_at: null },
        after: { state: result.state, approved_at: result.approved_at },
      };
    }),
  );

function missingForApproval(site: SiteView): string[] {
  const missing = gatesMissing(site);
  if (site.contract === null) missing.push('no contract is in force (contracts.create)');
  return missing;
}

function gatesMissing(site: SiteView): string[] {
  const missing: string[] = [];
  for (const gate of ['QUALITY', 'SECURITY'] as const) {
    const result = site.gates[gate];
    if (result === null) missing.push(`the ${gate} gate has no PASSED record (gates.record)`);
    if (result === 'FAILED') {
      missing.push(`the newest record of the ${gate} gate is FAILED (gates.record)`);
    }
  }
  return missing;
}

const Reason = statement(500).meta({ description: 'Why; kept in the audit' });

const suspend = operatorProcedure
  .input(
    z.strictObject({ site_code: SiteCode, reason: Reason }).meta({
      description:
        'Ends the production traffic of an approved Site within a second; sandbox keys go on.',
    }),
  )
  .output(SiteOut)
  .mutation(async ({ ctx, input, path }) =>
    changeState(ctx, path, input, (site, before, now) => {
      if (before.approvedAt === null) {
        throw new TRPCError({
          code: 'PRECONDITION_FAILED',
          message: `Site ${before.code} is not approved yet, so none of its production keys work; there is nothing to suspend.`,
        });
      }
      if (before.suspendedAt !== null) {
        throw new TRPCError({
          code: 'CONFLICT',
          message: `Site ${before.code} is suspended since ${toIso(before.suspendedAt)} already; sites.resume ends it.`,
        });
      }
      site.suspended_at = new Date(now);
      site.suspended_reason = input.reason;
      return 'site_suspended';
    }),
  );

const resume = administratorProcedure
  .input(
    z.strictObject({ site_code: SiteCode, reason: Reason }).meta({
      description: 'Ends the suspension of a Site; its gates must stand.',
    }),
  )
  .output(SiteOut)
  .mutation(async ({ ctx, input, path }) =>
    changeState(ctx, path, input, (site, before) => {
      if (before.suspendedAt === null) {
        throw new TRPCError({
          code: 'CONFLICT',
          message: `Site ${before.code} is not suspended; sites.get shows where it stands.`,
        });
      }
      const missing = gatesMissing(before);
      if (missing.length > 0) {
        throw new TRPCError({
          code: 'PRECONDITION_FAILED',
          message: `Site ${before.code} cannot be resumed: ${missing.join(', ')}.`,
        });
      }
      site.suspended_at = null;
      site.suspended_reason = null;
      return 'site_resumed';
    }),
  );

/** Changes a locked Site, audits it and tells operators; `change` names the event or refuses. */
function changeState(
  ctx: AdminContext,
  path: string,
  input: { readonly site_code: string; readonly reason: string },
  change: (site: Site, before: SiteView, now: number) => OperatorEventKind,
): Promise<z.infer<typeof SiteOut>> {
  const code = input.site_code;
  return mutate(ctx, path, async (em, now) => {
    const site = await lockSite(em, code);
    const before = await requireSite(em.getKysely(), code, now);
    const kind = change(site, before, now);
    await em.flush();
    const result = toSite(await requireSite(em.getKysely(), code, now));
    await raiseOperatorEvent(em.getKysely(), {
      siteId: site.id,
      kind,
      subject: `site ${code}`,
      detail: { state: result.state, by: ctx.operator.name },
      at: now,
    });
    const { reason } = input;
    const former =
      before.suspendedReason === null ? {} : { suspended_reason: before.suspendedReason };
    return {
      result,
      siteCode: code,
      before: { state: siteState(before), ...former },
      after: { state: result.state, reason },
    };
  });
}

const setRetention = administratorProcedure
  .input(
    z
      .strictObject({
        site_code: SiteCode,
        payload_retention_days: z.int().min(30).max(3660).optional().meta({
          description:
            'Days that payloads and features are kept; left out: as long as the service keeps them',
        }),
      })
      .meta({
        description:
          'Sets how long payloads and features of a Site are kept; what is older is deleted for good.',
      }),
  )
  .output(SiteOut)
  .mutation(async ({ ctx, input, path }) =>
    mutate(ctx, path, async (em, now) => {
      const { payload_retention_days: days = null, site_code: code } = input;
      const { payloadRetentionDays: most } = ctx.services;
      if (days !== null && days > most) {
        throw new TRPCError({
          code: 'BAD_REQUEST',
          message: `The input is wrong: payload_retention_days: must be at most ${most}, as long as the service keeps payloads (PAYLOAD_RETENTION_DAYS).`,
        });
      }
      const site = await lockSite(em, code);
      const before = { payload_retention_days: site.payload_retention_days };
      site.payload_retention_days = days;
      await em.flush();
      const result = toSite(await requireSite(em.getKysely(), code, now));
      return { result, siteCode: code, before, after: { payload_retention_days: days } };
    }),
  );

/** Sites from their creation to production, and out of it. */
export const sites = router({
  create,
  get,
  list,
  approve,
  suspend,
  resume,
  set_retention: setRetention,
});
