import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { BODY_LIMIT } from './middleware/json-body.ts';
import { errorBody } from './middleware/errors.ts';
import { newRequestId } from './middleware/request-id.ts';

/** What shedding works with. */
export interface ShedOptions {
  /** True while the queue of events takes nothing more. */
  readonly isFull: () => boolean;
  /** Called for each refused request: no middleware, so no metric of theirs, sees it. */
  readonly onShed: (operation: string, status: number) => void;
  readonly log: Logger;
}

const PATH = '/v1/transactions';

/** How often the log tells how many were refused, ms: a line for each would be load itself. */
const LOG_EVERY_MS = 1_000;

/**
 * Refusals answered per second, and how many at once after a calm. Callers who come back as soon as they are refused
 * would otherwise be refused some 17,000 times a second, which leaves the processor to accept next to nothing. A body
 * counts as one more for every so many bytes, because it is read to be thrown away.
 */
const PER_SECOND = 4_000;
const AT_ONCE = 128;
const BYTES_OF_ONE = 64 * 1024;

/** How often those that wait for their refusal are looked at, ms. */
const TICK_MS = 10;

interface Refused {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/**
 * Refuses new events with 503 while the queue is full, before anything is made of them: a refusal must cost a small
 * part of an acceptance, or a flood of them leaves nothing to accept with. Their bodies are thrown away, and the
 * connections stay usable. Under a flood refusals are spread over time; until its turn a request costs nothing but its
 * connection.
 */
export function shedLoad(listener: RequestListener, options: ShedOptions): RequestListener {
  const turns = new RefusalTurns(({ request, response }) => {
    refuse(response);
    request.resume();
    options.onShed('submitTransaction', 503);
  });
  let refused = 0;
  let toldAt = Number.NEGATIVE_INFINITY;
  return (request, response) => {
    const isEvent =
      request.method === 'POST' && (request.url === PATH || request.url?.startsWith(`${PATH}?`));
    if (isEvent !== true || !options.isFull()) {
      listener(request, response);
      return;
    }
    turns.take({ request, response });
    refused += 1;
    const now = performance.now();
    if (now - toldAt >= LOG_EVERY_MS) {
      options.log.warn({ refused }, 'the queue of events is full: answered 503');
      refused = 0;
      toldAt = now;
    }
  };
}

const bytesOf = ({ request }: Refused): number =>
  Number(request.headers['content-length'] ?? BODY_LIMIT);

function refuse(response: ServerResponse): void {
  const requestId = newRequestId();
  const body = JSON.stringify(errorBody(requestId, 'INGESTION_UNAVAILABLE'));
  response.writeHead(503, {
    'x-request-id': requestId,
    'Retry-After': '1',
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
  });
  response.end(body);
}

/** Gives refusals their turns: at once while they are few, then as many in a second as the processor can spare. */
class RefusalTurns {
  readonly #refuse: (refused: Refused) => void;
  readonly #waiting: Refused[] = [];
  #allowed = AT_ONCE;
  #allowedAt = performance.now();
  #timer: NodeJS.Timeout | undefined;

  constructor(refuse: (refused: Refused) => void) {
    this.#refuse = refuse;
  }

  take(refused: Refused): void {
    // A small body is there already: thrown away now, it need not be kept. A large one waits with its sender.
    if (bytesOf(refused) <= BYTES_OF_ONE) refused.request.resume();
    this.#waiting.push(refused);
    if (this.#timer === undefined) this.#refuseAllowed();
  }

  #refuseAllowed(): void {
    const now = performance.now();
    this.#allowed += ((now - this.#allowedAt) / 1_000) * PER_SECOND;
    this.#allowed = Math.min(this.#allowed, AT_ONCE);
    this.#allowedAt = now;
    let answered = 0;
    while (this.#allowed > 0) {
      const next = this.#waiting[answered];
      if (next === undefined) break;
      answered += 1;
      this.#allowed -= 1 + bytesOf(next) / BYTES_OF_ONE;
      this.#refuse(next);
    }
    this.#waiting.splice(0, answered);
    if (this.#waiting.length > 0) {
      this.#timer ??= setInterval(() => this.#refuseAllowed(), TICK_MS);
    } else {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }
}
