import { openDeadLetter } from '../../../../ledger/failed-attempts.ts';
import type { RouterWalk, Walk } from './walk.ts';

/** The id of the event whose evaluation has stopped. */
const STOPPED = 7_000_001n;

/** An event of the walk's Site that cannot be evaluated. */
async function die({ service, code }: Walk): Promise<void> {
  const [site] = await service.database.query<{ id: string }>(
    `insert into ingestion (site_id, id, source_event_id, payload_hash, hash_version, received_at, occurred_at,
       event_type, transaction_type, transaction_status, amount_minor, currency, merchant_subject, credential_id)
     select id, $2, 'event-of-' || code, '\\x00', 1, $3, $3, 'PAYMENT_AUTH', 'AUTH', 'APPROVED', 1, 'KRW', 'm', 1
     from site where code = $1 returning site_id as id`,
    [code, STOPPED, new Date(service.clock.at)],
  );
  await openDeadLetter(
    service.services.orm.em.fork().getKysely(),
    { siteId: BigInt(site?.id ?? 0), ingestionId: STOPPED },
    { cause: `Error of ${code}`, attempts: 6, deadAt: service.clock.at },
  );
}

/** Dead letters and their way back. */
export const deadLettersWalk: RouterWalk = {
  steps: [
    {
      path: 'dead_letters.redrive',
      input: ({ code }) => ({ filter: { site_code: code }, reason: `repaired for ${code}` }),
    },
    {
      path: 'dead_letters.discard',
      ofNoSite: true,
      before: die,
      input: ({ code }) => ({
        ingestion_ids: [`ing_${STOPPED}`],
        reason: `given up for ${code}`,
      }),
    },
  ],
  queries: {
    'dead_letters.preview': ({ code }) => ({ filter: { site_code: code } }),
  },
};
