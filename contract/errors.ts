/** What one refusal means: its HTTP status, the sentence a caller reads, and what the caller can do. */
export interface ErrorMeaning {
  readonly status: number;
  readonly message: string;
  readonly advice: string;
}

/**
 * Every refusal of the public interface. REST bodies, typed procedures and the documentation derive from it.
 * Codes come from section 7 of the contract; those it leaves open follow the same style.
 */
export const ERRORS = {
  CONTRACT_VALIDATION_FAILED: {
    status: 400,
    message: 'The request does not satisfy the contract.',
    advice: 'Correct what the details name; do not retry unchanged.',
  },
  UNAUTHORIZED: {
    status: 401,
    message: 'The API key is missing, invalid or inactive.',
    advice: 'Send an active key of this Site in x-api-key; do not retry unchanged.',
  },
  FORBIDDEN: {
    status: 403,
    message: 'The API key lacks the permission for this operation.',
    advice: 'Use a credential that was issued with the permission; do not retry unchanged.',
  },
  TRANSACTION_NOT_FOUND: {
    status: 404,
    message: 'There is no such transaction.',
    advice: 'Use the source_event_id (or the tid, where one was sent) of an accepted event.',
  },
  INGESTION_NOT_FOUND: {
    status: 404,
    message: 'There is no such ingestion.',
    advice: 'Use an ingestion_id that was returned to this Site.',
  },
  NOT_FOUND: {
    status: 404,
    message: 'There is no such resource.',
    advice: 'Check the path against the OpenAPI description.',
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    message: 'This path does not support the method.',
    advice: 'Use a method that the Allow header names.',
  },
  REQUEST_TIMEOUT: {
    status: 408,
    message: 'The request was not received in time.',
    advice: 'Send the whole request without pausing, with the same Idempotency-Key.',
  },
  IDEMPOTENCY_CONFLICT: {
    status: 409,
    message: 'The Idempotency-Key or source_event_id was used with a different payload.',
    advice:
      'Resend only the exact original payload under the same key; use a new key for a new event.',
  },
  EXPECTATION_FAILED: {
    status: 417,
    message: 'The Expect header cannot be met.',
    advice: 'Leave the Expect header out, or send 100-continue.',
  },
  RATE_LIMITED: {
    status: 429,
    message: 'The rate limit is exceeded.',
    advice: 'Wait for the seconds in Retry-After.',
  },
  API_QUOTA_EXCEEDED: {
    status: 429,
    message: 'The monthly quota is used up.',
    advice: 'Wait for the seconds in Retry-After (the next UTC month) or have the contract raised.',
  },
  HEADERS_TOO_LARGE: {
    status: 431,
    message: 'The request headers are too large.',
    advice: 'Send fewer or shorter headers.',
  },
  INTERNAL_ERROR: {
    status: 500,
    message: 'The request could not be completed.',
    advice: 'Retry with the same Idempotency-Key; report the request_id if it persists.',
  },
  INGESTION_UNAVAILABLE: {
    status: 503,
    message: 'The service is temporarily unavailable.',
    advice: 'Wait for the seconds in Retry-After and repeat with the same Idempotency-Key.',
  },
} as const satisfies Record<string, ErrorMeaning>;

/** One of the public error codes. */
export type ErrorCode = keyof typeof ERRORS;

/** What a refusal may carry besides its code. */
export interface RefusalExtras {
  /** `path: what is wrong` lines; never a value that was sent. */
  readonly details?: readonly string[];
  /** Whole seconds (>= 1) after which the same call can succeed. */
  readonly retryAfterSeconds?: number;
  /** Methods the path supports, for METHOD_NOT_ALLOWED. */
  readonly allow?: readonly string[];
  /** The internal reason; logged by its class, never sent. */
  readonly cause?: unknown;
}

/** A request refused on purpose: safe to show, because its text comes from {@link ERRORS}. */
export class Refusal extends Error {
  readonly code: ErrorCode;
  readonly details: readonly string[] | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly allow: readonly string[] | undefined;

  constructor(code: ErrorCode, extras: RefusalExtras = {}) {
    // An answer, not a fault: nobody reads where it was made, and a flood of refusals would pay for each trace.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(ERRORS[code].message, extras.cause === undefined ? undefined : { cause: extras.cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.name = 'Refusal';
    this.code = code;
    this.details = extras.details;
    this.retryAfterSeconds = extras.retryAfterSeconds;
    this.allow = extras.allow;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }
}
