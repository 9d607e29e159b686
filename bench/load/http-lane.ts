import { connect, type Socket } from 'node:net';

/** One kept-alive HTTP/1.1 connection, one request at a time. */
export class HttpLane {
  readonly #port: number;
  #socket: Socket | undefined;
  #received: Buffer | undefined;
  #settle: ((status: number) => void) | undefined;

  constructor(port: number) {
    this.#port = port;
  }

  /** Opens the connection. @throws the socket's error */
  async open(): Promise<void> {
    const socket = connect({ port: this.#port, host: '127.0.0.1', noDelay: true });
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
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
    const headEnd = data.indexOf('\r\n\r\n');
    if (headEnd === -1) {
      this.#received = data;
      return;
    }
    const head = data.toString('latin1', 0, headEnd);
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    if (length === undefined) {
      this.#socket?.destroy();
      return;
    }
    if (data.length < headEnd + 4 + Number(length)) {
      this.#received = data;
      return;
    }
    this.#received = undefined;
    const status = Number(head.slice(9, 12));
    if (/\r\nconnection: *close/i.test(head)) {
      const socket = this.#socket;
      this.#socket = undefined;
      socket?.destroy();
    }
    this.#finish(status);
  }
}
