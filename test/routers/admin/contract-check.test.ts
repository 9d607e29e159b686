import { expect } from 'chai';
import { runCheck } from '../../../openapi/contract-check/run.ts';
import { readPublishedDocument } from '../../../openapi/contract-check/description.ts';
import { GROUPS } from '../../../openapi/contract-check/cases/case.ts';
import type { CheckReport } from '../../../openapi/contract-check/types.ts';
import { runService } from '../../support/running-service.ts';
import { NOON, refusalOf, startAdminService, type AdminService } from './admin-service.ts';
import { soundReport } from './contract-check-report.ts';

describe('admin: the QUALITY gate from a contract check', () => {
  let service: AdminService;
  const keys = { own: '', production: '', other: '' };

  before(async () => {
    service = await startAdminService();
    const admin = service.as('administrator');
    for (const code of ['own', 'other']) {
      await admin.sites.create({ code, name: code, customer_type: 'SINGLE_COMPANY' });
    }
    const issue = async (siteCode: string, environment: 'production' | 'sandbox') =>
      (await admin.credentials.issue({ site_code: siteCode, environment, label: 'check' })).api_key;
    keys.own = await issue('own', 'sandbox');
    keys.production = await issue('own', 'production');
    keys.other = await issue('other', 'sandbox');
  });
  after(() => service.close());

  const record = (report: CheckReport) =>
    service
      .as('administrator')
      .gates.record_contract_check({ site_code: 'own', report: report as never });

  it('a report in which everything agrees passes it, with evidence that names the report', async () => {
    const made = await record(soundReport(keys.own, NOON - 60_000));
    expect(made).to.include({ gate: 'QUALITY', result: 'PASSED' });
    expect(made.evidence).to.match(
      /^contract check of 2026-03-10T11:59:00\.000Z with sandbox key \w{8}: 6 cases agree, 0 deviate, 0 skipped; 240 requests; SHA-256 of the report \(RFC 8785\) [0-9a-f]{64}$/,
    );
    expect((await service.as('viewer').sites.get({ site_code: 'own' })).gates.QUALITY).to.equal(
      'PASSED',
    );
  });

  it('a deviation, a skipped case or a silent gateway fails it', async () => {
    const sound = soundReport(keys.own, NOON);
    const [first, ...rest] = sound.cases;
    if (first === undefined) throw new Error('no case');
    const deviations = [{ aspect: 'status', expected: '202', came: '500' }];
    for (const report of [
      { ...sound, cases: [{ ...first, outcome: 'deviates' as const, deviations }, ...rest] },
      { ...sound, cases: [{ ...first, outcome: 'skipped' as const }, ...rest] },
      { ...sound, lost: true },
    ]) {
      expect((await record(report)).result).to.equal('FAILED');
    }
  });

  it('a report of another Site’s key, a production key or none is no evidence, and all look alike', async () => {
    const sound = soundReport(keys.own, NOON);
    const messages = [];
    for (const report of [
      soundReport(keys.other, NOON),
      soundReport(keys.production, NOON),
      soundReport('trk_sbx_00000000_x', NOON),
      { ...sound, sandboxKeyId: null },
    ]) {
      const error = await refusalOf(record(report));
      expect(error.code).to.equal('PRECONDITION_FAILED');
      messages.push(error.message);
    }
    expect([...new Set(messages)]).to.deep.equal([
      'The report is no evidence for this Site: its sandbox key belongs to no credential of the Site.',
    ]);
  });

  it('a report that is older than 7 days, of the future, or that leaves parts out is no evidence', async () => {
    const DAY_MS = 86_400_000;
    for (const at of [NOON - 7 * DAY_MS - 1, NOON + 3_600_000]) {
      const error = await refusalOf(record(soundReport(keys.own, at)));
      expect(error.message).to.include('it was not made within the last 7 days');
    }
    const sound = soundReport(keys.own, NOON);
    const some = sound.cases.filter(({ group }) => group !== 'fields' && group !== 'requests');
    expect((await refusalOf(record({ ...sound, cases: some }))).message).to.include(
      'it leaves out fields, requests; run it without --skip for these',
    );
  });

  it('what is no report is refused by field, without its values', async () => {
    const error = await refusalOf(
      record({ ...soundReport(keys.own, NOON), requests: 'canary-9', extra: 1 } as never),
    );
    expect(error.code).to.equal('BAD_REQUEST');
    expect(error.message).to.include('report.requests');
    expect(error.message).to.not.include('canary-9');
  });

  it('a report that the check really makes is taken', async () => {
    const running = await runService({ role: 'api', database: service.database });
    try {
      const report = await runCheck({
        baseUrl: new URL(running.url),
        document: readPublishedDocument(),
        sandboxKey: keys.own,
        // One part only, so that it takes no minute.
        skip: new Set(GROUPS.filter((group) => group !== 'document')),
      });
      const cases = [...report.cases, ...soundReport(keys.own, 0).cases];
      const made = await record({
        ...report,
        startedAt: new Date(NOON).toISOString(),
        cases,
      });
      expect(made.result).to.equal('PASSED');
    } finally {
      await running.stop();
    }
  });
});
