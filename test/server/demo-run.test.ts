import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { runDemo } from '../../server/demo/run.ts';
import type { DemoReport } from '../../server/demo/summary.ts';
import { ADMIN_TOKEN, runService, type RunningService } from '../support/running-service.ts';

const EVENTS = 200;

/** Both runs send the same day. */
const ENDS_AT = Date.now() - 1_000;

/** What the shell runs where the lines say curl: a machine that runs the tests may have none. */
const CURL = `
  const args = process.argv.slice(1);
  const [headers, rest] = [new Headers(), []];
  let body;
  while (args.length > 0) {
    const arg = args.shift();
    if (arg === '-H') headers.append(...args.shift().split(': '));
    else if (arg === '-d') body = args.shift();
    else if (arg !== '-s') rest.push(arg);
  }
  const answer = await fetch(rest[0], { headers, body, method: body === undefined ? 'GET' : 'POST' });
  console.log(await answer.text());
`;

describe('npm run demo', () => {
  let service: RunningService;
  let first: DemoReport;
  let shown = '';

  const run = (seed: string): Promise<DemoReport> =>
    runDemo({
      baseUrl: service.url,
      adminUrl: service.url,
      adminToken: ADMIN_TOKEN,
      events: EVENTS,
      seed,
      endsAt: ENDS_AT,
      progress: { write: () => true },
      bar: false,
      summary: { write: (part: string) => (shown += part) },
      colour: false,
      patienceMs: 10_000,
    });

  before(async () => {
    service = await runService({ environment: { LOG_LEVEL: 'info' } });
    first = await run('7');
  });

  after(async () => service.stop());

  it('sends everything once and waits until every event has a result', () => {
    expect(first.sent).to.have.length(EVENTS);
    expect(new Set(first.sent.map(({ ingestionId }) => ingestionId)).size).to.equal(EVENTS);
    expect(first.evaluation.evaluated).to.have.length(EVENTS);
    expect(first.repeats, 'calls beyond a limit').to.equal(0);
  });

  it('finds planted fraud and lets nearly everybody else pay', () => {
    const { patterns, falseAlarms } = first.tally;
    expect(patterns.filter(({ count }) => count > 0).length).to.be.at.least(3);
    expect(falseAlarms.count / falseAlarms.of).to.be.below(0.03);
    expect([...first.labels.keys()]).to.include.members([
      'FRAUD_CONFIRMED',
      'CHARGEBACK_CONFIRMED',
    ]);
  });

  it('says what was found, with an API key in the lines to paste and nowhere else', () => {
    for (const title of ['Decisions', 'Top reasons', 'Planted fraud', 'Usage', 'Go on']) {
      expect(shown).to.contain(title);
    }
    const withKeys = shown.split('\n').filter((line) => line.includes('trk_'));
    expect(withKeys).to.have.length(3);
    expect(withKeys.filter((line) => !line.startsWith('curl -s -H'))).to.deep.equal([]);
    expect(service.logLines.filter((line) => line.includes('trk_'))).to.deep.equal([]);
  });

  it('closes with three lines that work when pasted', async () => {
    const lines = shown.split('\n').filter((line) => line.startsWith('curl '));
    const answers = await Promise.all(
      lines.map(async (line) => {
        const shell = spawn(
          'sh',
          ['-c', `curl() { "$NODE" --input-type=module -e "$CURL" -- "$@"; }\n${line}`],
          {
            env: { ...process.env, NODE: process.execPath, CURL },
          },
        );
        return JSON.parse(await text(shell.stdout)) as Body;
      }),
    );
    const [status, risk, simulation] = answers;
    expect(status?.evaluation_status).to.equal('SUCCEEDED');
    expect(risk?.ingestion_id).to.equal(status?.ingestion_id);
    expect(risk?.risk?.decision).to.not.equal('ALLOW');
    expect(simulation?.status).to.equal('SIMULATED');
    expect(simulation?.decision).to.equal('BLOCK');
  });

  it('runs again without harm: new events, new credentials, the earlier ones revoked', async () => {
    const again = await run('7');
    expect(again.evaluation.evaluated).to.have.length(EVENTS);
    expect(again.repeats).to.equal(0);
    // An earlier run changes no judgement; what happens to be in one batch may, by an event or two.
    for (const [index, { of, count }] of again.tally.patterns.entries()) {
      expect(of).to.equal(first.tally.patterns[index]?.of);
      expect(count).to.be.closeTo(first.tally.patterns[index]?.count ?? 0, 2);
    }
    const count = async (sql: string) => Number((await service.database.query(sql))[0]?.['count']);
    expect(await count('select count(*) from ingestion')).to.equal(2 * EVENTS);
    expect(await count('select count(*) from site')).to.equal(1);
    expect(await count('select count(*) from contract')).to.equal(1);
    const active = await count('select count(*) from credential where revoked_at is null');
    expect(active).to.equal(again.credentials + 1);
    const former = await fetch(`${service.url}/v1/usage`, {
      headers: { 'x-api-key': first.production.apiKey },
    });
    expect(former.status).to.equal(401);
  });
});

describe('npm run demo, when it cannot run', () => {
  const demo = async (args: readonly string[], environment: Record<string, string> = {}) => {
    const child = spawn(process.execPath, ['server/demo/main.ts', ...args], {
      env: { PATH: process.env['PATH'], DATA_DIR: '/nonexistent', ...environment },
    });
    const [out, err, code] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      new Promise<number | null>((resolve) => child.once('close', resolve)),
    ]);
    return { out, err: err.trim(), code };
  };

  it('says how to start a service that is not there', async () => {
    const { out, err, code } = await demo(['--url', 'http://127.0.0.1:9'], { ADMIN_TOKEN });
    expect(code).to.equal(1);
    expect(out).to.equal('');
    expect(err).to.equal(
      'No service answers at http://127.0.0.1:9: start it with npm start in another terminal, or say where it is with --url.',
    );
  });

  it('says where the administrator token comes from when there is none', async () => {
    const { err, code } = await demo([]);
    expect(code).to.equal(1);
    expect(err).to.contain('set ADMIN_TOKEN');
  });

  it('says what is wrong with an option, in one sentence', async () => {
    for (const args of [['--events', 'many'], ['--events', '5'], ['--url', 'here'], ['--fast']]) {
      const { err, code } = await demo(args, { ADMIN_TOKEN });
      expect(code, args.join(' ')).to.equal(1);
      expect(err.split('\n'), args.join(' ')).to.have.length(1);
    }
  });

  it('says that the token is another service’s', async () => {
    const service = await runService();
    try {
      const wrong = { ADMIN_TOKEN: 'another-administrator-token-0123456789' };
      const { err, code } = await demo(['--url', service.url], wrong);
      expect(code).to.equal(1);
      expect(err).to.contain('does not accept the administrator token');
      expect(err).to.not.contain(wrong.ADMIN_TOKEN);
    } finally {
      await service.stop();
    }
  });

  it('explains itself with --help', async () => {
    const { out, code } = await demo(['--help']);
    expect(code).to.equal(0);
    for (const option of ['--url', '--admin-url', '--events', '--seed']) {
      expect(out).to.contain(option);
    }
  });
});

interface Body {
  readonly evaluation_status?: string;
  readonly ingestion_id?: string;
  readonly status?: string;
  readonly decision?: string;
  readonly risk?: { readonly decision: string };
}
