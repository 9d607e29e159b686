/** What a database error means for the caller's statement. */
export type FailureKind = 'retryable' | 'unavailable' | 'refused-data' | 'unforeseen';

/** Network errors of Node's sockets, seen while the server is away. */
const NETWORK = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT',
]);

/** The driver's own errors carry no code; these are its texts for a lost or unobtainable connection. */
const DRIVER_TEXTS = [
  'Connection terminated',
  'timeout exceeded when trying to connect',
  'timeout expired',
  'Client has encountered a connection error',
  'Cannot use a pool after calling end',
  'Driver has been destroyed',
  'driver has already been destroyed',
];

/**
 * Sorts an error of the database or its driver.
 *
 * - `retryable`: deadlock or serialization failure; the same transaction may succeed at once.
 * - `unavailable`: no connection, shutting down, out of resources, read-only or timed out; nothing is wrong with the data.
 * - `refused-data`: class 22, a value the database cannot hold.
 * - `unforeseen`: anything else, a fault of ours.
 *
 * Wrapped errors (MikroORM, pg-boss) are followed through `cause`.
 */
export function failureKind(error: unknown): FailureKind {
  for (let current: unknown = error, depth = 0; current instanceof Error && depth < 5; depth += 1) {
    const code = 'code' in current && typeof current.code === 'string' ? current.code : '';
    if (code === '40P01' || code === '40001') return 'retryable';
    if (/^(08|53|57P0|58)/.test(code) || code === '57014' || code === '55P03' || code === '25006') {
      return 'unavailable';
    }
    // A transaction that waited so long for its client that the server ended it.
    if (code === '25P03') return 'unavailable';
    if (code === '28P01' || code === '28000' || code === '3D000') return 'unavailable';
    if (code.startsWith('22')) return 'refused-data';
    if (NETWORK.has(code)) return 'unavailable';
    const { message } = current;
    if (DRIVER_TEXTS.some((text) => message.includes(text))) return 'unavailable';
    if (current instanceof AggregateError && current.errors.length > 0) {
      return failureKind(current.errors[0]);
    }
    current = current.cause;
  }
  return 'unforeseen';
}
