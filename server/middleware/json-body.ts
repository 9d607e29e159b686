import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type Koa from 'koa';
import { Refusal } from '../../contract/errors.ts';
import { unavailable } from '../../ledger/ingest-queue.ts';
import { timesSent } from './request-line.ts';

/** Bytes of a request body at most. */
export const BODY_LIMIT = 256 * 1024;

/** What is read and thrown away past the limit, so that the caller gets to read the refusal, bytes. */
const DISCARD_LIMIT = 4 * 1024 * 1024;

/**
 * Bytes of all bodies being received at once. A body's declared length is reserved before its first byte is kept: were
 * bodies refused half-way, a flood of large ones would fill the memory and none would get through.
 */
const IN_FLIGHT_LIMIT = 32 * 1024 * 1024;

/** How a body reader is set up. */
export interface BodyReaderOptions {
  /** Milliseconds without a byte after which a sender is given up. */
  readonly idleMs: number;
  /** True while nothing more can be taken in: a body is then refused before it is read, parsed and checked. */
  readonly isFull: () => boolean;
}

/** Reads JSON bodies within bounds of size, time and memory. */
export class BodyReader {
  readonly #options: BodyReaderOptions;
  #inFlight = 0;

  constructor(options: BodyReaderOptions) {
    this.#options = options;
  }

  /** Bytes set aside for the bodies that are being received. */
  get inFlightBytes(): number {
    return this.#inFlight;
  }

  /**
   * The parsed body of a request.
   *
   * @throws Refusal CONTRACT_VALIDATION_FAILED: not application/json, compressed, too large, not UTF-8, not JSON;
   *   REQUEST_TIMEOUT: the sender paused too long; INGESTION_UNAVAILABLE: too many bodies at once
   */
  async read(ctx: Koa.ParameterizedContext): Promise<unknown> {
    refuseMediaType(ctx.get('content-type'), ctx.get('content-encoding'));
    if (timesSent(ctx.req.rawHeaders, 'content-type') > 1) {
      // Which one the sender meant nobody can know.
      throw new Refusal('CONTRACT_VALIDATION_FAILED', {
        details: ['Content-Type: must be sent once'],
      });
    }
    const reserved = reservationOf(ctx.req.headers['content-length']);
    if (this.#options.isFull() || this.#inFlight + reserved > IN_FLIGHT_LIMIT) {
      // Answered now; what is still coming is thrown away as it arrives, and the connection stays usable.
      ctx.req.resume();
      throw unavailable();
    }
    let bytes = arrived(ctx.req);
    if (bytes === undefined) {
      this.#inFlight += reserved;
      bytes = await this.#receive(ctx).finally(() => {
        this.#inFlight -= reserved;
      });
    }
    if (!isUtf8(bytes)) throw refusal('is not UTF-8');
    try {
      return JSON.parse(bytes.toString('utf8'));
    } catch {
      throw refusal('is not JSON');
    }
  }

  #receive(ctx: Koa.ParameterizedContext): Promise<Buffer> {
    const request: IncomingMessage = ctx.req;
    return new Promise<Buffer>((resolve, reject) => {
      const chunks: Buffer[] = [];
      let size = 0;
      const finish = (outcome: () => void): void => {
        clearTimeout(idle);
        request.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone);
        outcome();
      };
      const giveUp = (error: Refusal): void =>
        finish(() => {
          // The rest is never read: the connection cannot be used again.
          ctx.set('Connection', 'close');
          request.resume();
          reject(error);
        });
      const idle = setTimeout(() => giveUp(new Refusal('REQUEST_TIMEOUT')), this.#options.idleMs);
      const onData = (chunk: Buffer): void => {
        idle.refresh();
        size += chunk.length;
        if (size > DISCARD_LIMIT) {
          giveUp(refusal(`is larger than ${BODY_LIMIT} bytes`));
        } else if (size > BODY_LIMIT) {
          chunks.length = 0;
        } else {
          chunks.push(chunk);
        }
      };
      const onEnd = (): void =>
        finish(() => {
          if (size > BODY_LIMIT) reject(refusal(`is larger than ${BODY_LIMIT} bytes`));
          else
            resolve(
              chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks),
            );
        });
      const onGone = (): void => finish(() => reject(refusal('is incomplete')));
      request.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone);
    });
  }
}

/** The whole body, where it came with the head: most are one packet, and need neither listeners nor a timer. */
function arrived(request: IncomingMessage): Buffer | undefined {
  const length = Number(request.headers['content-length']);
  const isThere = length > 0 && length <= BODY_LIMIT && request.readableLength === length;
  return isThere ? ((request.read(length) as Buffer | null) ?? undefined) : undefined;
}

/** Bytes to set aside for a body: what it declares, or the most it may have. */
function reservationOf(contentLength: string | undefined): number {
  const declared = Number(contentLength ?? BODY_LIMIT);
  return Math.min(declared, BODY_LIMIT);
}

function refuseMediaType(contentType: string, contentEncoding: string): void {
  const [type = '', ...parameters] = contentType
    .split(';')
    .map((part) => part.trim().toLowerCase());
  const charset = parameters.find((parameter) => parameter.startsWith('charset='));
  if (type !== 'application/json') {
    throw new Refusal('CONTRACT_VALIDATION_FAILED', {
      details: ['Content-Type: must be application/json'],
    });
  }
  if (charset !== undefined && !/^charset="?utf-8"?$/.test(charset)) {
    throw new Refusal('CONTRACT_VALIDATION_FAILED', {
      details: ['Content-Type: charset must be utf-8'],
    });
  }
  if (contentEncoding !== '' && contentEncoding.toLowerCase() !== 'identity') {
    throw new Refusal('CONTRACT_VALIDATION_FAILED', {
      details: ['Content-Encoding: must be left out'],
    });
  }
}

const refusal = (problem: string): Refusal =>
  new Refusal('CONTRACT_VALIDATION_FAILED', { details: [`body: ${problem}`] });
