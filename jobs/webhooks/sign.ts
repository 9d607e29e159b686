import { createHmac } from 'node:crypto';

/** The secrets a delivery is signed with; `previous` only within 24 hours after a rotation. */
export interface SigningSecrets {
  readonly current: string;
  readonly previous: string | undefined;
}

/** What is signed and sent. `body` goes out byte for byte as it was stored. */
export interface SignedParts {
  readonly eventId: string;
  readonly body: Buffer;
  /** Time of this attempt, ms since 1970 UTC: a retry is signed anew. */
  readonly at: number;
}

/** The contract's headers of one attempt (section 6.1), names and values alternating. */
export function signedHeaders(parts: SignedParts, secrets: SigningSecrets): string[] {
  const timestamp = new Date(parts.at).toISOString();
  const sign = (secret: string): string => {
    const hmac = createHmac('sha256', secret).update(`${timestamp}.${parts.eventId}.`);
    return `v1=${hmac.update(parts.body).digest('hex')}`;
  };
  const headers = [
    'x-service-event-id',
    parts.eventId,
    'x-service-timestamp',
    timestamp,
    'x-service-signature',
    sign(secrets.current),
  ];
  if (secrets.previous !== undefined) {
    headers.push('x-service-signature-previous', sign(secrets.previous));
  }
  return headers;
}
