import { createServer, type RequestListener, type Server } from 'node:http';
import { answerParserErrors } from './parser-errors.ts';

/** Time limits of a connection, ms. */
export interface HttpTimes {
  /** From the first byte to the end of the headers. */
  readonly headersMs: number;
  /** From the first byte to the end of the body. */
  readonly requestMs: number;
  /** Without a byte of the body. */
  readonly bodyIdleMs: number;
  /** Between two requests of a connection. */
  readonly keepAliveMs: number;
}

/** Generous for a real merchant's server, short for somebody who holds connections open. */
export const HTTP_TIMES: HttpTimes = {
  headersMs: 10_000,
  requestMs: 30_000,
  bodyIdleMs: 10_000,
  keepAliveMs: 65_000,
};

/** A server whose every answer, those of the HTTP parser included, carries the contract's error body. */
export function createHttpServer(
  times: HttpTimes,
  listener: RequestListener,
  onRefused: () => void,
): Server {
  const server = createServer(
    {
      headersTimeout: times.headersMs,
      requestTimeout: times.requestMs,
      keepAliveTimeout: times.keepAliveMs,
      connectionsCheckingInterval: Math.min(1_000, times.headersMs / 2),
      // Node would answer a missing Host by itself, without body and request id; request-line.ts does.
      requireHostHeader: false,
      noDelay: true,
    },
    listener,
  );
  // A caller may close its side after the request and wait; Node would drop its answer. Known to Node, not to its types.
  Object.assign(server, { httpAllowHalfOpen: true });
  answerParserErrors(server, onRefused);
  return server;
}

/** Listens; resolves with the port. @throws the socket's error, such as EADDRINUSE */
export function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : port);
    });
  });
}

/** Stops accepting, lets requests in flight finish until the deadline (ms), then cuts what is left. */
export async function drain(server: Server, deadlineMs: number): Promise<void> {
  if (!server.listening) return;
  // A busy caller would otherwise keep its connection, and the stop waiting, until the deadline.
  server.prependListener('request', (_request, response) => {
    response.setHeader('Connection', 'close');
  });
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const deadline = setTimeout(() => server.closeAllConnections(), deadlineMs);
  await closed;
  clearTimeout(deadline);
}
