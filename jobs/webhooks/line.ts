import type { Socket } from 'node:net';
import { buildConnector, Client, type Dispatcher } from 'undici';
import { failureClassOf, type FailureClass } from './failure-class.ts';
import type { AddressGuard } from './guard.ts';

/** Bounds of one attempt. */
export interface AttemptLimits {
  /** From the first packet to the status of the answer, ms. */
  readonly answerMs: number;
  /** From the status on, ms: the body decides nothing, so a slow one does not hold the line for long. */
  readonly bodyMs: number;
  /** Bytes of the body that are read. */
  readonly bodyBytes: number;
}

export const ATTEMPT_LIMITS: AttemptLimits = {
  answerMs: 10_000,
  bodyMs: 1_000,
  bodyBytes: 16_384,
};

/** What an attempt brought. With a status the receiver has answered, whatever became of the rest. */
export interface Answer {
  readonly status: number | undefined;
  /** Where there is no status. */
  readonly failure: FailureClass | undefined;
  readonly durationMs: number;
  /** Dialled last; undefined when nothing was. */
  readonly address: string | undefined;
  readonly retryAfter: string | undefined;
  /** The body's beginning as it came, not decompressed; see {@link AttemptLimits}. */
  readonly body: Buffer;
  readonly encoding: string | undefined;
}

/** Makes connections that the guard has admitted, with TLS verified. `ca`: certificates to trust besides the usual ones. */
export function createConnector(
  guard: AddressGuard,
  limits: AttemptLimits,
  ca?: string,
): buildConnector.connector {
  const dial = buildConnector({
    allowH2: false,
    timeout: limits.answerMs,
    lookup: guard.lookup,
    // Not left to the environment, which can switch it off for the whole process.
    rejectUnauthorized: true,
    ...(ca === undefined ? {} : { ca }),
  }) as (...args: Parameters<buildConnector.connector>) => Socket;
  return (options, callback) => {
    try {
      guard.admitHost(options.protocol, options.hostname);
    } catch (error: unknown) {
      callback(error as Error, null);
      return undefined;
    }
    return dial(options, (...[error, socket]) => {
      if (error !== null) return callback(error, null);
      try {
        guard.admitAddress(socket.remoteAddress ?? '');
        callback(null, socket);
      } catch (refused: unknown) {
        socket.destroy();
        callback(refused as Error, null);
      }
    });
  };
}

/** One connection to one origin, kept open between attempts; one attempt at a time. Never follows a redirect. */
export class Line {
  readonly #client: Client;
  readonly #limits: AttemptLimits;
  #address: string | undefined;
  #answers = 0;
  #broken = false;

  constructor(origin: string, connect: buildConnector.connector, limits = ATTEMPT_LIMITS) {
    this.#limits = limits;
    const open = connect as (...args: Parameters<typeof connect>) => Socket | undefined;
    this.#client = new Client(origin, {
      allowH2: false,
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: 16_384,
      connect: (options: buildConnector.Options, callback: buildConnector.Callback) => {
        this.#address = undefined;
        this.#answers = 0;
        const socket = open(options, callback);
        socket?.on('connectionAttempt', (address: string) => (this.#address = address));
        return socket;
      },
    });
  }

  /** False once an attempt has left the connection in an unknown state; such a line is closed already. */
  get usable(): boolean {
    return !this.#broken;
  }

  /** True when the connection has carried an answer before: it may have been closed by the receiver meanwhile. */
  get reused(): boolean {
    return this.#answers > 0;
  }

  /** Makes one attempt. Never throws. */
  post(path: string, headers: readonly string[], body: Buffer): Promise<Answer> {
    const { promise, resolve } = Promise.withResolvers<Answer>();
    const started = performance.now();
    const limits = this.#limits;
    const chunks: Buffer[] = [];
    let bytes = 0;
    let status: number | undefined;
    let retryAfter: string | undefined;
    let encoding: string | undefined;
    let settled = false;

    const settle = (failure: FailureClass | undefined, broken: boolean): void => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      if (broken) this.close();
      else this.#answers += 1;
      const answer = {
        status,
        failure: status === undefined ? failure : undefined,
        durationMs: Math.round(performance.now() - started),
        address: this.#address,
        retryAfter,
        body: Buffer.concat(chunks),
        encoding,
      };
      resolve(answer);
    };
    let timer = setTimeout(() => settle('TIMEOUT', true), limits.answerMs);
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart: () => undefined,
      onResponseStart(_, code, received) {
        // An interim answer such as 103 is none.
        if (code < 200 || settled) return;
        status = code;
        retryAfter = textOf(received['retry-after']);
        encoding = textOf(received['content-encoding']);
        clearTimeout(timer);
        timer = setTimeout(() => settle(undefined, true), limits.bodyMs);
      },
      onResponseData(_, chunk) {
        if (settled) return;
        chunks.push(chunk.subarray(0, limits.bodyBytes - bytes));
        bytes += chunk.length;
        if (bytes >= limits.bodyBytes) settle(undefined, true);
      },
      onResponseEnd: () => settle(undefined, false),
      onResponseError: (_, error) => settle(failureClassOf(error), true),
    };
    try {
      this.#client.dispatch({ path, method: 'POST', headers: [...headers], body }, handler);
    } catch (error: unknown) {
      settle(failureClassOf(error), true);
    }
    return promise;
  }

  /** Gives up the connection, and with it an attempt under way. */
  close(): void {
    if (this.#broken) return;
    this.#broken = true;
    this.#client.destroy().catch(() => undefined);
  }
}

const textOf = (header: string | string[] | undefined): string | undefined =>
  Array.isArray(header) ? header[0] : header;
