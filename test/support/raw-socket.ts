import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer } from './merchant.ts';

/** A TCP connection on which a test says what it likes. */
export interface RawSocket {
  readonly socket: Socket;
  send(bytes: string | Buffer): void;
  /** Sends FIN; the other direction stays open. */
  finish(): void;
  /**
   * Every answer until the service closes the connection, until there are `count`, or until `milliseconds` have passed.
   * Answers `100 Continue` are counted, too.
   */
  answers(options?: {
    count?: number;
    milliseconds?: number;
    withoutBodies?: boolean;
  }): Promise<Answer[]>;
  /** True once the service has closed the connection; waits for it. */
  closed(milliseconds?: number): Promise<boolean>;
  /** Ends the connection without a word. */
  destroy(): void;
}

/** Opens a connection. */
export function openSocket(port: number): RawSocket {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  let received = Buffer.alloc(0);
  let ended = false;
  socket.on('data', (chunk) => {
    received = Buffer.concat([received, chunk]);
  });
  socket.on('error', () => undefined);
  socket.on('end', () => {
    ended = true;
    socket.end();
  });
  socket.on('close', () => {
    ended = true;
  });
  const until = async (isTrue: () => boolean, milliseconds: number): Promise<boolean> => {
    const deadline = performance.now() + milliseconds;
    while (!isTrue()) {
      if (performance.now() > deadline) return false;
      await sleep(5);
    }
    return true;
  };
  return {
    socket,
    send: (bytes) => void socket.write(bytes),
    finish: () => void socket.end(),
    async answers({ count = Infinity, milliseconds = 5_000, withoutBodies = false } = {}) {
      const parse = (): Answer[] => parseAnswers(received, withoutBodies);
      await until(() => ended || parse().length >= count, milliseconds);
      return parse();
    },
    closed: (milliseconds = 5_000) => until(() => ended, milliseconds),
    destroy: () => void socket.destroy(),
  };
}

/** Sends one text on a connection of its own and returns all that comes back until the service closes it. */
export async function say(
  port: number,
  bytes: string | Buffer,
  options: Parameters<RawSocket['answers']>[0] = {},
): Promise<Answer[]> {
  const socket = openSocket(port);
  socket.send(bytes);
  const answers = await socket.answers(options);
  socket.destroy();
  return answers;
}

/** The complete answers in what was received. @throws Error where it is not HTTP/1.1 with a length */
function parseAnswers(received: Buffer, withoutBodies: boolean): Answer[] {
  const answers: Answer[] = [];
  for (let at = 0; at < received.length;) {
    const end = received.indexOf('\r\n\r\n', at);
    if (end === -1) break;
    const [line = '', ...fields] = received.toString('latin1', at, end).split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(line)?.[1]);
    if (Number.isNaN(status)) throw new Error(`not an answer: ${line.slice(0, 80)}`);
    const headers = new Headers();
    for (const field of fields) {
      const colon = field.indexOf(':');
      headers.append(field.slice(0, colon), field.slice(colon + 1).trim());
    }
    const length = status < 200 || withoutBodies ? 0 : Number(headers.get('content-length'));
    const body = received.subarray(end + 4, end + 4 + length);
    if (body.length < length) break;
    answers.push({
      status,
      headers,
      body: length === 0 ? undefined : (JSON.parse(body.toString()) as unknown),
    });
    at = end + 4 + length;
  }
  return answers;
}
