import { expect } from 'chai';
import { createOrm } from '../../../entities/orm.ts';
import { run, type Db } from '../../../ledger/database.ts';
import { countBacklog } from '../../../ledger/reports/count-backlog.ts';
import { HourlyTally } from '../../../ledger/reports/hourly-tally.ts';
import { tallyResults } from '../../../ledger/reports/result-times.ts';
import { cohortOf, ruleQuality } from '../../../routers/admin/rule-quality.ts';
import { createTestDatabase } from '../../support/database.ts';
import { eventOf, merchant } from '../../support/merchant.ts';
import { runService } from '../../support/running-service.ts';
import {
  createActiveSite,
  NOON,
  refusalOf,
  startAdminService,
  type AdminService,
} from './admin-service.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

describe('admin: reports', () => {
  let service: AdminService;
  const inTransaction = <T>(work: (db: Db) => Promise<T>): Promise<T> =>
    service.services.orm.em.fork().transactional((em) => work(em.getKysely()));

  before(async () => {
    service = await startAdminService();
    for (const code of ['acme', 'other']) await createActiveSite(service.as('administrator'), code);
  });
  after(() => service.close());

  it('slo adds up what several processes counted, and says what is left of the error budget', async () => {
    const [first, second] = [new HourlyTally(), new HourlyTally()];
    for (const [tally, at] of [
      [first, NOON - HOUR_MS],
      [second, NOON],
    ] as const) {
      tally.add(1n, at, 'submitTransaction', '202', 4_995);
      tally.add(1n, at, 'submitTransaction', '503 INGESTION_UNAVAILABLE', 2);
      tally.add(2n, at, 'submitTransaction', '500 INTERNAL_ERROR', 1);
      // The caller's own mistakes, and other operations, count for neither.
      tally.add(1n, at, 'submitTransaction', '400 CONTRACT_VALIDATION_FAILED', 500);
      tally.add(1n, at, 'submitTransaction', '429 API_QUOTA_EXCEEDED', 500);
      tally.add(undefined, at, 'submitTransaction', '401 UNAUTHORIZED', 500);
      tally.add(1n, at, 'getIngestion', '500 INTERNAL_ERROR', 500);
      const rows = (seconds: number, count: number) =>
        Array.from({ length: count }, () => ({ siteId: 1n, receivedAt: at - seconds * 1000 }));
      tallyResults(tally, [...rows(0.4, 90), ...rows(30, 6), ...rows(299, 1), ...rows(301, 3)], at);
    }
    // Last month's are not in it.
    first.add(1n, NOON - 30 * DAY_MS, 'submitTransaction', '500 INTERNAL_ERROR', 7);
    await Promise.all([first, second].map((tally) => inTransaction((db) => tally.flush(db))));
    const slo = async (input: { site_code?: string; month?: string } = {}) => {
      const report = await service.as('viewer').reports.slo(input);
      return {
        ...report,
        of: (name: string) => report.objectives.find(({ objective }) => objective === name),
      };
    };
    const report = await slo();
    expect(report.month).to.equal('2026-03');
    expect(report.of('ingestion_availability')).to.deep.include({
      target: 0.999,
      good: 9_990,
      bad: 6,
      met: true,
      budget: 9.996,
    });
    expect(report.of('ingestion_availability')?.achieved).to.be.closeTo(0.9994, 0.0001);
    expect(report.of('ingestion_availability')?.budget_left).to.be.closeTo(1 - 6 / 9.996, 1e-9);
    expect(report.of('evaluation_within_5_minutes')).to.deep.include({
      good: 194,
      bad: 6,
      met: true,
    });
    expect(report.evaluation_p95).to.equal('60 s');
    const other = await slo({ site_code: 'other' });
    expect(other.of('ingestion_availability')).to.include({ good: 0, bad: 2, met: false });
    expect(other.evaluation_p95).to.equal('none');
    const february = await slo({ month: '2026-02' });
    expect(february.of('ingestion_availability')).to.include({ good: 0, bad: 7 });
  });

  it('events that wait too long spoil the objective before their results come', async () => {
    await service.database.query(
      `insert into pgboss.job (name, data, state, created_on)
       select 'evaluate', jsonb_build_object('site_id', site, 'ingestion_id', '1'), state::pgboss.job_state, at
       from (values ('1', 'created', $1::timestamptz), ('1', 'retry', $1), ('2', 'active', $2), ('1', 'completed', $1))
         as job (site, state, at)`,
      [new Date(NOON - 3 * HOUR_MS), new Date(NOON - 60_000)],
    );
    await inTransaction((db) => countBacklog(db, NOON));
    const viewer = service.as('viewer');
    expect((await viewer.reports.slo({})).objectives[1]).to.include({
      objective: 'evaluation_within_5_minutes',
      bad: 8,
    });
    const overview = await viewer.reports.overview({});
    expect(overview.backlog).to.deep.equal({
      waiting: 1,
      running: 1,
      retrying: 1,
      overdue: 2,
      oldest_queued_at: '2026-03-10T09:00:00.000Z',
      counted_at: '2026-03-10T12:00:00.000Z',
    });
    const { backlog } = await viewer.reports.overview({ site_code: 'other' });
    expect(backlog).to.include({ waiting: 0, running: 1, overdue: 0 });
    await service.database.query(`delete from pgboss.job`);
    await inTransaction((db) => countBacklog(db, NOON + 1));
    expect((await viewer.reports.overview({})).backlog).to.include({ waiting: 0, running: 0 });
  });

  it('overview shows refused and failed requests beside what the ledger knows', async () => {
    const { hours, totals, sites } = await service.as('viewer').reports.overview({});
    expect(totals).to.include({ refused_requests: 3_000, failed_requests: 1_006, accepted: 0 });
    expect(hours.map(({ hour }) => hour)).to.deep.equal([
      '2026-03-10T12:00:00.000Z',
      '2026-03-10T11:00:00.000Z',
    ]);
    expect(sites).to.have.length(2);
    const { totals: other } = await service.as('viewer').reports.overview({ site_code: 'other' });
    expect(other).to.include({ refused_requests: 0, failed_requests: 2 });
  });

  it('a tally that could not be written is written later, and nothing of it twice', async () => {
    const tally = new HourlyTally();
    tally.add(1n, NOON + DAY_MS, 'submitTransaction', '202', 3);
    const away = { executeQuery: () => Promise.reject(new Error('away')) } as unknown as Db;
    expect(String(await tally.flush(away).catch((error: unknown) => error))).to.include('away');
    tally.add(1n, NOON + DAY_MS, 'submitTransaction', '202', 4);
    await inTransaction((db) => tally.flush(db));
    await inTransaction((db) => tally.flush(db));
    const rows = await service.database.query(
      'select site_id, count from service_hour where hour > $1 order by site_id',
      [new Date(NOON + HOUR_MS)],
    );
    expect(rows).to.deep.equal([
      { site_id: '0', count: '7' },
      { site_id: '1', count: '7' },
    ]);
  });

  it('periods are whole hours or days, in order, and bounded', async () => {
    const viewer = service.as('viewer');
    const overview = await viewer.reports.overview({
      from: '2026-03-10T09:30:00+09:00',
      to: '2026-03-10T11:00:01Z',
    });
    expect([overview.from, overview.to]).to.deep.equal([
      '2026-03-10T00:00:00.000Z',
      '2026-03-10T12:00:00.000Z',
    ]);
    for (const [from, to, part] of [
      ['2026-03-10T12:00:00Z', '2026-03-10T12:00:00Z', 'from must be before to'],
      ['2026-01-01T00:00:00Z', '2026-03-10T12:00:00Z', 'not be longer than 31 days'],
    ] as const) {
      const refused = await refusalOf(viewer.reports.overview({ from, to }));
      expect([refused.code, refused.message.includes(part)]).to.deep.equal(['BAD_REQUEST', true]);
    }
    const future = await viewer.reports.overview({ to: '9999-12-31T23:59:59Z' });
    expect(future.to).to.equal('2026-03-10T13:00:00.000Z');
    for (const month of ['1969-12', '2026-04', '9999-12']) {
      expect((await refusalOf(viewer.reports.slo({ month }))).message).to.include('1970-01');
    }
    const missing = await refusalOf(viewer.reports.rule_quality({ site_code: 'nobody' }));
    expect(missing.code).to.equal('NOT_FOUND');
  });

  it('score_distribution has every score in exactly one row, 100 in the last', async () => {
    for (const width of [1, 5, 10] as const) {
      const { scores } = await service.as('viewer').reports.score_distribution({ width });
      expect(scores[0]?.from_score).to.equal(0);
      expect(scores.at(-1)?.to_score).to.equal(100);
      for (const [index, row] of scores.slice(1).entries()) {
        expect(row.from_score).to.equal((scores[index]?.to_score ?? NaN) + 1);
      }
    }
  });

  it('rule quality: precision of labelled hits, recall of known fraud, by age', () => {
    const at = (days: number): number => NOON - days * DAY_MS;
    const cohort = (days: number, events: number, fraud: number, falsePositive: number) => ({
      day: at(days),
      events,
      fraud,
      falsePositive,
    });
    const { cohorts, rules, rules_by_age } = ruleQuality(
      [cohort(1, 100, 0, 0), cohort(60, 200, 10, 30)],
      [
        { ruleId: 'velocity', ...cohort(1, 5, 0, 0) },
        { ruleId: 'velocity', ...cohort(60, 20, 8, 2) },
        { ruleId: 'country', ...cohort(60, 40, 2, 18) },
      ],
      NOON,
    );
    expect(cohorts.map(({ age, labelled }) => [age, labelled])).to.deep.equal([
      ['up to 7 days', 0],
      ['31 to 90 days', 0.2],
    ]);
    expect(rules).to.deep.equal([
      { rule_id: 'country', hits: 40, fraud: 2, false_positive: 18, precision: 0.1, recall: 0.2 },
      { rule_id: 'velocity', hits: 25, fraud: 8, false_positive: 2, precision: 0.8, recall: 0.8 },
    ]);
    const young = rules_by_age.find(({ age }) => age === 'up to 7 days');
    expect(young).to.include({ rule_id: 'velocity', hits: 5, precision: null, recall: null });
    expect([0, 7, 8, 30, 31, 90, 91].map((days) => cohortOf(at(days), NOON))).to.deep.equal([
      'up to 7 days',
      'up to 7 days',
      '8 to 30 days',
      '8 to 30 days',
      '31 to 90 days',
      '31 to 90 days',
      'over 90 days',
    ]);
  });
});

