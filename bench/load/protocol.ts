import type { Latencies } from '../statistics.ts';

/** A credential of the load, with the Site it belongs to. */
export interface LoadCredential {
  readonly apiKey: string;
  readonly siteId: string;
  readonly credentialId: string;
}

/**
 * Which writes one transaction of the database reference does, and how. `plain`: ledger row, usage, job between BEGIN and
 * COMMIT, a round trip each. `full`: with idempotency key and payload. `single`: the three as one statement.
 */
export type ReferenceWrites = 'plain' | 'full' | 'single';

/** Where the load goes. */
export type Target =
  | { readonly kind: 'http'; readonly port: number }
  | { readonly kind: 'postgres'; readonly url: string; readonly writes: ReferenceWrites };

/** What is sent. */
export type Traffic =
  /** New events, numbered from `first`. */
  | {
      readonly kind: 'ingest';
      readonly first: number;
      readonly timeBase?: number;
      readonly padToBytes?: number;
      readonly scatteredIds?: boolean;
    }
  /** Events 0..count-1 again and again, exactly as they were sent with the same `timeBase`. */
  | { readonly kind: 'replays'; readonly count: number; readonly timeBase: number }
  /** Look-ups of these ingestions, each by the credential with that position. */
  | {
      readonly kind: 'status';
      readonly ingestions: readonly (readonly [credential: number, id: string])[];
    };

/** How fast it is sent. */
export type Pace =
  /** Each connection sends its next request when the last one is answered. */
  | { readonly kind: 'closed'; readonly connections: number }
  /** At fixed moments, whatever the answers do; latency counts from the moment a request was due. */
  | { readonly kind: 'open'; readonly connections: number; readonly perSecond: number };

/** One order to a load process. */
export interface LoadOrder {
  readonly target: Target;
  readonly traffic: Traffic;
  readonly pace: Pace;
  readonly credentials: readonly LoadCredential[];
  readonly sites: number;
  readonly seed: number;
  readonly warmUpSeconds: number;
  readonly seconds: number;
}

/** What a load process saw in its measured phase. */
export interface LoadResult {
  readonly seconds: number;
  /** Answered 200 or 202, or committed. */
  readonly accepted: number;
  readonly perSecond: number;
  /** Of the accepted ones. */
  readonly latencies: Latencies;
  /** Of refusals with 503. */
  readonly refusalLatencies: Latencies;
  /** How late requests at a fixed pace were sent by the load itself; contained in their latencies. */
  readonly sentLate: Latencies;
  /** Refusals with 503 that named no time to come back, warm-up included. */
  readonly withoutRetryAfter: number;
  /** Answers by status; 0 counts broken connections. */
  readonly statuses: Readonly<Record<string, number>>;
  /** CPU seconds of the load process per second: 1 is one core. */
  readonly cpuShare: number;
  /** Requests that were due at a fixed pace and not sent when the phase ended. */
  readonly unsent: number;
  /** The next unused event number. */
  readonly next: number;
}

/** What a load process tells its parent. */
export type LoadMessage =
  | { readonly event: 'ready' }
  | { readonly event: 'measuring' }
  | { readonly event: 'measured' }
  | { readonly event: 'result'; readonly result: LoadResult }
  | { readonly event: 'failed'; readonly message: string };

/** What a parent tells its load process: what to do, then perhaps that it is enough. */
export type ParentMessage = { readonly order: LoadOrder } | { readonly enough: true };
