import { createHmac, timingSafeEqual } from 'node:crypto';

/** True for a genuine delivery. `body` is the raw text as received: verify before parsing. */
export function verifyWebhook(
  headers: Record<string, string | undefined>,
  body: string,
  secret: string,
  now = Date.now(),
): boolean {
  const eventId = headers['x-service-event-id'] ?? '';
  const timestamp = headers['x-service-timestamp'] ?? '';
  const age = Math.abs(now - Date.parse(timestamp));
  if (!(age <= 5 * 60 * 1000)) return false;

  const hmac = createHmac('sha256', secret).update(`${timestamp}.${eventId}.${body}`);
  const expected = Buffer.from(`v1=${hmac.digest('hex')}`);
  return ['x-service-signature', 'x-service-signature-previous'].some((name) => {
    const received = Buffer.from(headers[name] ?? '');
    return received.length === expected.length && timingSafeEqual(received, expected);
  });
}