describe('what a process counts for the reports', () => {
  it('is in the database when the process has ended, by Site and for all', async () => {
    const database = await createTestDatabase();
    const service = await runService({ database });
    const [site, neighbour] = [await service.createSite(), await service.createSite()];
    const shop = merchant(service.url, (await site.issue()).apiKey);
    const { body } = await shop.submit(eventOf());
    await shop.evaluated(body.ingestion_id);
    await shop.submit(eventOf({ schema_version: '2.0' }));
    await merchant(service.url, (await neighbour.issue()).apiKey).submit(eventOf());
    await merchant(service.url, 'nobody').submit(eventOf());
    await service.stop();
    const orm = createOrm({
      url: database.appUrl,
      poolSize: 1,
      applicationName: 'test',
      statementTimeoutMs: 0,
    });
    const { rows } = await run<{ site_id: string; outcome: string; count: string }>(
      orm.em.fork().getKysely(),
      `select site_id, outcome, count::int as count from service_hour
       where operation = 'submitTransaction' order by site_id, outcome`,
    );
    const timed = await database.query(
      `select sum(count)::int as count from service_hour where operation = 'evaluation' and site_id = $1`,
      [site.siteId],
    );
    await orm.close(true);
    await database.drop();
    expect(timed).to.deep.equal([{ count: 1 }]);
    expect(rows).to.deep.equal([
      { site_id: '0', outcome: '202', count: 2 },
      { site_id: '0', outcome: '400 CONTRACT_VALIDATION_FAILED', count: 1 },
      { site_id: '0', outcome: '401 UNAUTHORIZED', count: 1 },
      { site_id: site.siteId, outcome: '202', count: 1 },
      { site_id: site.siteId, outcome: '400 CONTRACT_VALIDATION_FAILED', count: 1 },
      { site_id: neighbour.siteId, outcome: '202', count: 1 },
    ]);
  });
});
