import { createHash } from 'node:crypto';
import type { RouterWalk, Walk } from './walk.ts';

const importId = (walk: Walk): unknown => walk.answer('imports.create')['import_id'];

/** One past event, whose texts hold the Site's code. */
const pastLine = ({ code, service }: Walk): string => {
  const at = new Date(service.clock.at - 86_400_000).toISOString();
  return JSON.stringify({
    schema_version: '1.0',
    source_event_id: `past-${code}`,
    occurred_at: at,
    sent_at: at,
    source_system: code,
    event_type: 'PAYMENT_AUTH',
    merchant_external_id: code,
    transaction: {
      source_event_id: `past-${code}`,
      type: 'AUTH',
      status: 'APPROVED',
      occurred_at: at,
      amount_minor: 100,
      currency: 'EUR',
      channel: 'POS',
      installment_months: 0,
    },
  });
};

/** History: begun, sent and started. */
export const importsWalk: RouterWalk = {
  steps: [
    {
      path: 'imports.create',
      async before({ service, code }) {
        await service.database.query(
          `insert into credential (site_id, environment, label, permissions, created_at)
           select id, 'production', 'past', '{ingest}', now() from site where code = $1`,
          [code],
        );
      },
      input: ({ code }) => ({
        site_code: code,
        content_hash: createHash('sha256').update(code).digest('hex'),
      }),
    },
    {
      path: 'imports.append',
      input: (walk) => ({
        import_id: importId(walk),
        first_line: 1,
        lines: `${pastLine(walk)}\nnot JSON\n`,
      }),
    },
    { path: 'imports.commit', input: (walk) => ({ import_id: importId(walk), lines: 2 }) },
  ],
  queries: {
    'imports.status': (walk) => ({ import_id: importId(walk) }),
    'imports.problems': (walk) => ({ import_id: importId(walk) }),
  },
};
