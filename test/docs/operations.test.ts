import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect } from 'chai';
import { Client } from 'pg';
import { listProcedures } from '../../routers/admin/procedure-list.ts';
import { eventOf, merchant } from '../support/merchant.ts';
import { ADMIN_TOKEN, runService, type RunningService } from '../support/running-service.ts';

const DOCS = join(import.meta.dirname, '../../docs');
const guide = readFileSync(join(DOCS, 'operations.md'), 'utf8');
const rules = readFileSync(join(DOCS, 'alerts.yml'), 'utf8');

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: string; readonly respond_within?: string };
  readonly annotations: { readonly summary: string; readonly runbook: string };
}

/** Prometheus's own checker, which is not on npm. */
const PROMTOOL = spawnSync('promtool', ['--version']).status === 0;

/** YAML as mocha reads its own settings. */
function parseYaml(text: string): unknown {
  const require = createRequire(import.meta.url);
  const ofMocha = createRequire(require.resolve('mocha/package.json'));
  return (ofMocha('js-yaml') as { load(text: string): unknown }).load(text);
}

/** The metric names in a text, without what prom-client adds to each sample of a histogram. */
const namesIn = (text: string): string[] => [
  ...new Set(
    [...text.matchAll(/transaction_risk_([a-z0-9_]+)/g)].map(([, name = '']) =>
      name.replace(/_(bucket|sum|count)$/, ''),
    ),
  ),
];

describe('the operations guide', () => {
  let service: RunningService;
  let exposed: string[];

  before(async () => {
    service = await runService();
    const site = await service.createSite();
    const shop = merchant(service.url, (await site.issue()).apiKey);
    const { body } = await shop.submit(eventOf());
    await shop.evaluated(body.ingestion_id);
    const response = await fetch(`${service.url}/metrics`, {
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    });
    exposed = [...(await response.text()).matchAll(/^# TYPE transaction_risk_(\S+)/gm)].map(
      ([, name = '']) => name,
    );
  });

  after(() => service.stop());

  it("has only statements that run, with the application's role", async () => {
    const statements = [...guide.matchAll(/^```sql\n(.*?)^```$/gms)].map(([, sql = '']) => sql);
    expect(statements.length).to.be.greaterThan(10);
    const client = new Client({ connectionString: service.database.appUrl });
    await client.connect();
    try {
      for (const statement of statements) {
        const { fields } = await client.query(statement);
        expect(fields.length, statement).to.be.greaterThan(0);
        expect(statement).to.match(/^(select|with)\b/);
      }
    } finally {
      await client.end();
    }
  });

  it('says of every metric what it means, and of none that is not there', () => {
    const section = guide.slice(guide.indexOf('| metric'), guide.indexOf('Beside them stand'));
    const explained = [...section.matchAll(/^\| (`.*?) *\|/gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`([a-z_]+)`/g)].map(([, name = '']) => name),
    );
    const ours = exposed.filter((name) => !/^(process|nodejs)_/.test(name));
    expect(explained.toSorted()).to.deep.equal(ours.toSorted());
  });

  it('names only commands and procedures that exist', () => {
    const known = listProcedures().map(({ path }) => path);
    const called = [...guide.matchAll(/npm run --silent admin -- ([a-z-]+) ([a-z-]+)/g)].map(
      ([, router = '', procedure = '']) => `${router}.${procedure}`.replaceAll('-', '_'),
    );
    expect(called.length).to.be.greaterThan(5);
    for (const path of called) expect(known, path).to.include(path);
    const { scripts } = JSON.parse(readFileSync(join(DOCS, '../package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    for (const [, script = ''] of guide.matchAll(/npm run (?:--silent )?([a-z:-]*[a-z])/g)) {
      expect(Object.keys(scripts), script).to.include(script);
    }
  });

  it('has alert rules that look at metrics which exist and lead to a part of it', () => {
    const { groups } = parseYaml(rules) as { groups: { name: string; rules: Rule[] }[] };
    const all = groups.flatMap((group) => group.rules);
    expect(new Set(all.map(({ alert }) => alert)).size).to.equal(all.length);
    const anchors = [...guide.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^a-z0-9 -]/g, '')
        .replaceAll(' ', '-'),
    );
    for (const { alert, expr, annotations } of all) {
      for (const name of namesIn(expr)) expect(exposed, `${alert}: ${name}`).to.include(name);
      expect(expr, alert).to.match(/transaction_risk_|^absent\(up/);
      const [file, anchor] = annotations.runbook.split('#');
      expect(file, alert).to.equal('docs/operations.md');
      expect(anchors, alert).to.include(anchor);
    }
  });

  (PROMTOOL ? it : it.skip)(
    'has alert rules that fire, by the word of promtool where it is installed',
    () => {
      for (const args of [
        ['check', 'rules', 'alerts.yml'],
        ['test', 'rules', 'alerts.test.yml'],
      ]) {
        const { status, stdout, stderr } = spawnSync('promtool', args, {
          cwd: DOCS,
          encoding: 'utf8',
        });
        expect(status, `${stdout}${stderr}`).to.equal(0);
      }
    },
  );

  it('has alert rules that leave people the time of the response targets', () => {
    const { groups } = parseYaml(rules) as { groups: { rules: Rule[] }[] };
    const all = groups.flatMap((group) => group.rules);
    const minutes = (text: string | undefined): number =>
      text === undefined ? 0 : Number(text.replace('m', ''));
    const targets: Record<string, string | undefined> = { P1: '15m', P2: '1h', notice: undefined };
    for (const { alert, labels, for: wait } of all) {
      expect(Object.keys(targets), alert).to.include(labels.severity);
      expect(labels.respond_within, alert).to.equal(targets[labels.severity]);
      expect(minutes(wait), alert).to.be.at.most(labels.severity === 'P1' ? 2 : 10);
    }
    const of = (severity: string, part: string): string[] =>
      all
        .filter(({ labels, expr }) => labels.severity === severity && expr.includes(part))
        .map(({ alert }) => alert);
    expect(of('P1', 'submitTransaction')).to.not.deep.equal([]);
    expect(of('P1', 'database_up')).to.not.deep.equal([]);
    expect(of('P2', 'accept_to_result_seconds')).to.not.deep.equal([]);
    expect(of('P2', 'queue="evaluate"')).to.not.deep.equal([]);
    expect(of('P2', 'queue="webhook"')).to.not.deep.equal([]);
  });
});
