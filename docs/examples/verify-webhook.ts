import { createHmac, timingSafeEqual } from 'node:crypto';

/** The endpoint's signing secret; after a replacement also the one before, and when it was replaced (epoch ms). */
export type Secrets = { current: string; previous?: string; replacedAt?: number };

/** True for a genuine delivery. `rawBody` is what was received, byte for byte: verify before parsing. */
export function verifyWebhook(
  headers: Record<string, string | undefined>,
  rawBody: string | Uint8Array,
  secrets: Secrets,
  now = Date.now(),
): boolean {
  const timestamp = headers['x-service-timestamp'] ?? '';
  const eventId = headers['x-service-event-id'] ?? '';
  const age = Math.abs(now - Date.parse(timestamp));
  if (!(age <= 5 * 60 * 1000)) return false;

  const provenBy = (name: string, secret: string): boolean => {
    const hmac = createHmac('sha256', secret).update(`${timestamp}.${eventId}.`).update(rawBody);
    const expected = Buffer.from(`v1=${hmac.digest('hex')}`);
    const received = Buffer.from(headers[name] ?? '');
    return received.length === expected.length && timingSafeEqual(received, expected);
  };
  if (provenBy('x-service-signature', secrets.current)) return true;
  // Until a new secret has reached this server, its current one is the service's previous one.
  if (provenBy('x-service-signature-previous', secrets.current)) return true;
  const { previous, replacedAt = -Infinity } = secrets;
  const inWindow = now - replacedAt <= 24 * 60 * 60 * 1000;
  return !!previous && inWindow && provenBy('x-service-signature-previous', previous);
}

/** True for an event id that was seen before. Only for verified deliveries. Several servers: a unique column instead. */
export function isDuplicate(eventId: string, seen: Map<string, number>, now = Date.now()): boolean {
  for (const [id, at] of seen) if (now - at > 7 * 24 * 60 * 60 * 1000) seen.delete(id);
  if (seen.has(eventId)) return true;
  seen.set(eventId, now);
  return false;
}
