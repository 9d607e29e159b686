import { randomUUID } from 'node:crypto';

/** A JSON object. */
export type Json = Record<string, unknown>;

/** Makes the events of one run: their ids begin alike, so that they can be told apart in the check Site's ledger. */
export class EventMaker {
  readonly #run = `contract-check-${randomUUID()}`;
  #count = 0;

  /** An id nobody used before. */
  newId(): string {
    this.#count += 1;
    return `${this.#run}-${this.#count}`;
  }

  /** A valid PAYMENT_AUTH of a small amount, changed as told; `undefined` removes a property. */
  event(changes: Json = {}, transaction: Json = {}): Json {
    const id = this.newId();
    const now = new Date().toISOString();
    const event = {
      schema_version: '1.0',
      source_event_id: id,
      occurred_at: now,
      sent_at: now,
      source_system: 'contract-check',
      event_type: 'PAYMENT_AUTH',
      // Required for MULTI_MERCHANT Sites, allowed for the others.
      merchant_external_id: 'contract-check',
      transaction: {
        source_event_id: id,
        type: 'AUTH',
        status: 'APPROVED',
        occurred_at: now,
        amount_minor: 1200,
        currency: 'KRW',
        channel: 'ECOMMERCE',
        installment_months: 0,
        ...transaction,
      },
      payment_method: { type: 'CARD', token: `tok_${this.#run}` },
      ...changes,
    };
    return JSON.parse(JSON.stringify(event)) as Json;
  }
}

/** Headers and body of a write. */
export function writeOf(
  body: unknown,
  key: string = randomUUID(),
): { headers: Record<string, string>; body: string } {
  return {
    headers: { 'content-type': 'application/json', 'idempotency-key': key },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  };
}
