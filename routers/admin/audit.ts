import { z } from 'zod';
import { AuditEntry } from '../../entities/audit-entry.ts';
import { router } from '../procedure.ts';
import { DecimalId, Limit, SiteCode, UtcInstant, cursorOf, instantField } from './fields.ts';
import { instantMs, pageOf, toIso, toPage } from './fields.ts';
import { viewerProcedureTaking } from './procedures.ts';

const Facts = z.record(z.string(), z.unknown()).nullable();

const AuditEntryOut = z.strictObject({
  audit_entry_id: DecimalId,
  at: UtcInstant,
  actor: z.string(),
  role: z.string().nullable(),
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
  role: row.actor_role ?? null,
  address: row.address,
  procedure: row.procedure,
  site_code: row.site_code ?? null,
  before: Facts.parse(row.before ?? null),
  after: Facts.parse(row.after ?? null),
});

const ProcedureName = z.string().regex(/^[a-z_]{1,40}(\.[a-z_]{1,40})?$/, {
  error: 'must be a procedure such as sites.create, a router such as sites, or login',
});

/** One value that before or after must hold, by the name it has there. */
const WantedFacts = z
  .record(
    z.string().regex(/^[a-z_]{1,40}$/, { error: 'must be the name of a fact' }),
    z.union([z.string().max(200), z.number(), z.boolean()]),
  )
  .refine((facts) => Object.keys(facts).length <= 5, { error: 'must not hold more than 5 facts' });

const list = viewerProcedureTaking('address')
  .input(
    z
      .strictObject({
        actor: z.string().min(1).max(80).optional().meta({ description: 'Who, by name' }),
        procedure: ProcedureName.optional().meta({
          description: 'Which procedure, a whole router, or login for failed logins',
        }),
        site_code: SiteCode.optional(),
        address: z
          .string()
          .min(1)
          .max(60)
          .optional()
          .meta({ description: 'From where, as the entries say it' }),
        facts: WantedFacts.optional().meta({
          description: 'What before or after says, such as {"credential_id":"17"}',
        }),
        from: instantField('At or after').optional(),
        to: instantField('Before').optional(),
        cursor: cursorOf(/^\d{1,14}\.[1-9]\d{0,17}$/).optional(),
        limit: Limit,
      })
      .meta({ description: 'Searches who changed what, and failed logins, newest first.' }),
  )
  .output(pageOf(AuditEntryOut))
  .query(async ({ ctx, input }) => {
    const { actor, procedure, site_code: siteCode, address, facts, cursor, limit } = input;
    const conditions: object[] = [];
    if (actor !== undefined) conditions.push({ actor });
    if (procedure !== undefined) conditions.push({ procedure: procedureCondition(procedure) });
    if (siteCode !== undefined) conditions.push({ site_code: siteCode });
    if (address !== undefined) conditions.push({ address });
    if (facts !== undefined) {
      conditions.push({ $or: [{ before: { $contains: facts } }, { after: { $contains: facts } }] });
    }
    if (input.from !== undefined) {
      conditions.push({ at: { $gte: new Date(instantMs(input.from)) } });
    }
    if (input.to !== undefined) conditions.push({ at: { $lt: new Date(instantMs(input.to)) } });
    if (cursor !== undefined) conditions.push(olderThan(cursor));
    const rows = await ctx.services.orm.em
      .fork()
      .find(
        AuditEntry,
        { $and: conditions },
        { orderBy: { at: 'desc', id: 'desc' }, limit: limit + 1 },
      );
    return toPage(rows, limit, toEntry, (row) => `${row.at.getTime()}.${row.id}`);
  });

/** A router's name stands for all of its procedures. */
const procedureCondition = (name: string): object | string =>
  name.includes('.') || name === 'login' ? name : { $like: `${name.replaceAll('_', '\\_')}.%` };

/** What comes after the row that a cursor names. */
function olderThan(cursor: string): object {
  const [ms = '0', id = '0'] = cursor.split('.');
  const at = new Date(Number(ms));
  return { at: { $lte: at }, $or: [{ at: { $lt: at } }, { id: { $lt: BigInt(id) } }] };
}

/** Every administrative change: who, from where, what, before and after without secrets; and failed logins. */
export const audit = router({ list });
