import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { CredentialKey } from '../../entities/credential-key.ts';
import { Credential } from '../../entities/credential.ts';
import { GateRecord } from '../../entities/gate-record.ts';
import { raiseOperatorEvent } from '../../ledger/operator-events.ts';
import { router } from '../procedure.ts';
import { ContractCheckReport, judgeReport, refusal } from './contract-check-report.ts';
import { DecimalId, IdCursor, Limit, SiteCode, UtcInstant, pageOf, statement } from './fields.ts';
import { toIso, toPage } from './fields.ts';
import { findSite, lockSite } from './find-site.ts';
import { mutate } from './mutate.ts';
import {
  administratorProcedure,
  administratorProcedureTaking,
  viewerProcedure,
} from './procedures.ts';

const Gate = z.enum(['QUALITY', 'SECURITY']);
const Result = z.enum(['PASSED', 'FAILED']);

const GateRecordOut = z.strictObject({
  gate_record_id: DecimalId,
  gate: Gate,
  result: Result,
  evidence: z.string(),
  recorded_by: z.string(),
  recorded_at: UtcInstant,
});

const toRecord = (row: GateRecord): z.infer<typeof GateRecordOut> => ({
  gate_record_id: String(row.id),
  gate: row.gate,
  result: row.result,
  evidence: row.evidence,
  recorded_by: row.recorded_by,
  recorded_at: toIso(row.recorded_at),
});

const record = administratorProcedure
  .input(
    z
      .strictObject({
        site_code: SiteCode,
        gate: Gate.meta({ description: 'Which gate' }),
        result: Result.meta({
          description:
            'How it ended; the newest record of a gate counts, also after approval: FAILED ends production traffic until PASSED again',
        }),
        evidence: statement(2000).meta({
          description: 'What shows it: a report, a ticket, a link',
        }),
      })
      .meta({ description: 'Records the result of a gate of a Site.' }),
  )
  .output(GateRecordOut)
  .mutation(async ({ ctx, input, path }) =>
    mutate(ctx, path, async (em, now) => {
      const { site_code: siteCode, ...result } = input;
      const row = await recordGate(em, siteCode, result, { by: ctx.operator.name, now });
      return { result: toRecord(row), siteCode, after: { ...result } };
    }),
  );

const recordContractCheck = administratorProcedureTaking('report')
  .input(
    z
      .strictObject({
        site_code: SiteCode,
        report: ContractCheckReport.meta({
          description: 'What npm run contract-check -- <base-url> --json printed; - reads it',
          document: true,
        }),
      })
      .meta({
        description:
          'Records the QUALITY gate from a contract-check report made with a sandbox key of the Site.',
      }),
  )
  .output(GateRecordOut)
  .mutation(async ({ ctx, input, path }) =>
    mutate(ctx, path, async (em, now) => {
      const { site_code: siteCode, report } = input;
      const site = await findSite(em, siteCode);
      await refuseForeignKey(em, site.id, report.sandboxKeyId);
      const result = { gate: 'QUALITY', ...judgeReport(report, now) } as const;
      const row = await recordGate(em, siteCode, result, { by: ctx.operator.name, now });
      return { result: toRecord(row), siteCode, after: { ...result } };
    }),
  );

/** Another Site's key is no different from one that never existed. @throws TRPCError PRECONDITION_FAILED */
async function refuseForeignKey(
  em: EntityManager,
  siteId: bigint,
  keyId: string | null,
): Promise<void> {
  const keys = keyId === null ? [] : await em.find(CredentialKey, { key_id: keyId });
  const own = await em.count(Credential, {
    id: { $in: keys.map((key) => key.credential_id) },
    site_id: siteId,
    environment: 'sandbox',
  });
  if (own === 0) throw refusal('its sandbox key belongs to no credential of the Site');
}

/** Adds a record under the Site's lock, so that an approval cannot pass a gate that fails at the same moment. */
async function recordGate(
  em: EntityManager,
  siteCode: string,
  result: { gate: 'QUALITY' | 'SECURITY'; result: 'PASSED' | 'FAILED'; evidence: string },
  { by, now }: { readonly by: string; readonly now: number },
): Promise<GateRecord> {
  const site = await lockSite(em, siteCode);
  const row = em.create(GateRecord, {
    site_id: site.id,
    ...result,
    recorded_by: by,
    recorded_at: new Date(now),
  });
  await em.flush();
  if (result.result === 'FAILED' && site.approved_at !== null && site.approved_at !== undefined) {
    await raiseOperatorEvent(em.getKysely(), {
      siteId: site.id,
      kind: 'gate_failed',
      subject: `site ${siteCode}`,
      detail: { gate: result.gate, by },
      at: now,
    });
  }
  return row;
}

const list = viewerProcedure
  .input(
    z
      .strictObject({ site_code: SiteCode, cursor: IdCursor.optional(), limit: Limit })
      .meta({ description: 'Lists the gate records of a Site, newest first.' }),
  )
  .output(pageOf(GateRecordOut))
  .query(async ({ ctx, input: { site_code: siteCode, cursor, limit } }) => {
    const em = ctx.services.orm.em.fork();
    const site = await findSite(em, siteCode);
    const before = cursor === undefined ? {} : { id: { $lt: BigInt(cursor) } };
    const rows = await em.find(
      GateRecord,
      { site_id: site.id, ...before },
      { orderBy: { id: 'desc' }, limit: limit + 1 },
    );
    return toPage(rows, limit, toRecord, (row) => String(row.id));
  });

/** The quality and security gates, with their history; the newest record of each counts, before and after approval. */
export const gates = router({ record, record_contract_check: recordContractCheck, list });
