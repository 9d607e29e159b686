import { z } from 'zod';
import { OperatorEvent } from '../../entities/operator-event.ts';
import { Site } from '../../entities/site.ts';
import { OPERATOR_EVENT_KINDS, type OperatorEventKind } from '../../ledger/operator-event-kinds.ts';
import { router } from '../procedure.ts';
import { DecimalId, IdCursor, Limit, SiteCode, UtcInstant, instantField } from './fields.ts';
import { instantMs, pageOf, toIso, toPage } from './fields.ts';
import { findSite } from './find-site.ts';
import { viewerProcedure } from './procedures.ts';

const EventOut = z.strictObject({
  event_id: DecimalId,
  at: UtcInstant,
  kind: z.string(),
  subject: z.string(),
  site_code: z.string().nullable(),
  detail: z.record(z.string(), z.unknown()),
});

const Kind = z.enum(Object.keys(OPERATOR_EVENT_KINDS) as OperatorEventKind[]);

const list = viewerProcedure
  .input(
    z
      .strictObject({
        site_code: SiteCode.optional(),
        kind: Kind.optional().meta({ description: 'What happened' }),
        from: instantField('At or after').optional(),
        to: instantField('Before').optional(),
        cursor: IdCursor.optional(),
        limit: Limit,
      })
      .meta({ description: 'Lists what operators should notice, newest first.' }),
  )
  .output(pageOf(EventOut))
  .query(async ({ ctx, input }) => {
    const em = ctx.services.orm.em.fork();
    const { site_code: siteCode, kind, from, to, cursor, limit } = input;
    const rows = await em.find(
      OperatorEvent,
      {
        ...(siteCode === undefined ? {} : { site_id: (await findSite(em, siteCode)).id }),
        ...(kind === undefined ? {} : { kind }),
        ...(cursor === undefined ? {} : { id: { $lt: BigInt(cursor) } }),
        at: {
          ...(from === undefined ? {} : { $gte: new Date(instantMs(from)) }),
          ...(to === undefined ? {} : { $lt: new Date(instantMs(to)) }),
        },
      },
      { orderBy: { id: 'desc' }, limit: limit + 1 },
    );
    const siteIds = [...new Set(rows.map((row) => row.site_id))].filter((id) => id !== 0n);
    const sites = siteIds.length === 0 ? [] : await em.find(Site, { id: { $in: siteIds } });
    const codes = new Map(sites.map((site) => [site.id, site.code]));
    return toPage(
      rows,
      limit,
      (row) => ({
        event_id: String(row.id),
        at: toIso(row.at),
        kind: row.kind,
        subject: row.subject,
        site_code: codes.get(row.site_id) ?? null,
        detail: z.record(z.string(), z.unknown()).parse(row.detail),
      }),
      (row) => String(row.id),
    );
  });

/** What operators should notice without looking for it: suspensions, failing gates, disabled endpoints and the like. */
export const events = router({ list });
