import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Router } from '@koa/router';
import type Koa from 'koa';
import { Refusal } from '../contract/errors.ts';
import { renderDocsPage } from '../openapi/docs-page.ts';
import type { ApiDocument } from '../openapi/document-types.ts';

/** Nothing but our own style sheet and icon may load; no script at all, and nobody may frame the page. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Host headers that may be shown in a page: a name or address with an optional port. */
const HOST = /^(?:[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?$/;

/** What one path answers. */
interface Asset {
  readonly type: string;
  readonly body: (ctx: Koa.Context) => string;
}

/**
 * The documentation for people and tools: `/docs` with its assets, `/openapi.json`, and `/` leading there. Everything is
 * read and rendered once, here; no request touches the disk.
 *
 * @throws Error where openapi/openapi.json is missing (`npm run openapi` writes it)
 */
export function createDocsRouter(): Router {
  const json = readRoomFile('openapi.json');
  const style = readRoomFile('docs/style.css');
  const icon = readRoomFile('docs/icon.svg');
  const page = renderDocsPage({
    document: JSON.parse(json) as ApiDocument,
    verifierSource: readRoomFile('../docs/examples/verify-webhook.ts'),
  });
  const docs = new Router({ sensitive: true, strict: true });
  const assets: Record<string, Asset> = {
    '/docs': { type: 'text/html; charset=utf-8', body: (ctx) => page(originOf(ctx)) },
    '/docs/style.css': { type: 'text/css; charset=utf-8', body: () => style },
    '/openapi.json': { type: 'application/json; charset=utf-8', body: () => json },
    '/favicon.ico': { type: 'image/svg+xml', body: () => icon },
  };
  for (const [path, asset] of Object.entries(assets)) {
    docs.get(path, (ctx) => {
      ctx.state['route'] = path;
      send(ctx, asset);
    });
  }
  const leadingThere = ['/', '/docs/'];
  for (const path of leadingThere) {
    docs.get(path, (ctx) => {
      ctx.state['route'] = path;
      ctx.redirect('/docs');
    });
  }
  for (const path of [...leadingThere, ...Object.keys(assets)]) {
    docs.all(path, (ctx) => {
      ctx.state['route'] = path;
      throw new Refusal('METHOD_NOT_ALLOWED', { allow: ['GET', 'HEAD'] });
    });
  }
  return docs;
}

/** Answers with an entity tag, so that a reader's browser asks again and mostly hears 304. */
function send(ctx: Koa.Context, { type, body }: Asset): void {
  const text = body(ctx);
  ctx.set('Content-Security-Policy', CONTENT_SECURITY_POLICY);
  ctx.set('X-Content-Type-Options', 'nosniff');
  ctx.set('Referrer-Policy', 'no-referrer');
  ctx.set('Cache-Control', 'private, no-cache');
  ctx.type = type;
  ctx.etag = createHash('sha256').update(text).digest('base64url').slice(0, 22);
  ctx.status = 200;
  if (ctx.fresh) {
    ctx.status = 304;
    return;
  }
  ctx.body = text;
}

/**
 * Where the reader reached us, so that the commands on the page work as they stand. The scheme is the one a proxy in
 * front names; a reader who makes it up changes only what they read themselves.
 */
function originOf(ctx: Koa.Context): string | undefined {
  const host = ctx.get('host');
  if (!HOST.test(host)) return undefined;
  const scheme = ctx.get('x-forwarded-proto') === 'https' ? 'https' : 'http';
  return `${scheme}://${host}`;
}

function readRoomFile(name: string): string {
  return readFileSync(new URL(`../openapi/${name}`, import.meta.url), 'utf8');
}
