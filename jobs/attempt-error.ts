import type { AttemptError } from '../ledger/failed-attempts.ts';

/** A frame of our own code in a stack: `risk/evaluate.ts:41`. */
const OUR_FRAME = /[/\\]((?:contract|entities|jobs|ledger|risk)[/\\][\w./\\-]+\.ts:\d+)/;

/**
 * What may be kept of an error: its class and the first place of ours in its stack. Its text stays out, because it may
 * quote the payload or a row.
 */
export function attemptErrorOf(error: unknown): AttemptError {
  if (!(error instanceof Error)) return { errorClass: 'UnknownError', errorPlace: 'unknown' };
  const code = 'code' in error && typeof error.code === 'string' ? `:${error.code}` : '';
  const place = OUR_FRAME.exec(error.stack?.slice(error.message.length) ?? '')?.[1];
  return {
    errorClass: `${error.name.slice(0, 60)}${/^[\w:]{0,20}$/.test(code) ? code : ''}`,
    errorPlace: place?.replaceAll('\\', '/') ?? 'unknown',
  };
}
