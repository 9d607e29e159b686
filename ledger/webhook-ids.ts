import { hash, randomBytes } from 'node:crypto';

/** Names one delivery: an event on its way to an endpoint. `eventId` is a UUID. */
export interface DeliveryRef {
  readonly siteId: bigint;
  readonly endpointId: bigint;
  readonly eventId: string;
}

const dashed = (hex: string): string =>
  `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;

/**
 * Makes the ids of new events: UUIDv7 (RFC 9562), 74 random bits after the time. Made here and not by the database,
 * because the body, which is stored once, names its id.
 *
 * @param at ms since 1970 UTC; {@link createdAtOf} gives exactly it back
 */
export function newEventIds(at: number, count: number): string[] {
  const time = at.toString(16).padStart(12, '0');
  const bytes = randomBytes(10 * count);
  return Array.from({ length: count }, (_, index) => {
    const from = index * 10;
    bytes[from] = ((bytes[from] ?? 0) & 0x0f) | 0x70;
    bytes[from + 2] = ((bytes[from + 2] ?? 0) & 0x3f) | 0x80;
    return dashed(time + bytes.toString('hex', from, from + 10));
  });
}

/** When an event happened, ms since 1970 UTC: which partition its rows are in needs no look-up. */
export function createdAtOf(eventId: string): number {
  return Number.parseInt(eventId.slice(0, 8) + eventId.slice(9, 13), 16);
}

/**
 * The id of a delivery's job: queueing it twice makes one job, and a delivery is found in the queue without a mapping
 * table. Begins with the event's time, so that new jobs lie beside each other in the index.
 */
export function deliveryJobId({ endpointId, eventId }: Omit<DeliveryRef, 'siteId'>): string {
  const digest = hash('sha256', `${endpointId}/${eventId}`, 'hex');
  return dashed(eventId.slice(0, 8) + eventId.slice(9, 13) + digest.slice(0, 20));
}
