import type Koa from 'koa';
import { Refusal } from '../../contract/errors.ts';

/**
 * Refuses what Node's parser lets pass and HTTP/1.1 does not (RFC 9112, sections 2.3 and 3.2): another version, a Host
 * header that is missing or repeated, a target without a path. Node's own answer to a missing Host has neither body nor
 * request id.
 */
export const requireSoundRequest: Koa.Middleware = (ctx, next) => {
  const { httpVersion, rawHeaders, headers } = ctx.req;
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    throw refusal('request: is not valid HTTP/1.1');
  }
  if (httpVersion === '1.1' && headers.host === undefined) throw refusal('Host: is required');
  if (timesSent(rawHeaders, 'host') > 1) throw refusal('Host: must be sent once');
  // `x://y` has no path at all, which no type says.
  const path = ctx.path as string | null;
  if (path === null || !/^[/*]/.test(path)) throw refusal('path: must begin with /');
  return next();
};

/** How often a header stands in a request; Node keeps only the first of some. @param name in lower case */
export function timesSent(rawHeaders: readonly string[], name: string): number {
  let times = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const sent = rawHeaders[i];
    if (sent?.length === name.length && sent.toLowerCase() === name) times += 1;
  }
  return times;
}

const refusal = (problem: string): Refusal =>
  new Refusal('CONTRACT_VALIDATION_FAILED', { details: [problem] });
