/** One place where the gateway does something else than the description says. Holds no value of any payload. */
export interface Deviation {
  /** What was looked at: `status`, `error.code`, `header x-request-id`, `body risk.score`, `connection` … */
  readonly aspect: string;
  readonly expected: string;
  readonly came: string;
}

/** How one case ended. `skipped`: a case before it failed, and that failure is reported there. */
export interface CaseResult {
  readonly group: string;
  /** Operation of the description, or method and path where the description has none. */
  readonly operation: string;
  readonly name: string;
  readonly outcome: 'agrees' | 'deviates' | 'skipped';
  readonly milliseconds: number;
  readonly deviations: readonly Deviation[];
}

/** One documented answer: operation, status and, for refusals, the code. */
export interface Coverage {
  readonly operation: string;
  readonly status: number;
  readonly code?: string;
}

/** Everything a report is made of. */
export interface CheckReport {
  readonly baseUrl: string;
  readonly startedAt: string;
  readonly seconds: number;
  readonly requests: number;
  /** The part of the sandbox key that is no secret: it tells which credential was used. */
  readonly sandboxKeyId: string | null;
  readonly cases: readonly CaseResult[];
  /** Documented answers that no case met; most cannot be brought about from outside. */
  readonly notSeen: readonly Coverage[];
  /** True when the gateway stopped answering and the rest was not checked. */
  readonly lost: boolean;
}

/** An answer as it came over the wire. */
export interface Answer {
  readonly status: number;
  /** By lower-case name, each value as sent. */
  readonly headers: ReadonlyMap<string, readonly string[]>;
  readonly text: string;
  /** The parsed body; undefined when it is empty or no JSON. */
  readonly body: unknown;
}

/** What is sent. */
export interface Call {
  readonly method: string;
  /** Path from the base address on, percent-encoded. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** The gateway gave no answer: refused, reset, timed out. */
export class NoAnswer extends Error {}
