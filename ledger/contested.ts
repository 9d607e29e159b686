/** SQLSTATE with which a statement of a group refuses it: something is taken already, so that it must be looked at. */
export const CONTESTED = 'TRK01';

/** SQLSTATE of ledger rows whose jobs are not all there: a fault of ours. */
export const JOBS_MISSING = 'TRK02';

const UNIQUE_VIOLATION = '23505';

/**
 * True where a group met a key, an event, a quota or a rate limit that is taken: everything rolls back, and the next
 * attempt looks what is stored.
 */
export function isContested(error: unknown): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    (error.code === CONTESTED || error.code === UNIQUE_VIOLATION)
  );
}
