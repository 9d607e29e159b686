import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { isDuplicate, verifyWebhook, type Secrets } from '../../docs/examples/verify-webhook.ts';

/** Bytes of a body at most: ours are a few hundred. */
const MAX_BODY = 1_048_576;

/** What a delivery turned out to be. */
export interface Heard {
  readonly at: number;
  readonly verdict: 'verified' | 'refused' | 'repeated';
  readonly eventId: string;
  /** The body as it came; shown only where it was verified. */
  readonly raw: string;
}

/** How the listener behaves. */
export interface ListenerOptions {
  readonly secrets: Secrets;
  /** What a verified delivery is answered with; another one shows how retries look. */
  readonly status: number;
  readonly onHeard: (heard: Heard) => void;
  readonly now: () => number;
}

/**
 * A receiver as a merchant would write it, on the very example of the integration guide: raw body, verified before it is
 * parsed, repeated events discarded, answered at once. What is not verified gets 401, so that a wrong secret shows.
 */
export function createListener(options: ListenerOptions): Server {
  const seen = new Map<string, number>();
  return createServer((request, response) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= MAX_BODY) chunks.push(chunk);
    });
    request.on('end', () => {
      if (request.method !== 'POST' || size > MAX_BODY) {
        response.writeHead(request.method === 'POST' ? 413 : 405, { connection: 'close' }).end();
        return;
      }
      const raw = Buffer.concat(chunks);
      const at = options.now();
      const headers = singleHeaders(request.headers);
      const eventId = headers['x-service-event-id'] ?? '';
      const genuine = verifyWebhook(headers, raw, options.secrets, at);
      const repeated = genuine && isDuplicate(eventId, seen, at);
      const verdict = repeated ? 'repeated' : genuine ? 'verified' : 'refused';
      // One that we do not answer with a success will come again, and is new then.
      if (genuine && options.status >= 300) seen.delete(eventId);
      response.writeHead(genuine ? options.status : 401).end();
      options.onHeard({ at, verdict, eventId, raw: genuine ? raw.toString() : '' });
    });
  });
}

function singleHeaders(headers: IncomingHttpHeaders): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : value,
    ]),
  );
}
