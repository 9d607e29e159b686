import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { ErrorCode } from '../../contract/errors.ts';
import { expectError } from './bodies.ts';
import { keysOf } from './keys.ts';
import { eventOf, type Answer } from './merchant.ts';
import { say } from './raw-socket.ts';
import { runService, type RunningService } from './running-service.ts';

/** Time limits short enough to wait for. */
const TIMES = { headersMs: 600, requestMs: 2_000, bodyIdleMs: 400, keepAliveMs: 800 };

/** A service with short time limits, and requests for it as text. */
export interface RawBench {
  readonly service: () => RunningService;
  /** Says something and expects one answer, the contract's error body, and then the end of the connection. */
  readonly expectLast: (
    bytes: string | Buffer,
    code: ErrorCode,
    details?: readonly string[],
  ) => Promise<Answer>;
  /** A whole request to submit an event. */
  readonly submission: (event?: unknown, fields?: readonly string[]) => Promise<string>;
  /** The same up to its body. */
  readonly submissionHead: (fields: readonly string[]) => Promise<string>;
  readonly get: (path: string, fields?: readonly string[]) => Promise<string>;
}

/** Sets up a {@link RawBench} around the tests of the `describe` that calls it; after each the service must be well. */
export function rawBench(): RawBench {
  let service: RunningService | undefined;
  let nextKey = (): Promise<string> => Promise.reject(new Error('rawBench() is not set up yet'));
  const running = (): RunningService => {
    if (service === undefined) throw new Error('rawBench() is not set up yet');
    return service;
  };

  before(async () => {
    service = await runService({ times: TIMES });
    nextKey = keysOf(await service.createSite());
  });

  after(() => service?.stop());

  afterEach('the next connection is answered normally', async () => {
    expect((await fetch(`${running().url}/healthz`)).status).to.equal(200);
  });

  const submissionHead = async (fields: readonly string[]): Promise<string> =>
    [
      'POST /v1/transactions HTTP/1.1',
      'Host: localhost',
      'Content-Type: application/json',
      `X-Api-Key: ${await nextKey()}`,
      `Idempotency-Key: ${randomUUID()}`,
      ...fields,
      '\r\n',
    ].join('\r\n');
  return {
    service: running,
    submissionHead,
    async submission(event = eventOf(), fields = []) {
      const body = JSON.stringify(event);
      return (
        (await submissionHead([`Content-Length: ${Buffer.byteLength(body)}`, ...fields])) + body
      );
    },
    async get(path, fields = []) {
      const key = `X-Api-Key: ${await nextKey()}`;
      return [`GET ${path} HTTP/1.1`, 'Host: localhost', key, ...fields, '\r\n'].join('\r\n');
    },
    async expectLast(bytes, code, details) {
      const answers = await say(running().port, bytes);
      expect(answers.map(({ status }) => status)).to.have.length(1);
      const [answer] = answers as [Answer];
      expectError(answer, code, details);
      expect(answer.headers.get('connection')).to.equal('close');
      return answer;
    },
  };
}
