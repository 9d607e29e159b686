import { createServer as createNetServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';

/** A delivery as it arrived on the wire. */
export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
  readonly at: number;
}

/** Answers a request on its bare socket, however it likes. `count` is 1 for the first request of this receiver. */
export type Behaviour = (socket: Socket, request: Received, count: number) => void;

/** A merchant's server on a real socket. */
export interface Receiver {
  readonly url: string;
  readonly port: number;
  readonly received: Received[];
  /** Connections that were opened. */
  readonly connections: () => number;
  behave(behaviour: Behaviour): void;
  close(): Promise<void>;
}

/** A complete answer that keeps the connection open. */
export const answer =
  (status: number, headers: Record<string, string> = {}, body = ''): Behaviour =>
  (socket) =>
    void socket.write(
      `HTTP/1.1 ${status} Answer\r\n${Object.entries(headers)
        .map(([name, value]) => `${name}: ${value}\r\n`)
        .join('')}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );

/** Starts a receiver that answers 200 until told otherwise; with `tls`, behind that certificate. */
export async function startReceiver(
  options: {
    readonly behaviour?: Behaviour;
    readonly tls?: { readonly key: string; readonly cert: string };
    readonly host?: string;
  } = {},
): Promise<Receiver> {
  let behaviour = options.behaviour ?? answer(200);
  const received: Received[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const serve = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    let pending = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => {
      pending = Buffer.concat([pending, chunk]);
      for (let request = parse(pending); request !== undefined; request = parse(pending)) {
        pending = pending.subarray(request.length);
        received.push(request.received);
        behaviour(socket, request.received, received.length);
      }
    });
  };
  const server: Server =
    options.tls === undefined ? createNetServer(serve) : createTlsServer(options.tls, serve);
  // Of TCP: a handshake that fails is a connection too.
  server.on('connection', () => (connections += 1)).on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, options.host ?? '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const scheme = options.tls === undefined ? 'http' : 'https';
  return {
    url: `${scheme}://127.0.0.1:${port}/hooks?from=test`,
    port,
    received,
    connections: () => connections,
    behave: (next) => void (behaviour = next),
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function parse(bytes: Buffer): { received: Received; length: number } | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const [first = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const [method = '', path = ''] = first.split(' ');
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  const length = end + 4 + Number(headers['content-length'] ?? 0);
  if (bytes.length < length) return undefined;
  const body = Buffer.from(bytes.subarray(end + 4, length));
  return { received: { method, path, headers, body, at: Date.now() }, length };
}
