import { run, type Db } from './database.ts';
import type { SecretBox } from './secret-box.ts';
import { together } from './transactions.ts';
import { createdAtOf, type DeliveryRef } from './webhook-ids.ts';
import { readSecrets, type EndpointSecrets } from './webhook-secrets.ts';

/** An endpoint as a delivery needs it. */
export interface ClaimedEndpoint {
  readonly siteId: bigint;
  readonly endpointId: bigint;
  readonly url: string;
  /** Counts the changes of the URL: what was answered at a former one says nothing about this one. */
  readonly urlVersion: number;
  readonly state: 'PENDING' | 'ACTIVE' | 'DISABLED';
  /** The one challenge whose answer counts. */
  readonly challengeEventId: string | undefined;
  readonly failuresInRow: number;
  readonly breaker: 'CLOSED' | 'OPEN' | 'HALF_OPEN';
  /** When its success was written last, ms since 1970 UTC. */
  readonly lastSuccessAt: number | undefined;
  /** Undefined where the stored ones cannot be opened. */
  readonly secrets: EndpointSecrets | undefined;
}

/** A delivery as an attempt needs it. */
export interface ClaimedDelivery extends DeliveryRef {
  readonly type: string;
  readonly state: 'PENDING' | 'DELIVERED' | 'FAILED';
  /** Failed attempts since it was queued or sent again: its place in the schedule. */
  readonly step: number;
  /** Attempts so far, over all. */
  readonly attempts: number;
  /** False for one that is held: it should have no job. */
  readonly queued: boolean;
  readonly body: Buffer;
  readonly endpoint: ClaimedEndpoint;
}

/** Earliest and latest creation among deliveries: keeps statements to the partitions that matter. */
export function creationSpan(refs: readonly { readonly eventId: string }[]): [string, string] {
  const times = refs.map(({ eventId }) => createdAtOf(eventId));
  const iso = (at: number): string => new Date(at).toISOString();
  return [iso(Math.min(...times)), iso(Math.max(...times))];
}

/** The keys of deliveries as array parameters: sites, endpoints, events, times of creation. */
export const deliveryKeys = (refs: readonly DeliveryRef[]): string[][] => [
  refs.map(({ siteId }) => String(siteId)),
  refs.map(({ endpointId }) => String(endpointId)),
  refs.map(({ eventId }) => eventId),
  refs.map(({ eventId }) => new Date(createdAtOf(eventId)).toISOString()),
];

/** Reads deliveries with their bodies and endpoints as they are now; what does not exist is absent. `now` in ms. */
export async function loadDeliveries(
  db: Db,
  box: SecretBox,
  refs: readonly DeliveryRef[],
  now: number,
): Promise<ClaimedDelivery[]> {
  if (refs.length === 0) return [];
  const endpointIds = [...new Set(refs.map(({ endpointId }) => endpointId))];
  const [rows, endpoints] = await together(
    readRows(db, refs),
    readEndpoints(db, box, endpointIds, now),
  );
  return rows.flatMap((row) => {
    const endpoint = endpoints.get(BigInt(row.endpoint_id));
    if (endpoint === undefined || endpoint.siteId !== BigInt(row.site_id)) return [];
    return [
      {
        siteId: endpoint.siteId,
        endpointId: endpoint.endpointId,
        eventId: row.event_id,
        type: row.event_type,
        state: row.state,
        step: row.step,
        attempts: row.attempts,
        queued: row.queued,
        body: Buffer.from(row.body),
        endpoint,
      },
    ];
  });
}

interface Row {
  readonly site_id: string;
  readonly endpoint_id: string;
  readonly event_id: string;
  readonly event_type: string;
  readonly state: ClaimedDelivery['state'];
  readonly step: number;
  readonly attempts: number;
  readonly queued: boolean;
  readonly body: string;
}

async function readRows(db: Db, refs: readonly DeliveryRef[]): Promise<Row[]> {
  const { rows } = await run<Row>(
    db,
    `select delivery.site_id, delivery.endpoint_id, delivery.event_id, delivery.event_type, delivery.state,
       delivery.step, delivery.attempts, delivery.next_attempt_at is not null as queued, event.body
     from unnest($1::bigint[], $2::bigint[], $3::uuid[], $4::timestamptz[])
       as wanted (site_id, endpoint_id, event_id, created_at)
     join webhook_delivery delivery on delivery.site_id = wanted.site_id
       and delivery.endpoint_id = wanted.endpoint_id and delivery.event_id = wanted.event_id
       and delivery.created_at = wanted.created_at
     join webhook_event event on event.site_id = wanted.site_id and event.id = wanted.event_id
       and event.created_at = wanted.created_at
     where delivery.created_at between $5::timestamptz and $6::timestamptz
       and event.created_at between $5::timestamptz and $6::timestamptz`,
    [...deliveryKeys(refs), ...creationSpan(refs)],
  );
  return rows;
}

/** Reads endpoints as they are now, with what signs at `now` (ms). @throws SecretUnreadable */
export async function readEndpoints(
  db: Db,
  box: SecretBox,
  endpointIds: readonly bigint[],
  now: number,
): Promise<Map<bigint, ClaimedEndpoint>> {
  const read = run<{
    id: string;
    site_id: string;
    url: string;
    url_version: number;
    state: ClaimedEndpoint['state'];
    challenge_event_id: string | null;
    failures_in_row: number | null;
    breaker: ClaimedEndpoint['breaker'] | null;
    last_success_at: string | null;
  }>(
    db,
    `select endpoint.id, endpoint.site_id, endpoint.url, endpoint.url_version, endpoint.state,
       endpoint.challenge_event_id, health.failures_in_row, health.breaker,
       (extract(epoch from health.last_success_at) * 1000)::bigint as last_success_at
     from webhook_endpoint endpoint
     left join webhook_endpoint_health health on health.site_id = endpoint.site_id
       and health.endpoint_id = endpoint.id
     where endpoint.id = any ($1::bigint[])`,
    [endpointIds.map(String)],
  );
  const [{ rows }, secrets] = await together(read, readSecrets(db, box, endpointIds, now));
  return new Map(
    rows.map((row) => {
      const endpoint: ClaimedEndpoint = {
        siteId: BigInt(row.site_id),
        endpointId: BigInt(row.id),
        url: row.url,
        urlVersion: row.url_version,
        state: row.state,
        challengeEventId: row.challenge_event_id ?? undefined,
        failuresInRow: row.failures_in_row ?? 0,
        breaker: row.breaker ?? 'CLOSED',
        lastSuccessAt: row.last_success_at === null ? undefined : Number(row.last_success_at),
        secrets: secrets.get(BigInt(row.id)),
      };
      return [endpoint.endpointId, endpoint];
    }),
  );
}
