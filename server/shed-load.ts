import type { RequestListener } from 'node:http';
import type { Logger } from 'pino';
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
 * Refuses new events with 503 while the queue is full, before anything is made of them: a refusal must cost a small
 * part of an acceptance, or a flood of them leaves nothing to accept with. Their bodies are thrown away as they arrive,
 * and the connections stay usable.
 */
export function shedLoad(listener: RequestListener, options: ShedOptions): RequestListener {
  let refused = 0;
  let toldAt = Number.NEGATIVE_INFINITY;
  return (request, response) => {
    const isEvent =
      request.method === 'POST' && (request.url === PATH || request.url?.startsWith(`${PATH}?`));
    if (isEvent !== true || !options.isFull()) {
      listener(request, response);
      return;
    }
    const requestId = newRequestId();
    const body = JSON.stringify(errorBody(requestId, 'INGESTION_UNAVAILABLE'));
    response.writeHead(503, {
      'x-request-id': requestId,
      'Retry-After': '1',
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': Buffer.byteLength(body),
    });
    response.end(body);
    request.resume();
    options.onShed('submitTransaction', 503);
    refused += 1;
    const now = performance.now();
    if (now - toldAt >= LOG_EVERY_MS) {
      options.log.warn({ refused }, 'the queue of events is full: answered 503');
      refused = 0;
      toldAt = now;
    }
  };
}
