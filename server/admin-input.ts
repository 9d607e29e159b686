import { TRPCError } from '@trpc/server';
import type Koa from 'koa';

/** Bytes of a request body at most. */
export const ADMIN_BODY_LIMIT = 1024 * 1024;

/** What is read and thrown away past the limit, so that the caller gets to read the refusal, bytes. */
const DISCARD_LIMIT = 8 * 1024 * 1024;

/**
 * Reads what a call brings and makes sure it is JSON: tRPC's own error would quote what was sent.
 *
 * @returns the body of a POST; undefined for a GET, whose input is in its URL
 * @throws TRPCError METHOD_NOT_SUPPORTED, UNSUPPORTED_MEDIA_TYPE, PAYLOAD_TOO_LARGE, PARSE_ERROR
 */
export async function readAdminInput(ctx: Koa.Context): Promise<string | undefined> {
  if (ctx.method === 'GET') {
    const input = new URLSearchParams(ctx.querystring).get('input');
    if (input !== null && input !== '') refuseBrokenJson(input, 'The input in the URL');
    return undefined;
  }
  if (ctx.method !== 'POST') {
    ctx.set('Allow', 'GET, POST');
    throw new TRPCError({
      code: 'METHOD_NOT_SUPPORTED',
      message: 'Use GET for a query or POST for any procedure.',
    });
  }
  const type = ctx.get('content-type').split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json' || ctx.get('content-encoding') !== '') {
    ctx.set('Connection', 'close');
    throw new TRPCError({
      code: 'UNSUPPORTED_MEDIA_TYPE',
      message: 'Send the input as plain JSON with Content-Type: application/json.',
    });
  }
  const body = await receive(ctx);
  if (body !== '') refuseBrokenJson(body, 'The request body');
  return body;
}

async function receive(ctx: Koa.Context): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    // Leaving the loop must not destroy the request: the refusal is still to be sent.
    for await (const chunk of ctx.req.iterator({
      destroyOnReturn: false,
    }) as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size <= ADMIN_BODY_LIMIT) chunks.push(chunk);
      else chunks.length = 0;
      if (size > DISCARD_LIMIT) break;
    }
  } catch {
    throw new TRPCError({ code: 'CLIENT_CLOSED_REQUEST', message: 'The request is incomplete.' });
  }
  if (size > ADMIN_BODY_LIMIT) {
    ctx.set('Connection', 'close');
    throw new TRPCError({
      code: 'PAYLOAD_TOO_LARGE',
      message: `The request body is larger than ${ADMIN_BODY_LIMIT} bytes; send less at once.`,
    });
  }
  return Buffer.concat(chunks).toString('utf8');
}

function refuseBrokenJson(text: string, what: string): void {
  try {
    JSON.parse(text);
  } catch {
    throw new TRPCError({ code: 'PARSE_ERROR', message: `${what} is not JSON.` });
  }
}
