import { ERRORS, type ErrorCode } from '../contract/errors.ts';
import type { MediaType, Response } from './document-types.ts';
import { errorExample, EXAMPLES, type ExampleName } from './examples.ts';
import { responseHeaders, type HeaderName } from './headers.ts';

/** One way an operation succeeds. */
export interface Success {
  readonly status: 200 | 202;
  readonly schema: ExampleName;
  readonly description: string;
  readonly headers?: readonly HeaderName[];
}

/** One way an operation refuses, in the words of that operation. */
export interface RefusalCase {
  readonly code: ErrorCode;
  readonly when: string;
  /** Shown in the example; made-up problems of the operation's own fields. */
  readonly details?: readonly string[];
}

const COUNTED: readonly HeaderName[] = ['RateLimit', 'RateLimitPolicy'];
const MAYBE_COUNTED: readonly HeaderName[] = ['RateLimitWhenCounted', 'RateLimitPolicyWhenCounted'];

/** Headers of a refusal beside x-request-id: the rate limit stands between authentication and everything else. */
const REFUSAL_HEADERS: Record<number, readonly HeaderName[]> = {
  400: MAYBE_COUNTED,
  401: [],
  403: COUNTED,
  404: COUNTED,
  408: MAYBE_COUNTED,
  409: COUNTED,
  417: [],
  429: ['RetryAfter', ...MAYBE_COUNTED],
  431: [],
  500: MAYBE_COUNTED,
  503: ['RetryAfter', ...MAYBE_COUNTED],
};

/** What every operation may answer, whatever it does. */
const EVERYWHERE: readonly RefusalCase[] = [
  {
    code: 'UNAUTHORIZED',
    when: 'The API key is missing, unknown, expired or revoked, belongs to the other environment, or its Site is not active.',
  },
  { code: 'REQUEST_TIMEOUT', when: 'The request did not arrive in time.' },
  {
    code: 'EXPECTATION_FAILED',
    when: 'The Expect header asks for something other than 100-continue.',
  },
  { code: 'RATE_LIMITED', when: 'More requests than the rate limit admits; nothing was done.' },
  { code: 'HEADERS_TOO_LARGE', when: 'The request headers are larger than 16 KiB together.' },
  {
    code: 'INTERNAL_ERROR',
    when: 'Something unforeseen; whether the call took effect is not known.',
  },
];

/** Builds the `responses` of an operation, by status; the cases of one status are joined. */
export function buildResponses(
  successes: readonly Success[],
  refusals: readonly RefusalCase[],
): Record<string, Response> {
  const byStatus = new Map<number, Response>();
  for (const success of successes) byStatus.set(success.status, successResponse(success));
  const cases = Map.groupBy([...refusals, ...EVERYWHERE], ({ code }) => ERRORS[code].status);
  for (const [status, group] of cases) byStatus.set(status, refusalResponse(status, group));
  const ascending = [...byStatus].sort(([a], [b]) => a - b);
  return Object.fromEntries(ascending.map(([status, response]) => [String(status), response]));
}

function successResponse({ schema, description, headers = [] }: Success): Response {
  return {
    description,
    headers: responseHeaders([...headers, ...COUNTED]),
    content: json({
      schema: { $ref: `#/components/schemas/${schema}` },
      examples: EXAMPLES[schema],
    }),
  };
}

function refusalResponse(status: number, cases: readonly RefusalCase[]): Response {
  const headers = REFUSAL_HEADERS[status];
  if (headers === undefined) throw new Error(`status ${status} has no headers in responses.ts`);
  return {
    description: cases.map(({ code, when }) => `\`${code}\`: ${when}`).join('\n\n'),
    headers: responseHeaders(headers),
    content: json({
      schema: { $ref: '#/components/schemas/ErrorResponse' },
      examples: Object.fromEntries(
        cases.map(({ code, details }) => [code, errorExample(code, details)]),
      ),
    }),
  };
}

const json = (body: MediaType): Record<string, MediaType> => ({ 'application/json': body });
