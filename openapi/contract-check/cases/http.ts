import { randomUUID } from 'node:crypto';
import { casesOf, type Bench, type Case } from './case.ts';

/** What the HTTP parser refuses carries the error body and a request id, too. Each case has a connection of its own. */
export function httpCases({ probe, sandbox, host, prefix }: Bench): Case[] {
  const usage = `GET ${prefix}/v1/usage HTTP/1.1\r\nHost: ${host}\r\n`;
  const post = `POST ${prefix}/v1/transactions HTTP/1.1\r\nHost: ${host}\r\n`;
  const invalid = { status: 400, code: 'CONTRACT_VALIDATION_FAILED' } as const;
  const make = (name: string, operation: string, bytes: string, status: number, code: string) =>
    casesOf('http', operation)(name, async () => {
      await probe.raw(operation, bytes, sandbox, { status, code });
    });
  const bad = (name: string, bytes: string, operation = 'submitTransaction'): Case =>
    make(name, operation, bytes, invalid.status, invalid.code);
  return [
    bad('what is no HTTP is refused', 'hello\r\n\r\n', 'no request'),
    bad(
      'a request without Host is refused',
      `GET ${prefix}/v1/usage HTTP/1.1\r\nConnection: close\r\n\r\n`,
      'getApiUsage',
    ),
    bad('a header without a colon is refused', `${usage}x-api-key\r\n\r\n`, 'getApiUsage'),
    bad(
      'a blank before the colon of a header is refused',
      `${usage}x-api-key : x\r\n\r\n`,
      'getApiUsage',
    ),
    bad('two lengths are refused', `${post}Content-Length: 4\r\nContent-Length: 5\r\n\r\n{}xxx`),
    bad(
      'Content-Length beside Transfer-Encoding is refused',
      `${post}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ),
    make(
      'headers of more than 16 KiB are refused',
      'getApiUsage',
      `${usage}X-Long: ${'x'.repeat(20_000)}\r\n\r\n`,
      431,
      'HEADERS_TOO_LARGE',
    ),
    make(
      'an expectation nobody knows is refused',
      'submitTransaction',
      `${post}Expect: contract-check\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`,
      417,
      'EXPECTATION_FAILED',
    ),
    make(
      'a body that does not come is given up',
      'submitTransaction',
      `${post}x-api-key: ${sandbox.key}\r\nContent-Type: application/json\r\nIdempotency-Key: ${randomUUID()}\r\nContent-Length: 100\r\n\r\n{`,
      408,
      'REQUEST_TIMEOUT',
    ),
  ];
}
