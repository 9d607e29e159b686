import { z } from 'zod';
import { GateRecord } from '../../entities/gate-record.ts';
import { router } from '../procedure.ts';
import { DecimalId, IdCursor, Limit, SiteCode, UtcInstant, pageOf, statement } from './fields.ts';
import { toIso, toPage } from './fields.ts';
import { findSite, lockSite } from './find-site.ts';
import { mutate } from './mutate.ts';
import { administratorProcedure, viewerProcedure } from './procedures.ts';

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
        result: Result.meta({ description: 'How it ended; the newest record of a gate counts' }),
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
      // Locked, so that an approval cannot pass a gate that fails at the same moment.
      const site = await lockSite(em, siteCode);
      const row = em.create(GateRecord, {
        site_id: site.id,
        ...result,
        recorded_by: ctx.operator.name,
        recorded_at: new Date(now),
      });
      await em.flush();
      return { result: toRecord(row), siteCode, after: { ...result } };
    }),
  );

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

/** The quality and security gates before activation, with their history. */
export const gates = router({ record, list });
