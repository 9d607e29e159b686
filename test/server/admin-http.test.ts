import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { MikroORM } from '@mikro-orm/postgresql';
import { expect } from 'chai';
import Koa from 'koa';
import { createOrm } from '../../entities/orm.ts';
import { createAdminMiddleware } from '../../server/admin-http.ts';
import { findOperator } from '../../ledger/operators.ts';
import { createAdminLogin } from '../../server/admin-login.ts';
import { createOperatorOf } from '../../server/admin-token.ts';
import { giveRequestId } from '../../server/middleware/request-id.ts';
import { startAdminService, type AdminService } from '../routers/admin/admin-service.ts';

const TOKEN = 'a-test-token-of-an-administrator-0123456789';

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
  readonly json: any;
}

describe('admin over HTTP', () => {
  let service: AdminService;
  let server: Server;
  let url: string;
  let address = '192.0.2.1';
  /** Stands in for the real one where a test sets it. */
  let database: MikroORM | undefined;
  const faults: unknown[] = [];

  before(async () => {
    service = await startAdminService();
    const app = new Koa();
    app.use(giveRequestId);
    app.use(
      createAdminMiddleware({
        services: {
          ...service.services,
          get orm() {
            return database ?? service.services.orm;
          },
        },
        login: createAdminLogin(
          createOperatorOf(TOKEN, (hash) => {
            const orm = database ?? service.services.orm;
            return findOperator(orm.em.fork().getKysely(), hash, service.clock.at);
          }),
        ),
        addressOf: () => address,
        onFault: (error) => faults.push(error),
      }),
    );
    const handle = app.callback();
    server = createServer((request, response) => void handle(request, response)).listen(
      0,
      '127.0.0.1',
    );
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/admin/trpc`;
  });
  after(async () => {
    server.closeAllConnections();
    server.close();
    await service.close();
  });

  async function call(path: string, init: RequestInit = {}, token = TOKEN): Promise<Answer> {
    const response = await fetch(`${url}/${path}`, {
      ...init,
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${token}`,
        ...(init.headers as Record<string, string> | undefined),
      },
    });
    const text = await response.text();
    const json: unknown = text === '' ? undefined : JSON.parse(text);
    return { status: response.status, headers: response.headers, text, json };
  }
  const post = (path: string, input: unknown, token?: string) =>
    call(path, { method: 'POST', body: JSON.stringify(input) }, token);
  const site = (code: string) => ({ code, name: 'Acme', customer_type: 'SINGLE_COMPANY' });

  it('a mutation is a POST whose body is the input, and is audited with the address it came from', async () => {
    address = '198.51.100.4';
    const created = await post('sites.create', site('over-http'));
    address = '192.0.2.1';
    expect(created.status).to.equal(200);
    expect(created.json.result.data.code).to.equal('over-http');
    expect(created.headers.get('x-request-id')).to.match(/^req_/);
    expect(created.headers.get('cache-control')).to.equal('no-store');
    const audit = await call(`audit.list?input=${encodeURIComponent('{"limit":1}')}`);
    expect(audit.json.result.data.items[0]).to.include({
      actor: 'first administrator',
      address: '198.51.100.4',
      procedure: 'sites.create',
      site_code: 'over-http',
    });
  });

  it('a query is a GET, or a POST where its input is long', async () => {
    const input = encodeURIComponent(JSON.stringify({ site_code: 'over-http' }));
    expect((await call(`sites.get?input=${input}`)).json.result.data.name).to.equal('Acme');
    expect((await post('sites.get', { site_code: 'over-http' })).status).to.equal(200);
    const mutationByGet = await call('sites.approve?input=%7B%22site_code%22%3A%22over-http%22%7D');
    expect(mutationByGet.status).to.equal(405);
  });

  it('ten calls may share a request, eleven may not', async () => {
    const batch = (size: number) => {
      const calls = Array.from({ length: size }, () => 'sites.get');
      const inputs = Object.fromEntries(
        calls.map((_, index) => [index, { site_code: 'over-http' }]),
      );
      return call(`${calls.join(',')}?batch=1&input=${encodeURIComponent(JSON.stringify(inputs))}`);
    };
    const ten = await batch(10);
    expect(ten.status).to.equal(200);
    expect(ten.json).to.have.length(10);
    expect((await batch(11)).status).to.equal(400);
  });

  it('a missing, malformed or wrong token is 401 in a shape that clients read, before the body is looked at', async () => {
    for (const authorization of ['', 'Bearer', 'Bearer ', `Basic ${TOKEN}`, `Bearer ${TOKEN}x`]) {
      const answer = await call('sites.list', { headers: { authorization } });
      expect(answer.status).to.equal(401);
      expect(answer.headers.get('www-authenticate')).to.equal('Bearer');
      expect(answer.json.error.data.code).to.equal('UNAUTHORIZED');
      expect(answer.headers.get('x-request-id')).to.match(/^req_/);
      expect(answer.text).to.not.include(TOKEN);
    }
    const broken = await call('sites.create', { method: 'POST', body: '{' }, 'wrong');
    expect(broken.status).to.equal(401);
  });

  it('no answer to wrong input holds a stack or what was sent', async () => {
    const canary = 'canary-77e1';
    const answers = [
      await post('sites.create', {
        ...site(`${canary} `),
        name: { [canary]: 1 },
        [canary]: canary,
      }),
      await call('sites.create', { method: 'POST', body: `{"code": ${canary}` }),
      await call('sites.create', { method: 'POST', body: `"${canary}"` }),
      await call(`sites.get?input=${canary}`),
      await call(`sites.get?batch=1&input=${encodeURIComponent(`["${canary}"]`)}`),
      await post('sites.create', [canary]),
      await call('sites.list'),
    ];
    for (const answer of answers) {
      expect(answer.status).to.equal(400);
      expect(answer.text).to.not.include(canary);
      expect(answer.text).to.not.match(/stack|node_modules|\.ts|\.mjs/);
    }
  });

  it('what nobody foresaw is a bland 500 and goes to the log only', async () => {
    faults.length = 0;
    await service.database.query('alter table gate_record rename to gate_record_away');
    try {
      const answer = await call('sites.list?input=%7B%7D');
      expect(answer.status).to.equal(500);
      expect(answer.json.error.message).to.equal('The call could not be completed.');
      expect(answer.text).to.not.match(/gate_record|select|stack/i);
      expect(faults).to.have.length(1);
    } finally {
      await service.database.query('alter table gate_record_away rename to gate_record');
    }
  });

  it('a body of more than 1 MiB, of another type or compressed is refused', async () => {
    const large = await post('sites.create', { ...site('large'), name: 'x'.repeat(1024 * 1024) });
    expect(large.status).to.equal(413);
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    expect(
      (await call('sites.create', { method: 'POST', body: 'a', headers: form })).status,
    ).to.equal(415);
    const zipped = { 'content-encoding': 'gzip' };
    expect(
      (await call('sites.create', { method: 'POST', body: 'a', headers: zipped })).status,
    ).to.equal(415);
  });

  it('browsers of other origins get no permission', async () => {
    const preflight = await fetch(`${url}/sites.create`, {
      method: 'OPTIONS',
      headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' },
    });
    expect(preflight.status).to.equal(401);
    const known = await call('sites.list?input=%7B%7D', {
      headers: { origin: 'https://evil.example' },
    });
    expect(
      [...known.headers.keys()].filter((name) => name.startsWith('access-control')),
    ).to.deep.equal([]);
    expect((await call('sites.list', { method: 'DELETE' })).status).to.equal(405);
  });

  it('an unknown procedure is 404, and a public one is not mounted here', async () => {
    for (const path of [
      'sites.nothing',
      'submitTransaction',
      'getApiUsage',
      '__proto__',
      'constructor',
    ]) {
      expect((await post(path, {})).status, path).to.equal(404);
    }
  });

  it('after 120 failed logins of one address its further tokens are refused, except one that was good before', async () => {
    address = '203.0.113.9';
    expect((await call('sites.list?input=%7B%7D')).status).to.equal(200);
    for (let count = 0; count < 120; count += 1) {
      expect((await call('sites.list', {}, `wrong-${count}`)).status).to.equal(401);
    }
    const blocked = await call('sites.list', {}, 'wrong');
    expect(blocked.status).to.equal(429);
    expect(Number(blocked.headers.get('retry-after'))).to.be.within(1, 61);
    expect((await call('sites.list?input=%7B%7D')).status).to.equal(200);
    address = '203.0.113.10';
    expect((await call('sites.list', {}, 'wrong')).status).to.equal(401);
    address = '192.0.2.1';
  });

  it('a lost database is 503, also for a token that only the database knows: it is neither right nor wrong', async () => {
    const { token } = await service
      .as('administrator')
      .operators.create({ name: 'somebody', role: 'viewer' });
    database = createOrm({
      url: 'postgres://nobody:nothing@127.0.0.1:1/nowhere',
      poolSize: 1,
      applicationName: 'test away',
      statementTimeoutMs: 1_000,
    });
    const answers = [
      await call('sites.list?input=%7B%7D'),
      await call('sites.list?input=%7B%7D', {}, token),
    ];
    await database.close(true);
    database = undefined;
    for (const answer of answers) {
      expect(answer.status).to.equal(503);
      expect(answer.json.error.data.code).to.equal('SERVICE_UNAVAILABLE');
    }
    expect((await call('sites.list?input=%7B%7D', {}, token)).status).to.equal(200);
  });
});
