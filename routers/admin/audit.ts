import { z } from 'zod';
import { AuditEntry } from '../../entities/audit-entry.ts';
import { router } from '../procedure.ts';
import { DecimalId, IdCursor, Limit, UtcInstant, pageOf, toIso, toPage } from './fields.ts';
import { viewerProcedure } from './procedures.ts';

const Facts = z.record(z.string(), z.unknown()).nullable();

const AuditEntryOut = z.strictObject({
  audit_entry_id: DecimalId,
  at: UtcInstant,
  actor: z.string(),
  address: z.string(),
  procedure: z.string(),
  site_code: z.string().nullable(),
  before: Facts,
  after: Facts,
});

const toEntry = (row: AuditEntry): z.infer<typeof AuditEntryOut> => ({
  audit_entry_id: String(row.id),
  at: toIso(row.at),
  actor: row.actor,
  address: row.address,
  procedure: row.procedure,
  site_code: row.site_code ?? null,
  before: Facts.parse(row.before ?? null),
  after: Facts.parse(row.after ?? null),
});

const list = viewerProcedure
  .input(
    z
      .strictObject({ cursor: IdCursor.optional(), limit: Limit })
      .meta({ description: 'Lists who changed what, newest first.' }),
  )
  .output(pageOf(AuditEntryOut))
  .query(async ({ ctx, input: { cursor, limit } }) => {
    const before = cursor === undefined ? {} : { id: { $lt: BigInt(cursor) } };
    const rows = await ctx.services.orm.em
      .fork()
      .find(AuditEntry, before, { orderBy: { id: 'desc' }, limit: limit + 1 });
    return toPage(rows, limit, toEntry, (row) => String(row.id));
  });

/** Every administrative change: who, from where, what, before and after without secrets. */
export const audit = router({ list });
