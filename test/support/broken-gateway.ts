import { createServer, request as httpRequest, Agent, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { Json } from '../../openapi/contract-check/events.ts';

/** A request on its way to the service; a fault may change it. */
export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  body: Buffer;
}

/** An answer on its way to the caller; a fault may change it. */
export interface Returned {
  status: number;
  readonly headers: Record<string, string | string[]>;
  /** The parsed body; sent as JSON unless `text` is set. */
  // oxlint-disable-next-line typescript/no-explicit-any -- faults reach into bodies of any shape
  body: any;
  text?: string;
}

/** One way in which a gateway breaks the contract. */
export interface Fault {
  readonly request?: (sent: Sent) => void;
  readonly answer?: (returned: Returned, sent: Sent) => void;
}

/** A gateway between the check and the service that passes everything on but for one fault. */
export interface BrokenGateway {
  readonly url: URL;
  fault: Fault;
  /** What the service gets instead of a key; without an entry the key itself. */
  readonly keys: Map<string, string>;
  /** Address the service sees, so that refused keys of different runs are counted apart. */
  address: string;
  close(): Promise<void>;
}

/** Starts a gateway before a service on loopback. */
export async function startBrokenGateway(servicePort: number): Promise<BrokenGateway> {
  const agent = new Agent({ keepAlive: true });
  const forward = (sent: Sent): Promise<{ response: IncomingMessage; bytes: Buffer }> =>
    new Promise((resolve, reject) => {
      const { method, path, headers, body } = sent;
      const length =
        headers['content-length'] === undefined ? {} : { 'content-length': body.length };
      const options = { agent, host: '127.0.0.1', port: servicePort, method, path };
      httpRequest({ ...options, headers: { ...headers, ...length } }, (response) => {
        buffer(response).then((bytes) => resolve({ response, bytes }), reject);
      })
        .on('error', reject)
        .end(body);
    });
  const server = createServer((request, response) => {
    void (async () => {
      const headers = Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
      );
      const key = headers['x-api-key'];
      if (key !== undefined) headers['x-api-key'] = gateway.keys.get(key) ?? key;
      headers['x-forwarded-for'] = gateway.address;
      const sent: Sent = {
        method: request.method ?? '',
        path: request.url ?? '',
        headers,
        body: await buffer(request),
      };
      gateway.fault.request?.(sent);
      const { response: came, bytes } = await forward(sent);
      const text = bytes.toString();
      const returned: Returned = {
        status: came.statusCode ?? 0,
        headers: { ...came.headersDistinct } as Record<string, string[]>,
        body: text === '' ? undefined : JSON.parse(text),
      };
      gateway.fault.answer?.(returned, sent);
      const out =
        returned.text ?? (returned.body === undefined ? '' : JSON.stringify(returned.body));
      delete returned.headers['content-length'];
      delete returned.headers['transfer-encoding'];
      response.sendDate = false;
      response.writeHead(returned.status, {
        ...returned.headers,
        ...(request.method === 'HEAD' ? {} : { 'content-length': Buffer.byteLength(out) }),
      });
      response.end(request.method === 'HEAD' ? undefined : out);
    })().catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const gateway: BrokenGateway = {
    url: new URL(`http://127.0.0.1:${port}`),
    fault: {},
    keys: new Map(),
    address: '192.0.2.1',
    async close() {
      agent.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return gateway;
}

/** The JSON body of a request, to read. */
export function bodyOf(sent: Sent): Json {
  try {
    return JSON.parse(sent.body.toString()) as Json;
  } catch {
    return {};
  }
}

/** Replaces the JSON body of a request. */
export function rewrite(sent: Sent, change: (body: Json) => void): void {
  const body = bodyOf(sent);
  if (typeof body !== 'object' || body === null || Object.keys(body).length === 0) return;
  change(body);
  sent.body = Buffer.from(JSON.stringify(body));
}
