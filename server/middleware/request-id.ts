import { randomUUID } from 'node:crypto';
import type Koa from 'koa';

/** A new request id. A caller's own is ignored, so that ours are unique and hold nothing that was sent. */
export function newRequestId(): string {
  return `req_${randomUUID().replaceAll('-', '')}`;
}

/** Gives every request an id and every response the same one in `x-request-id`. */
export const giveRequestId: Koa.Middleware = (ctx, next) => {
  const requestId = newRequestId();
  ctx.state['requestId'] = requestId;
  ctx.set('x-request-id', requestId);
  return next();
};
