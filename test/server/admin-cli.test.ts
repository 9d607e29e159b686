import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import Koa from 'koa';
import { findOperator } from '../../ledger/operators.ts';
import { adminCommands, flagOf } from '../../server/admin-cli/commands.ts';
import { runAdminCli } from '../../server/admin-cli/run.ts';
import { createAdminMiddleware } from '../../server/admin-http.ts';
import { createAdminLogin } from '../../server/admin-login.ts';
import { createOperatorOf } from '../../server/admin-token.ts';
import { startAdminService, type AdminService } from '../routers/admin/admin-service.ts';

const TOKEN = 'a-test-token-of-an-administrator-0123456789';

interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

describe('the admin command line', () => {
  let service: AdminService;
  let server: Server;
  let url: string;
  const tokens = { viewer: '', operator: '' };

  before(async () => {
    service = await startAdminService();
    const app = new Koa();
    app.use(
      createAdminMiddleware({
        services: service.services,
        login: createAdminLogin(
          createOperatorOf(TOKEN, (hash) =>
            findOperator(service.services.orm.em.fork().getKysely(), hash, service.clock.at),
          ),
        ),
        addressOf: () => '127.0.0.1',
      }),
    );
    const handle = app.callback();
    server = createServer((request, response) => void handle(request, response)).listen(
      0,
      '127.0.0.1',
    );
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { operators } = service.as('administrator');
    for (const role of ['viewer', 'operator'] as const) {
      tokens[role] = (await operators.create({ name: role, role })).token;
    }
  });
  after(async () => {
    server.closeAllConnections();
    server.close();
    await service.close();
  });

  async function cli(
    args: readonly string[],
    world: {
      environment?: Record<string, string>;
      isTerminal?: boolean;
      stdin?: string;
    } = {},
  ): Promise<Outcome> {
    const out: string[] = [];
    const err: string[] = [];
    const code = await runAdminCli({
      args,
      environment: world.environment ?? { ADMIN_URL: url, ADMIN_TOKEN: TOKEN },
      isTerminal: world.isTerminal ?? false,
      readStdin: () => Promise.resolve(world.stdin ?? ''),
      print: (line) => out.push(line),
      complain: (line) => err.push(line),
    });
    return { code, out: out.join('\n'), err: err.join('\n') };
  }

  it('takes flags in both spellings, with = or without, and prints JSON when piped', async () => {
    const created = await cli([
      'sites',
      'create',
      '--code=acme',
      '--name',
      'Acme & Söhne',
      '--customer_type',
      'single_company',
    ]);
    expect(created.code).to.equal(0);
    expect(created.err).to.equal('');
    expect(JSON.parse(created.out)).to.include({ code: 'acme', customer_type: 'SINGLE_COMPANY' });
  });

  it('leads a Site from nothing to its first keys', async () => {
    const commands = [
      'sites create --code way --name Way --customer-type MULTI_MERCHANT',
      'gates record --site-code way --gate QUALITY --result PASSED --evidence r1',
      'gates record --site-code way --gate SECURITY --result PASSED --evidence r2',
      'contracts create --site-code way --capacity-limit 100 --starts-at 2026-01-01T00:00:00Z --ends-at 2027-01-01T00:00:00+09:00',
      'sites approve --site-code way',
      'credentials issue --site-code way --environment production --label checkout --permissions ingest,read',
    ];
    for (const command of commands) {
      const { code, err } = await cli(command.split(' '));
      expect(err).to.equal('');
      expect(code).to.equal(0);
    }
    const listed = await cli(['credentials', 'list', '--site-code', 'way']);
    const { items } = JSON.parse(listed.out) as { items: Record<string, unknown>[] };
    expect(items[0]).to.deep.include({ label: 'checkout', permissions: ['ingest', 'read'] });
  });

  it('prints a table on a terminal, JSON there with --json, and no control character of a stored text', async () => {
    const name = 'Bell\u0007\u001b[2J\u202eend';
    await service.as('administrator').sites.create({
      code: 'table',
      name,
      customer_type: 'MULTI_MERCHANT',
    });
    const table = await cli(['sites', 'list', '--limit', '2'], { isTerminal: true });
    const [head = '', line = ''] = table.out.split('\n');
    expect(head).to.match(/^code +name +customer_type +state/);
    expect(line).to.match(/^-+ {2}-+/);
    expect(table.out).to.match(/More: --cursor \w+$/);
    const one = await cli(['sites', 'get', '--site-code', 'table'], { isTerminal: true });
    expect(one.out).to.include('Bell��[2J�end');
    const json = await cli(['sites', 'get', '--site-code', 'table', '--json'], {
      isTerminal: true,
    });
    expect(JSON.parse(json.out)).to.include({ name });
  });

  it('reads its input from standard input, with flags on top', async () => {
    const stdin = JSON.stringify({
      code: 'from-stdin',
      name: 'First',
      customer_type: 'MULTI_MERCHANT',
    });
    const made = await cli(['sites', 'create', '--input', '-', '--name', 'Second'], { stdin });
    expect(JSON.parse(made.out)).to.include({ code: 'from-stdin', name: 'Second' });
    for (const wrong of ['', '[]', 'null', '{"code": secret}']) {
      const refused = await cli(['sites', 'create', '--input', '-'], { stdin: wrong });
      expect(refused.code).to.equal(2);
      expect(refused.err).to.match(/^--input (is not JSON|must be one JSON object)/);
      expect(refused.err).to.not.include('secret');
    }
  });

  it('reads one flag from standard input where its value is -: a text, a list with one item per line, JSON', async () => {
    const admin = service.as('administrator');
    await admin.sites.create({ code: 'piped', name: 'Piped', customer_type: 'MULTI_MERCHANT' });
    const evidence = 'line one, with a comma\nline two';
    const gate = [
      'gates',
      'record',
      '--site-code',
      'piped',
      '--gate',
      'QUALITY',
      '--result=FAILED',
    ];
    const text = await cli([...gate, '--evidence', '-'], { stdin: `${evidence}\n` });
    expect(JSON.parse(text.out)).to.include({ evidence });
    const issue = ['credentials', 'issue', '--site-code', 'piped', '--environment', 'sandbox'];
    const list = await cli([...issue, '--label', 'x', '--permissions=-'], {
      stdin: 'ingest\nlabel\n',
    });
    expect(list.err).to.equal('');
    const { items } = await admin.credentials.list({ site_code: 'piped' });
    expect(items[0]?.permissions).to.deep.equal(['ingest', 'label']);
    const json = await cli(['dead-letters', 'preview', '--filter', '-'], {
      stdin: '{"site_code":"piped"}',
    });
    expect(JSON.parse(json.out)).to.include({ total: 0 });
    const both = await cli([...issue, '--label', '-', '--input', '-'], { stdin: '{}' });
    expect(both).to.deep.equal({
      code: 2,
      out: '',
      err: 'Standard input can be read once; --input and --label both want it.',
    });
  });

  describe('--wait', () => {
    const startTask = (): Promise<string> =>
      service.services.orm.em.fork().transactional(async (em) => {
        const id = await service.services.startTask(em.getKysely(), {
          kind: 'test',
          siteId: 0n,
          input: {},
          total: 3,
          by: 'test',
          at: service.clock.at,
        });
        return String(id);
      });
    const follow = async (id: string, end: string): Promise<Outcome> => {
      const following = cli(['tasks', 'status', '--task-id', id, '--wait']);
      await service.database.query(
        `update task set done = 3, finished_at = now(), ${end} where id = $1`,
        [id],
      );
      return following;
    };

    it('follows a task to its end and prints it', async () => {
      const { code, out } = await follow(await startTask(), `state = 'DONE', result = '{"a":1}'`);
      expect(code).to.equal(0);
      expect(JSON.parse(out)).to.deep.include({ state: 'DONE', done: 3, result: { a: 1 } });
    });

    it('ends with exit code 1 and the reason where the task failed', async () => {
      const id = await startTask();
      const failed = await follow(id, `state = 'FAILED', error = 'no room'`);
      expect(failed).to.deep.equal({
        code: 1,
        out: '',
        err: `Task ${id} ended FAILED after 3 of 3: no room.`,
      });
    });

    it('changes nothing about a call that starts no task', async () => {
      const listed = await cli(['sites', 'list', '--wait']);
      expect(JSON.parse(listed.out)).to.have.property('items');
    });
  });

  it('a service that cannot answer now is exit code 4: try again', async () => {
    const refusing = createServer((_, response) => {
      response.statusCode = 503;
      response.end('{"error":{"message":"The database cannot answer at the moment."}}');
    }).listen(0, '127.0.0.1');
    await once(refusing, 'listening');
    const { port } = refusing.address() as AddressInfo;
    const outcome = await cli(['sites', 'list'], {
      environment: { ADMIN_URL: `http://127.0.0.1:${port}`, ADMIN_TOKEN: TOKEN },
    });
    refusing.closeAllConnections();
    refusing.close();
    expect(outcome).to.deep.equal({
      code: 4,
      out: '',
      err: 'The database cannot answer at the moment.',
    });
  });

  it('an operator uses a token of their own, and hears which role a call needs', async () => {
    const as = (role: 'viewer' | 'operator') => ({
      environment: { ADMIN_URL: url, ADMIN_TOKEN: tokens[role] },
    });
    expect((await cli(['sites', 'list'], as('viewer'))).code).to.equal(0);
    const refused = await cli(
      ['sites', 'suspend', '--site-code', 'acme', '--reason', 'x'],
      as('viewer'),
    );
    expect(refused).to.include({ code: 1, err: 'This procedure needs the role operator.' });
    const help = await cli(['sites', 'suspend', '--help'], { environment: {} });
    expect(help.out).to.include('Needs the role operator or one above it.');
  });

  it('nested objects are JSON or dotted flags', async () => {
    for (const flags of [
      ['--filter', '{"site_code":"acme","cause":"Broken"}'],
      ['--filter.site-code', 'acme', '--filter.cause', 'Broken'],
      ['--filter', '{"site_code":"acme"}', '--filter.cause=Broken'],
    ]) {
      const preview = await cli(['dead-letters', 'preview', ...flags]);
      expect(preview.err).to.equal('');
      expect(JSON.parse(preview.out)).to.deep.equal({ total: 0, causes: [] });
    }
  });

  it('what the service refuses is one sentence and exit code 1', async () => {
    const missing = await cli(['sites', 'get', '--site-code', 'nowhere']);
    expect(missing).to.deep.equal({
      code: 1,
      out: '',
      err: 'There is no Site nowhere; sites.list shows all, sites.create makes one.',
    });
    const wrong = await cli(['sites', 'list'], {
      environment: { ADMIN_URL: url, ADMIN_TOKEN: `${TOKEN}x` },
    });
    expect(wrong.code).to.equal(1);
    expect(wrong.err).to.match(/^The operator token is not valid there/);
    expect(wrong.err).to.not.include(TOKEN);
  });

  const WRONG: [string, RegExp][] = [
    ['stes list', /^There is no router stes; did you mean sites\?$/],
    ['nothing-like-it list', /^There is no router .*; --help lists them\.$/],
    [
      'sites',
      /^Name a procedure of sites: create, get, list, approve, suspend, resume, set_retention\.$/,
    ],
    ['sites crate', /^sites has no procedure crate; did you mean create\?$/],
    ['sites get --site-cod acme', /^--site-cod is no flag .*; did you mean --site-code\?$/],
    ['sites get --zzz 1', /^--zzz is no flag of sites get; --help lists its flags\.$/],
    ['sites get', /^sites get needs --site-code; --help explains the flags\.$/],
    ['sites get acme', /^"acme" is not expected here; every value needs a flag/],
    ['sites get --site-code acme more', /^"more" is not expected here/],
    ['sites get --site-code', /^--site-code needs a value/],
    ['sites get --site-code a1 --site-code a2', /^--site-code is given twice/],
    ['sites list --limit ten', /^--limit must be a whole number\.$/],
    ['sites list --limit 1e2', /^--limit must be a whole number\.$/],
    ['dead-letters preview', /^dead_letters preview needs --filter '\{\}'/],
    ['dead-letters preview --filter nonsense', /^--filter is not JSON/],
    ['dead-letters preview --filter []', /^--filter must be a JSON object/],
    [
      'gates record --gate QUALTY',
      /^--gate must be one of QUALITY, SECURITY; did you mean QUALITY\?$/,
    ],
    ['--json', /^Name a router and a procedure first/],
    ['sites list --input', /^--input needs a value/],
  ];
  for (const [line, message] of WRONG) {
    it(`"${line}" is wrong usage, says what to do, and calls nothing`, async () => {
      const outcome = await cli(line.split(' '), {
        environment: { ADMIN_URL: 'http://127.0.0.1:1', ADMIN_TOKEN: TOKEN },
      });
      expect(outcome.code).to.equal(2);
      expect(outcome.err).to.match(message);
      expect(outcome.out).to.equal('');
    });
  }

  it('a service that is not there, or is another one, is exit code 3 with where it tried', async () => {
    const away = await cli(['sites', 'list'], {
      environment: { PORT: '1', ADMIN_TOKEN: TOKEN },
    });
    expect(away.code).to.equal(3);
    expect(away.err).to.match(
      /^The service cannot be reached at http:\/\/127\.0\.0\.1:1 \(.+\); start it with npm start/,
    );
    const other = createServer((_, response) => response.end('<html>')).listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    try {
      const strange = await cli(['sites', 'list'], {
        environment: { ADMIN_URL: `http://127.0.0.1:${port}/`, ADMIN_TOKEN: TOKEN },
      });
      expect(strange.code).to.equal(3);
      expect(strange.err).to.include("is not this service's administrative side");
    } finally {
      other.closeAllConnections();
      other.close();
    }
  });

  it('uses the token kept in DATA_DIR, and says where it looked for one', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'transaction-risk-cli-'));
    const environment = { ADMIN_URL: url, DATA_DIR: directory };
    try {
      const none = await cli(['sites', 'list'], { environment });
      expect(none.code).to.equal(2);
      expect(none.err).to.include(join(directory, 'admin-token'));
      writeFileSync(join(directory, 'admin-token'), `${TOKEN}\n`);
      expect((await cli(['sites', 'list'], { environment })).code).to.equal(0);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  it('explains every router, procedure and flag without calling anything', async () => {
    const commands = adminCommands();
    expect(commands).to.have.length.above(10);
    const top = await cli(['--help'], { environment: {} });
    expect(await cli([], { environment: {} })).to.deep.equal(top);
    for (const command of commands) {
      expect(top.out).to.include(command.router).and.to.include(command.procedure);
      expect(command.description, `${command.path} has no description`).to.not.equal('');
      const router = await cli([command.router, '--help'], { environment: {} });
      expect(router.out).to.include(command.description);
      const help = await cli([command.router, command.procedure, '--help'], { environment: {} });
      expect(help.code).to.equal(0);
      for (const field of command.fields) {
        const line = help.out.split('\n').find((text) => text.startsWith(`  ${flagOf(field)} `));
        expect(line, `${command.path} ${flagOf(field)}`).to.not.equal(undefined);
        expect(line?.includes('[required]')).to.equal(field.required);
        expect(['--help', '--json', '--wait', '--input']).to.not.include(flagOf(field));
      }
    }
  });

  it('says of each flag what its value looks like', async () => {
    const help = async (...command: string[]) =>
      (await cli([...command, '--help'], { environment: {} })).out;
    const contract = await help('contracts', 'create');
    expect(contract).to.match(/--starts-at TEXT .+\(string such as 2026-03-01T09:00:00\+09:00\)/);
    expect(contract).to.match(/--capacity-limit N .+\(integer from 0\) \[required\]/);
    expect(await help('sites', 'list')).to.match(/--limit N .+\(integer from 1 to 500\)/);
    expect(await help('dead-letters', 'discard')).to.match(
      /--ingestion-ids A,B,\.\.\. .+\(list of strings such as ing_\d+; repeat it, or use commas\)/,
    );
    expect(await help('gates', 'record-contract-check')).to.not.include('--report.');
  });

  it('as a process: JSON on standard output, sentences on standard error, exit codes', async () => {
    const start = async (...args: string[]) => {
      const child = spawn(
        process.execPath,
        [join(import.meta.dirname, '../../server/admin-cli/main.ts'), ...args],
        { env: { ADMIN_URL: url, ADMIN_TOKEN: TOKEN }, stdio: ['ignore', 'pipe', 'pipe'] },
      );
      const [out, err, [code]] = await Promise.all([
        text(child.stdout),
        text(child.stderr),
        once(child, 'close') as Promise<[number]>,
      ]);
      return { out, err, code };
    };
    const [listed, refused] = await Promise.all([
      start('sites', 'list'),
      start('sites', 'get', '--site-code', 'nowhere'),
    ]);
    expect(listed.code).to.equal(0);
    expect(JSON.parse(listed.out)).to.have.property('items');
    expect(listed.err).to.equal('');
    expect(refused.code).to.equal(1);
    expect(refused.out).to.equal('');
    expect(refused.err).to.match(/^There is no Site nowhere;.*\n$/);
  });
});
