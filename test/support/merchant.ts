import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

/** An answer of the service, its body parsed. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into bodies of any shape
  readonly body: any;
}

/** A merchant's server: calls the REST interface with one key. */
export interface Merchant {
  submit(event: unknown, idempotencyKey?: string): Promise<Answer>;
  ingestion(id: string): Promise<Answer>;
  risk(sourceEventId: string): Promise<Answer>;
  label(sourceEventId: string, body: unknown, idempotencyKey?: string): Promise<Answer>;
  usage(): Promise<Answer>;
  call(method: string, path: string, init?: RequestInit): Promise<Answer>;
  /** Polls until the ingestion is evaluated. @throws Error after `milliseconds` */
  evaluated(ingestionId: string, milliseconds?: number): Promise<Answer>;
}

/** A merchant with an API key, with one for each call (see `keysOf`), or without one. */
export function merchant(url: string, apiKey?: string | (() => Promise<string>)): Merchant {
  const call = async (method: string, path: string, init: RequestInit = {}): Promise<Answer> => {
    const headers = new Headers(init.headers);
    if (apiKey !== undefined) {
      headers.set('x-api-key', typeof apiKey === 'string' ? apiKey : await apiKey());
    }
    const response = await fetch(url + path, { ...init, method, headers });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: text === '' ? undefined : JSON.parse(text),
    };
  };
  const post = (path: string, body: unknown, key: string): Promise<Answer> =>
    call('POST', path, {
      headers: { 'content-type': 'application/json', 'idempotency-key': key },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  const ingestion = (id: string): Promise<Answer> => call('GET', `/v1/ingestions/${id}`);
  return {
    call,
    ingestion,
    submit: (event, key = randomUUID()) => post('/v1/transactions', event, key),
    risk: (id) => call('GET', `/v1/transactions/${encodeURIComponent(id)}/risk`),
    label: (id, body, key = randomUUID()) =>
      post(`/v1/transactions/${encodeURIComponent(id)}/outcomes`, body, key),
    usage: () => call('GET', '/v1/usage'),
    async evaluated(id, milliseconds = 10_000) {
      const deadline = performance.now() + milliseconds;
      let waited = 25;
      for (;;) {
        const answer = await ingestion(id);
        if (answer.body?.evaluation_status === 'SUCCEEDED') return answer;
        if (performance.now() > deadline) {
          throw new Error(`${id} is still ${JSON.stringify(answer.body)}`);
        }
        // 120 requests a minute are all a credential has.
        await sleep((waited += 25));
      }
    },
  };
}

/** What a test changes of an event; `undefined` removes a property. */
export interface EventChanges {
  readonly [property: string]: unknown;
  readonly transaction?: Record<string, unknown>;
}

/** A valid PAYMENT_AUTH event with an id of its own. */
export function eventOf(changes: EventChanges = {}): Record<string, unknown> {
  const given = changes['source_event_id'];
  const id = typeof given === 'string' ? given : `evt-${randomUUID()}`;
  const { transaction, ...envelope } = changes;
  const event = {
    schema_version: '1.0',
    source_event_id: id,
    occurred_at: '2026-03-01T09:00:00+09:00',
    sent_at: '2026-03-01T09:00:01+09:00',
    source_system: 'shop',
    event_type: 'PAYMENT_AUTH',
    transaction: {
      source_event_id: id,
      type: 'AUTH',
      status: 'APPROVED',
      occurred_at: '2026-03-01T09:00:00+09:00',
      amount_minor: 129_000,
      currency: 'KRW',
      channel: 'ECOMMERCE',
      installment_months: 0,
      ...transaction,
    },
    payment_method: { type: 'CARD', token: `tok_${id}` },
    ...envelope,
  };
  return JSON.parse(JSON.stringify(event)) as Record<string, unknown>;
}
