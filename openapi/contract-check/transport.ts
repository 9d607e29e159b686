import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import tls from 'node:tls';
import { NoAnswer, type Answer, type Call } from './types.ts';

/** An answer larger than this is none of ours, bytes. */
const ANSWER_LIMIT = 1024 * 1024;

/** How a gateway is spoken to; one connection is kept alive and used in turn. */
export interface Transport {
  /** @throws NoAnswer */
  send(call: Call): Promise<Answer>;
  /**
   * Writes bytes to a connection of its own and reads one answer, or what there is when the gateway closes it.
   * @throws NoAnswer nothing came, or no HTTP
   */
  sendRaw(bytes: string): Promise<Answer>;
  close(): void;
}

/** Opens no connection yet. @param patienceMs longest wait for one answer */
export function createTransport(base: URL, patienceMs = 40_000): Transport {
  const secure = base.protocol === 'https:';
  const agent = new (secure ? https : http).Agent({ keepAlive: true, maxSockets: 1 });
  const prefix = base.pathname.replace(/\/$/, '');
  const { hostname } = base;
  const host = hostname.replace(/^\[|\]$/g, '');
  const port = Number(base.port || (secure ? 443 : 80));

  const send = (call: Call): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const fail = (error: Error): void => reject(new NoAnswer(reasonOf(error)));
      const request = (secure ? https : http).request(
        {
          agent,
          host,
          port,
          method: call.method,
          path: prefix + call.path,
          headers: {
            ...call.headers,
            ...(call.body === undefined ? {} : { 'content-length': Buffer.byteLength(call.body) }),
          },
        },
        (response) => {
          const chunks: Buffer[] = [];
          let size = 0;
          response.on('data', (chunk: Buffer) => {
            size += chunk.length;
            if (size > ANSWER_LIMIT) request.destroy(new Error('the answer is larger than 1 MiB'));
            else chunks.push(chunk);
          });
          response.on('error', fail);
          response.on('end', () => {
            clearTimeout(timer);
            resolve(toAnswer(response.statusCode ?? 0, response.rawHeaders, Buffer.concat(chunks)));
          });
        },
      );
      const timer = setTimeout(
        () => request.destroy(new Error(`no answer within ${patienceMs / 1000} s`)),
        patienceMs,
      );
      request.on('error', (error) => {
        clearTimeout(timer);
        fail(error);
      });
      request.end(call.body);
    });

  const sendRaw = (bytes: string): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const socket = secure
        ? tls.connect({ host, port, ...(net.isIP(host) === 0 ? { servername: host } : {}) })
        : net.connect(port, host);
      const chunks: Buffer[] = [];
      let reason = 'the connection was closed without an answer';
      const timer = setTimeout(() => {
        reason = `no whole answer within ${patienceMs / 1000} s`;
        socket.destroy();
      }, patienceMs);
      socket.on(secure ? 'secureConnect' : 'connect', () => socket.write(bytes));
      socket.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        if (isWhole(parseAnswer(Buffer.concat(chunks)))) socket.destroy();
      });
      socket.on('end', () => socket.end());
      // A gateway that answered and then resets has answered.
      socket.on('error', (error) => (reason = reasonOf(error)));
      socket.on('close', () => {
        clearTimeout(timer);
        const answer = parseAnswer(Buffer.concat(chunks));
        if (answer === undefined) reject(new NoAnswer(reason));
        else resolve(answer);
      });
    });

  return { send, sendRaw, close: () => agent.destroy() };
}

/** Whether a body of a told length is all there; one of unknown length ends with the connection. */
function isWhole(answer: Answer | undefined): boolean {
  const length = answer?.headers.get('content-length')?.[0];
  return (
    answer !== undefined && length !== undefined && Buffer.byteLength(answer.text) >= Number(length)
  );
}

/** Reads one HTTP/1.1 answer, as far as it has come, whose body ends with its length or with the connection. */
function parseAnswer(bytes: Buffer): Answer | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, Math.max(end, 0)).split('\r\n');
  const status = /^HTTP\/1\.[01] (\d{3})\b/.exec(statusLine)?.[1];
  if (end < 0 || status === undefined) return undefined;
  const raw = lines.flatMap((line) => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon), line.slice(colon + 1).trim()];
  });
  return toAnswer(Number(status), raw, bytes.subarray(end + 4));
}

function toAnswer(status: number, rawHeaders: readonly string[], bytes: Buffer): Answer {
  const headers = new Map<string, string[]>();
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] ?? '').toLowerCase();
    headers.set(name, [...(headers.get(name) ?? []), rawHeaders[i + 1] ?? '']);
  }
  const text = bytes.toString('utf8');
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    // What is no JSON stays undefined, and is judged as such.
  }
  return { status, headers, text, body };
}

function reasonOf(error: NodeJS.ErrnoException): string {
  // Node's own messages of a failed connection name the address, which the report names already.
  return error.code === undefined ? error.message : `the connection failed (${error.code})`;
}
