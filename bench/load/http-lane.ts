import { connect, type Socket } from 'node:net';

/** Bytes of one read at most: more than any answer of these servers. */
const READ_BYTES = 16 * 1024;

/** One kept-alive HTTP/1.1 connection, one request at a time. */
export class HttpLane {
  readonly #port: number;
  #socket: Socket | undefined;
  #received: Buffer | undefined;
  #settle: ((status: number) => void) | undefined;

  constructor(port: number) {
    this.#port = port;
  }

  /** Answers 503 that did not say when to come back: each is a broken promise. */
  withoutRetryAfter = 0;

  /** Opens the connection. @throws the socket's error */
  async open(): Promise<void> {
    // One buffer for all reads: a stream would allocate for each, and the load shares the machine with what it measures.
    const buffer = Buffer.allocUnsafe(READ_BYTES);
    const socket = connect({
      port: this.#port,
      host: '127.0.0.1',
      noDelay: true,
      onread: {
        buffer,
        callback: (count) => {
          this.#receive(buffer.subarray(0, count));
          return true;
        },
      },
    });
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      if (this.#socket === socket) this.#socket = undefined;
      this.#received = undefined;
      this.#finish(0);
    });
    this.#socket = socket;
  }

  /** Sends one whole request; resolves with the status of its answer, 0 where the connection broke. */
  async send(request: Buffer): Promise<number> {
    if (this.#socket === undefined) {
      try {
        await this.open();
      } catch {
        return 0;
      }
    }
    return new Promise((resolve) => {
      this.#settle = resolve;
      this.#socket?.write(request);
    });
  }

  close(): void {
    this.#socket?.destroy();
  }

  #finish(status: number): void {
    const settle = this.#settle;
    this.#settle = undefined;
    settle?.(status);
  }

  /** Only as much HTTP as the answers of these servers need: every one has a Content-Length. */
  #receive(chunk: Buffer): void {
    const data = this.#received === undefined ? chunk : Buffer.concat([this.#received, chunk]);
    this.#received = undefined;
    const headEnd = data.indexOf('\r\n\r\n');
    if (headEnd === -1) {
      // The chunk is overwritten by the next read.
      this.#received = Buffer.from(data);
      return;
    }
    const head = data.toString('latin1', 0, headEnd).toLowerCase();
    const length = valueOf(head, 'content-length');
    if (length === undefined) {
      this.#socket?.destroy();
      return;
    }
    if (data.length < headEnd + 4 + Number(length)) {
      this.#received = Buffer.from(data);
      return;
    }
    const status = Number(head.slice(9, 12));
    if (status === 503 && valueOf(head, 'retry-after') === undefined) this.withoutRetryAfter += 1;
    if (valueOf(head, 'connection') === 'close') {
      const socket = this.#socket;
      this.#socket = undefined;
      socket?.destroy();
    }
    this.#finish(status);
  }
}

/** A field's value in a head of lower-case letters. */
function valueOf(head: string, name: string): string | undefined {
  const at = head.indexOf(`\r\n${name}:`);
  if (at === -1) return undefined;
  const from = at + name.length + 3;
  const end = head.indexOf('\r\n', from);
  return head.slice(from, end === -1 ? undefined : end).trim();
}
