/** One validated event on its way into the ledger. Times in ms since 1970 UTC. */
export interface Submission {
  readonly siteId: bigint;
  readonly credentialId: bigint;
  /** First 16 bytes of the SHA-256 of the Idempotency-Key, as a UUID. */
  readonly keyHash: string;
  /** SHA-256 of the canonical body, as hex. */
  readonly payloadHash: string;
  /** Normalized: the tid where one was sent. */
  readonly sourceEventId: string;
  /** What the tid replaced, where it did. */
  readonly callerEventId: string | null;
  readonly originalEventId: string | null;
  readonly receivedAt: number;
  readonly occurredAt: number;
  readonly eventType: string;
  readonly transactionType: string;
  readonly transactionStatus: string;
  readonly amountMinor: number;
  readonly currency: string;
  readonly merchantSubject: string;
  /** Canonical JSON of the whole body. */
  readonly body: string;
}

/** What an accepted event is answered with; a replay gets the first acceptance's values. */
export interface Acceptance {
  readonly ingestionId: bigint;
  readonly sourceEventId: string;
  readonly receivedAt: number;
  readonly replayed: boolean;
}

/** Version of the canonical form and hash; raised if either ever changes. */
export const HASH_VERSION = 1;
