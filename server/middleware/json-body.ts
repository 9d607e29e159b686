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

/** Bytes of all bodies being received at once; past it new ones are refused. */
const IN_FLIGHT_LIMIT = 64 * 1024 * 1024;

/** How a body reader is set up. */
export interface BodyReaderOptions {
  /** Milliseconds without a byte after which a sender is given up. */
  readonly idleMs: number;
}

/** Reads JSON bodies within bounds of size, time and memory. */
export class BodyReader {
  readonly #options: BodyReaderOptions;
  #inFlight = 0;

  constructor(options: BodyReaderOptions) {
    this.#options = options;
  }

  /** Bytes of bodies received and not yet parsed. */
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
    const bytes = await this.#receive(ctx);
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
      let held = 0;
      const finish = (outcome: () => void): void => {
        clearTimeout(idle);
        request.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone);
        this.#inFlight -= held;
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
        } else if (this.#inFlight + chunk.length > IN_FLIGHT_LIMIT) {
          giveUp(unavailable());
        } else {
          held += chunk.length;
          this.#inFlight += chunk.length;
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
