import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GROUPS, type Group } from '../../openapi/contract-check/cases/case.ts';
import { runContractCheck } from '../../openapi/contract-check/cli.ts';
import {
  describe as describeDocument,
  readPublishedDocument,
} from '../../openapi/contract-check/description.ts';
import { runCheck } from '../../openapi/contract-check/run.ts';
import type { CheckReport } from '../../openapi/contract-check/types.ts';
import { startBrokenGateway, type BrokenGateway, type Fault } from '../support/broken-gateway.ts';
import { PLANTED } from '../support/planted/index.ts';
import { runService, type RunningService } from '../support/running-service.ts';
import { makeTemporaryDirectory } from '../support/temporary.ts';
import { freePort } from '../support/whole-service.ts';
import type { TestSite } from '../support/site.ts';

describe('contract check', () => {
  const document = readPublishedDocument();
  let service: RunningService;
  let site: TestSite;
  let gateway: BrokenGateway;
  let runs = 0;

  before(async () => {
    service = await runService({
      times: { headersMs: 600, requestMs: 2_000, bodyIdleMs: 400, keepAliveMs: 5_000 },
      environment: { TRUSTED_PROXIES: '127.0.0.1' },
    });
    site = await service.createSite();
    gateway = await startBrokenGateway(service.port);
  });

  after(async () => {
    await gateway.close();
    await service.stop();
  });

  const sandboxKey = async (): Promise<string> =>
    (await site.issue({ environment: 'sandbox' })).apiKey;
  const productionKey = async (): Promise<string> => (await site.issue()).apiKey;

  /**
   * A clock for the check on which long waits pass in a quarter of a second. The rate limit's minute does not pass so
   * fast, so after a pause the gateway uses another key.
   */
  const timeWithoutPauses = (key: string) => {
    let ahead = 0;
    return {
      now: () => performance.now() + ahead,
      async sleep(milliseconds: number) {
        const waited = Math.min(milliseconds, 250);
        await new Promise((resolve) => setTimeout(resolve, waited));
        ahead += milliseconds - waited;
        if (milliseconds > 900) gateway.keys.set(key, await sandboxKey());
      },
    };
  };

  const checkGateway = async (fault: Fault, parts: readonly Group[]): Promise<CheckReport> => {
    runs += 1;
    gateway.fault = fault;
    gateway.address = `198.51.100.${runs}`;
    const key = await sandboxKey();
    return runCheck({
      baseUrl: gateway.url,
      document,
      sandboxKey: key,
      productionKey: await productionKey(),
      restrictedKey: (await site.issue({ permissions: ['read'] })).apiKey,
      skip: new Set(GROUPS.filter((group) => !parts.includes(group))),
      time: timeWithoutPauses(key),
      evaluationMs: 120_000,
      patienceMs: 1_500,
    });
  };

  const deviationsOf = ({ cases }: CheckReport): string[] =>
    cases.flatMap(({ operation, name, deviations }) =>
      deviations.map(
        (d) => `${operation}: ${name} | ${d.aspect}: expected ${d.expected}; came ${d.came}`,
      ),
    );

  it('finds nothing in a sound gateway, the pause that the rate limit asks for included', async () => {
    const parts = GROUPS.filter((group) => group !== 'http');
    const report = await checkGateway({}, parts);
    expect(deviationsOf(report)).to.deep.equal([]);
    expect(report.cases.map(({ outcome }) => outcome)).not.to.include('skipped');
    expect(new Set(report.cases.map(({ group }) => group))).to.deep.equal(new Set(parts));
    expect(report.requests).to.be.greaterThan(200);
    const refusedOrFailed = report.notSeen.filter(({ status }) => status < 400);
    expect(refusedOrFailed, 'every success of the description is met').to.deep.equal([]);
  });

  describe('finds every planted deviation: a gateway that', () => {
    for (const [name, planted] of Object.entries(PLANTED)) {
      it(name, async () => {
        const report = await checkGateway(planted, planted.parts);
        const found = deviationsOf(report);
        const named = report.cases.some(
          (item) =>
            planted.case.test(`${item.operation}: ${item.name}`) &&
            item.deviations.some(({ aspect }) => aspect === planted.aspect),
        );
        expect(named, found.join('\n') || 'nothing found').to.equal(true);
      });
    }
  });

  it('refuses to judge by a description with a keyword it does not know', () => {
    const changed = structuredClone(document);
    const risk = changed.components.schemas['Risk']?.properties?.['score'];
    Object.assign(risk ?? {}, { multipleOf: 5 });
    expect(() => describeDocument(document)).not.to.throw();
    expect(() => describeDocument(changed)).to.throw('does not know multipleOf (Risk)');
  });

  it('ends with a report, whatever a gateway answers', async () => {
    const parts = GROUPS.filter((group) => group !== 'http' && group !== 'fields');
    for (const body of [null, [], 'x', 7, {}, { error: null, quota: null, risk: [] }]) {
      const report = await checkGateway(
        { answer: (returned) => (returned.body = structuredClone(body)) },
        parts,
      );
      const agreeing = report.cases.filter(({ outcome }) => outcome === 'agrees');
      expect(agreeing.map(({ name }) => name)).to.deep.equal([
        'HEAD has the status of GET and no body',
      ]);
    }
  });

  it('obeys a passing 503, and reports one that stays', async () => {
    const unavailable = (times: number): Fault => ({
      answer: (returned) => {
        if (returned.status !== 200 || (times -= 1) < 0) return;
        returned.status = 503;
        returned.headers['retry-after'] = '1';
        const error = { code: 'INGESTION_UNAVAILABLE', message: 'Later.' };
        returned.body = { request_id: String(returned.headers['x-request-id']), error };
      },
    });
    const passing = await checkGateway(unavailable(3), ['acceptance']);
    expect(deviationsOf(passing)).to.deep.equal([]);
    const staying = await checkGateway(unavailable(4), ['acceptance']);
    expect(deviationsOf(staying)).to.deep.equal([
      'submitTransaction: a valid event is simulated | status: expected 200; came 503 INGESTION_UNAVAILABLE',
    ]);
  });

  describe('as a command', () => {
    const run = async (
      args: readonly string[],
      environment: Record<string, string> = {},
    ): Promise<{ code: number; printed: string; complained: string; progress: string[] }> => {
      let printed = '';
      let complained = '';
      const progress: string[] = [];
      const code = await runContractCheck({
        args,
        environment,
        print: (text) => (printed += text),
        complain: (text) => (complained += text),
        progress: (line) => void progress.push(line),
      });
      return { code, printed, complained, progress };
    };
    const few = ['--skip', 'fields', '--skip', 'rate limit', '--skip', 'requests'];

    it('passes a real service in every part that takes no pause, and prints a table', async () => {
      const CONTRACT_CHECK_SANDBOX_KEY = await sandboxKey();
      const CONTRACT_CHECK_PRODUCTION_KEY = await productionKey();
      const keys = { CONTRACT_CHECK_SANDBOX_KEY, CONTRACT_CHECK_PRODUCTION_KEY };
      const { code, printed, progress } = await run([service.url, ...few], keys);
      expect(code, printed).to.equal(0);
      expect(printed).to.match(/^ok +http +no request +what is no HTTP is refused +\d+$/m);
      expect(printed).to.match(/\d+ agree, 0 deviate \(\d+ requests in [\d.]+ s\)$/);
      expect(printed).to.include('500 INTERNAL_ERROR: ');
      for (const key of Object.values(keys)) expect(printed + progress.join()).not.to.include(key);
      expect(progress[0]).to.match(/^1\/\d+ GET \/openapi\.json: /);
      expect(progress.at(-1)).to.equal('');
    });

    it('exits with 1 for a deviation, and writes JSON and JUnit XML', async () => {
      const directory = makeTemporaryDirectory();
      const junit = join(directory, 'check.xml');
      gateway.fault = PLANTED['changes the content type'] ?? {};
      const key = await sandboxKey();
      const { code, printed } = await run(
        [gateway.url.href, ...few, '--skip', 'http', '--json', '--junit', junit],
        { CONTRACT_CHECK_SANDBOX_KEY: key },
      );
      expect(code).to.equal(1);
      const report = JSON.parse(printed) as CheckReport;
      const deviating = report.cases.filter(({ outcome }) => outcome === 'deviates');
      expect(deviating[0]).to.deep.include({ operation: 'submitTransaction' });
      expect(deviating[0]?.deviations[0]).to.deep.equal({
        aspect: 'header content-type',
        expected: 'application/json, in UTF-8',
        came: 'text/html',
      });
      const xml = readFileSync(junit, 'utf8');
      expect(xml).to.include(`tests="${report.cases.length}" failures="${deviating.length}"`);
      expect(xml.match(/<testcase /g)).to.have.length(report.cases.length);
      expect(xml).to.include(
        '<failure message="header content-type: expected application/json, in UTF-8; came text/html">',
      );
      expect(printed + xml).not.to.include(key);
    });

    it('exits with 2 for a command line that cannot be followed, repeating nothing of it', async () => {
      const key = { CONTRACT_CHECK_SANDBOX_KEY: 'trk_sbx_x' };
      const lines: [string[], Record<string, string>][] = [
        [[], key],
        [[service.url], {}],
        [['ftp://gateway'], key],
        [[service.url, 'another'], key],
        [[service.url, '--sandbox-key', 'trk_sbx_secret'], {}],
        [[service.url, '--sandbox-key-file', '/nowhere/secret'], {}],
        [[service.url, '--skip', 'nothing'], key],
        [[service.url, '--evaluation-seconds', '-1'], key],
        [[service.url], { CONTRACT_CHECK_SANDBOX_KEY: 'trk_prod_secret' }],
      ];
      for (const [args, environment] of lines) {
        const { code, complained } = await run(args, environment);
        expect(code, args.join(' ')).to.equal(2);
        expect(complained)
          .to.match(/^[A-Z-].*\. See --help\.$/)
          .and.not.include('secret');
      }
    });

    it('exits with 3 where nobody listens, and with 0 for --help', async () => {
      const nobody = `http://127.0.0.1:${await freePort()}`;
      const { code, complained } = await run([nobody], { CONTRACT_CHECK_SANDBOX_KEY: 'trk_sbx_x' });
      expect(code).to.equal(3);
      expect(complained).to.match(/^The gateway cannot be reached: .*ECONNREFUSED/);
      const help = await run(['--help']);
      expect(help.code).to.equal(0);
      expect(help.printed).to.include('Exit codes');
    });
  });
});
