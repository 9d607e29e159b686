import { EventSource } from '../events.ts';
import type { LoadCredential, LoadOrder, Traffic } from './protocol.ts';

/** Makes the requests of an order, one after the other. */
export class RequestSource {
  readonly #order: LoadOrder;
  readonly #events: EventSource;
  #next: number;

  constructor(order: LoadOrder) {
    this.#order = order;
    const { traffic } = order;
    const padToBytes = traffic.kind === 'ingest' ? (traffic.padToBytes ?? 0) : 0;
    const scatteredIds = traffic.kind === 'ingest' && traffic.scatteredIds === true;
    this.#events = new EventSource({
      seed: order.seed,
      sites: order.sites,
      padToBytes,
      scatteredIds,
    });
    this.#next = traffic.kind === 'ingest' ? traffic.first : 0;
  }

  /** The next unused number. */
  get next(): number {
    return this.#next;
  }

  /** The next event with its credential; credentials take turns, since each has a limit per minute. */
  event(): {
    readonly number: number;
    readonly credential: LoadCredential;
    readonly sourceEventId: string;
    readonly body: Buffer;
  } {
    const { traffic } = this.#order;
    const number = this.#take(traffic);
    const credential = this.#credential(number);
    const at =
      'timeBase' in traffic && traffic.timeBase !== undefined
        ? traffic.timeBase + number
        : Date.now();
    return { number, credential, ...this.#events.event(number, at) };
  }

  /** The next request as bytes of HTTP/1.1. */
  http(): Buffer {
    const { traffic } = this.#order;
    if (traffic.kind === 'status') {
      const [credential, id] = traffic.ingestions[
        this.#take(traffic) % traffic.ingestions.length
      ] ?? [0, ''];
      return Buffer.from(
        `GET /v1/ingestions/${id} HTTP/1.1\r\nHost: 127.0.0.1\r\nx-api-key: ${this.#credential(credential).apiKey}\r\n\r\n`,
        'latin1',
      );
    }
    const { credential, sourceEventId, body } = this.event();
    const head = `POST /v1/transactions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nx-api-key: ${credential.apiKey}\r\nIdempotency-Key: key-${sourceEventId}\r\nContent-Length: ${body.length}\r\n\r\n`;
    const request = Buffer.allocUnsafe(head.length + body.length);
    request.write(head, 0, 'latin1');
    body.copy(request, head.length);
    return request;
  }

  #take(traffic: Traffic): number {
    const number = this.#next;
    this.#next += 1;
    return traffic.kind === 'replays' ? number % traffic.count : number;
  }

  #credential(number: number): LoadCredential {
    const { credentials } = this.#order;
    return credentials[number % credentials.length] as LoadCredential;
  }
}
