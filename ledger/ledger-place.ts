/**
 * A place in the ledger of a Site in the order of acceptance, for reading page by page. An index has this order; by id
 * alone the database would sort all that is left of a period for every page.
 */
export interface LedgerPlace {
  /** Text of a timestamptz, to the microsecond. */
  readonly receivedAt: string;
  readonly id: bigint;
}

/** The place before everything that was accepted at or after an instant, ms since 1970 UTC. */
export function placeBefore(instant: number): LedgerPlace {
  return { receivedAt: new Date(instant).toISOString(), id: -1n };
}
