import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import Koa from 'koa';
import { Agent, request } from 'undici';
import { createDocsRouter } from '../../server/docs.ts';
import { answerErrors } from '../../server/middleware/errors.ts';

describe('the documentation over HTTP', () => {
  const routes: unknown[] = [];
  const agent = new Agent();
  let server: Server;
  let base: string;

  before(async () => {
    const app = new Koa();
    app.use(answerErrors((error) => routes.push(error)));
    app.use(async (ctx, next) => {
      try {
        await next();
      } finally {
        routes.push(ctx.state['route']);
      }
    });
    app.use(createDocsRouter().routes());
    const answer = app.callback();
    server = createServer((request, response) => void answer(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  after(async () => {
    await agent.close();
    await new Promise((resolve) => server.close(resolve));
  });

  const call = async (path: string, headers: Record<string, string> = {}, method = 'GET') => {
    const answer = await request(base + path, {
      dispatcher: agent,
      headers,
      method: method as 'GET',
    });
    return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() };
  };

  for (const [path, type] of Object.entries({
    '/docs': 'text/html; charset=utf-8',
    '/docs/style.css': 'text/css; charset=utf-8',
    '/openapi.json': 'application/json; charset=utf-8',
    '/favicon.ico': 'image/svg+xml',
  })) {
    it(`${path} is served with a strict policy, logged by its own path, and 304 when unchanged`, async () => {
      const first = await call(path);
      expect(first.status).to.equal(200);
      expect(first.headers).to.include({
        'content-type': type,
        'x-content-type-options': 'nosniff',
      });
      expect(first.headers['content-security-policy']).to.match(
        /^default-src 'none'; style-src 'self'; /,
      );
      expect(routes.at(-1)).to.equal(path);
      const again = await call(path, { 'if-none-match': String(first.headers['etag']) });
      expect([again.status, again.text]).to.deep.equal([304, '']);
      const head = await call(path, {}, 'HEAD');
      expect(head.headers['content-length']).to.equal(first.headers['content-length']);
    });

    it(`${path} names its methods to any other`, async () => {
      const refused = await call(path, {}, 'POST');
      expect([refused.status, refused.headers['allow']]).to.deep.equal([405, 'GET, HEAD']);
      expect(routes.at(-1)).to.equal(path);
    });
  }

  it('the bare address and a trailing slash lead to the page', async () => {
    for (const path of ['/', '/docs/']) {
      const { status, headers } = await call(path);
      expect([status, headers['location']]).to.deep.equal([302, '/docs']);
      expect(routes.at(-1)).to.equal(path);
    }
  });

  it('the page shows the address it was asked under, https behind a proxy that says so', async () => {
    const plain = await call('/docs', { host: 'risk.example:8443' });
    expect(plain.text).to.include("BASE_URL='http://risk.example:8443'");
    const secure = await call('/docs', { host: 'risk.example', 'x-forwarded-proto': 'https' });
    expect(secure.text).to.include("BASE_URL='https://risk.example'");
    expect(secure.headers['etag']).to.not.equal(plain.headers['etag']);
  });

  it('a Host that is no name of a host is not shown', async () => {
    for (const host of ['"><b>', "a';rm -rf", 'a b', 'x'.repeat(300)]) {
      const { text } = await call('/docs', { host });
      expect(text).to.include("BASE_URL='http://127.0.0.1:8080'");
    }
  });
});
