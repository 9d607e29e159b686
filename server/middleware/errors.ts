import type Koa from 'koa';
import { ERRORS, Refusal, type ErrorCode } from '../../contract/errors.ts';
import { failureKind } from '../../ledger/failures.ts';
import { unavailable } from '../../ledger/ingest-queue.ts';

/** The error body of the contract, section 2.12. */
export interface ErrorBody {
  readonly request_id: string;
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly details?: readonly string[];
  };
}

/** Builds the error body of a code. */
export function errorBody(
  requestId: string,
  code: ErrorCode,
  details?: readonly string[],
): ErrorBody {
  const { message } = ERRORS[code];
  return {
    request_id: requestId,
    error: details === undefined ? { code, message } : { code, message, details },
  };
}

/**
 * Outermost: every failure leaves as the contract's error body. A lost database is 503; what nobody foresaw is a bland
 * 500 and is handed to `onFault`, because its text may hold SQL or values.
 */
export function answerErrors(onFault: (error: unknown) => void): Koa.Middleware {
  return async (ctx, next) => {
    try {
      await next();
      if (ctx.status === 404 && ctx.body === undefined) throw new Refusal('NOT_FOUND');
    } catch (error: unknown) {
      const refusal = toRefusal(error);
      if (refusal.code === 'INTERNAL_ERROR') onFault(refusal.cause ?? error);
      ctx.status = refusal.status;
      ctx.body = errorBody(String(ctx.state['requestId']), refusal.code, refusal.details);
      if (refusal.retryAfterSeconds !== undefined) {
        ctx.set('Retry-After', String(refusal.retryAfterSeconds));
      }
      if (refusal.allow !== undefined) ctx.set('Allow', refusal.allow.join(', '));
      ctx.state['errorCode'] = refusal.code;
    }
  };
}

function toRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  const kind = failureKind(error);
  if (kind === 'unavailable' || kind === 'retryable') return unavailable(error);
  return new Refusal('INTERNAL_ERROR', { cause: error });
}
