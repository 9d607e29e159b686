import pino, { type Logger } from 'pino';
import { attemptErrorOf } from '../jobs/attempt-error.ts';
import type { AttemptError } from '../ledger/failed-attempts.ts';

/**
 * JSON lines on standard output, written in batches so that no request waits for the disk. Lines hold route templates,
 * codes and classes only: no key, secret, payload, URL or text of an unforeseen error.
 */
export function createLog(level: string): Logger {
  const destination = pino.destination({
    dest: 1,
    sync: false,
    minLength: 8_192,
    periodicFlush: 200,
  });
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination);
}

/** Logs what nobody foresaw by its class and place in our code. Its text may quote SQL, rows or the payload. */
export function logFault(log: Logger, place: string, error: unknown): void {
  logFaultOf(log, place, attemptErrorOf(error));
}

/** Logs a fault of which only class and place are known. */
export function logFaultOf(log: Logger, place: string, error: AttemptError): void {
  log.error({ place, error: error.errorClass, at: error.errorPlace }, 'fault');
}
