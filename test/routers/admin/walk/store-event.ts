import type { Walk } from './walk.ts';

/** An event that {@link storeEvent} puts into the ledger. */
export interface StoredEvent {
  readonly siteId: bigint;
  readonly ingestionId: bigint;
}

/** The id of a walk's event of this name: another one on each Site, as ids are unique over all. */
export function eventIdOf({ code }: Walk, name: string): bigint {
  let id = 7_000_000n;
  for (const character of `${code}/${name}`) id = id * 31n + BigInt(character.charCodeAt(0));
  return id % 10n ** 12n;
}

/** Puts an event with its body into the ledger of the walk's Site. */
export async function storeEvent(walk: Walk, name: string): Promise<StoredEvent> {
  const { service, code } = walk;
  const ingestionId = eventIdOf(walk, name);
  const [row] = await service.database.query<{ site_id: string }>(
    `with event as (
       insert into ingestion (site_id, id, source_event_id, payload_hash, hash_version, received_at, occurred_at,
         event_type, transaction_type, transaction_status, amount_minor, currency, merchant_subject, credential_id)
       select id, $2, $3, '\\x00', 1, $4, $4, 'PAYMENT_AUTH', 'AUTH', 'APPROVED', 1, 'KRW', 'm', 1
       from site where code = $1
       returning site_id, id, received_at)
     insert into ingestion_payload (site_id, ingestion_id, received_at, body)
     select site_id, id, received_at, $5 from event returning site_id`,
    [
      code,
      String(ingestionId),
      `event-${name}-of-${code}`,
      new Date(service.clock.at),
      JSON.stringify({ customer: { customer_id: `of ${code}` } }),
    ],
  );
  return { siteId: BigInt(row?.site_id ?? 0), ingestionId };
}
