import { expect } from 'chai';
import { sumUp } from '../../jobs/report-sums.ts';
import type { Db } from '../../ledger/database.ts';
import { rollUp } from '../../ledger/reports/roll-up.ts';
import { startAdminService, NOON, type AdminService } from '../routers/admin/admin-service.ts';
import { randomOf } from '../support/draw.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const LABELS = ['FRAUD_CONFIRMED', 'FALSE_POSITIVE', 'CHARGEBACK_CONFIRMED'] as const;
const DECISIONS = ['ALLOW', 'REVIEW', 'HOLD_RECOMMENDED', 'BLOCK_RECOMMENDED'] as const;
const RULES = ['velocity', 'amount', 'country', 'model_probability'] as const;

/** One event with what became of it; times in ms. */
interface Planted {
  readonly siteId: number;
  readonly id: number;
  readonly receivedAt: number;
  readonly evaluatedAt: number | null;
  readonly score: number;
  readonly decision: (typeof DECISIONS)[number];
  readonly rules: readonly string[];
  readonly labels: readonly { readonly name: string; readonly at: number }[];
}

/** Events of two Sites over three days, some not judged, some labelled before or after their judgement, some twice. */
function plant(count: number): Planted[] {
  const draw = randomOf(20260310);
  return Array.from({ length: count }, (_, index) => {
    const receivedAt = NOON - 3 * DAY_MS + Math.floor(draw() * 3 * DAY_MS);
    const judged = draw() < 0.9;
    const names = LABELS.filter(() => draw() < 0.25);
    return {
      siteId: draw() < 0.5 ? 1 : 2,
      id: index + 1,
      receivedAt,
      evaluatedAt: judged ? receivedAt + Math.floor(draw() * 4 * HOUR_MS) : null,
      score: Math.floor(draw() * 101),
      decision: DECISIONS[Math.floor(draw() * 4)] ?? 'ALLOW',
      rules: RULES.filter(() => draw() < 0.4),
      // Whole minutes, so that labels of one event meet at the same instant now and then.
      labels: names.map((name) => ({
        name,
        at: Math.floor((receivedAt + draw() * 10 * HOUR_MS) / 60_000) * 60_000,
      })),
    };
  });
}

/** The sums as they must be, added up in the plainest way from everything that happened before `until`. */
function sumsOf(events: readonly Planted[], until: number) {
  const hours = new Map<string, number>();
  const scores = new Map<string, number>();
  const rules = new Map<string, number>();
  const raise = (sums: Map<string, number>, siteId: number, rest: string): void => {
    for (const site of [siteId, 0]) {
      sums.set(`${site} ${rest}`, (sums.get(`${site} ${rest}`) ?? 0) + 1);
    }
  };
  const iso = (at: number, unit: number): string =>
    new Date(Math.floor(at / unit) * unit).toISOString();
  for (const event of events) {
    if (event.receivedAt < until) {
      raise(hours, event.siteId, `${iso(event.receivedAt, HOUR_MS)} accepted`);
    }
    if (event.evaluatedAt === null || event.evaluatedAt >= until) continue;
    raise(hours, event.siteId, `${iso(event.evaluatedAt, HOUR_MS)} evaluated`);
    raise(hours, event.siteId, `${iso(event.evaluatedAt, HOUR_MS)} ${event.decision}`);
    const day = iso(event.evaluatedAt, DAY_MS);
    const last = event.labels
      .filter(({ at }) => at < until)
      .toSorted((a, b) => a.at - b.at || (a.name < b.name ? -1 : 1))
      .at(-1);
    const verdict =
      last === undefined ? [] : [last.name === 'FALSE_POSITIVE' ? 'false_positive' : 'fraud'];
    for (const what of ['events', ...verdict]) {
      raise(scores, event.siteId, `${day} ${event.score} ${what}`);
      for (const rule of event.rules) {
        if (rule !== 'model_probability') raise(rules, event.siteId, `${day} ${rule} ${what}`);
      }
    }
  }
  return { hours: entries(hours), scores: entries(scores), rules: entries(rules) };
}

const entries = (sums: ReadonlyMap<string, number>): string[] =>
  [...sums]
    .filter(([, count]) => count !== 0)
    .map(([key, count]) => `${key} ${count}`)
    .sort();

describe('the sums that reports are read from', () => {
  let service: AdminService;
  let events: Planted[];

  before(async () => {
    service = await startAdminService();
    events = plant(1_500);
    await service.database.query(
      `insert into site (code, name, customer_type, default_subject, created_at)
       select code, code, 'SINGLE_COMPANY', code, now() from unnest(array['first', 'second']) as code`,
    );
    await insert(events);
  });

  after(() => service.close());

  async function insert(planted: readonly Planted[]): Promise<void> {
    const rows = JSON.stringify(planted);
    const at = (column: string): string => `to_timestamp((e ->> '${column}')::bigint / 1000.0)`;
    await service.database.query(
      `insert into ingestion (site_id, id, source_event_id, payload_hash, hash_version, received_at, occurred_at, event_type,
         transaction_type, transaction_status, amount_minor, currency, merchant_subject, credential_id)
       select (e ->> 'siteId')::bigint, (e ->> 'id')::bigint, 'evt-' || (e ->> 'id'), '\\x00', 1, ${at('receivedAt')},
         ${at('receivedAt')}, 'PAYMENT_AUTH', 'AUTH', 'APPROVED', 1, 'KRW', 'm', 1
       from jsonb_array_elements($1::jsonb) e order by ${at('receivedAt')}`,
      [rows],
    );
    await service.database.query(
      `insert into evaluation (site_id, ingestion_id, score, level, decision, reasons, rule_scores, evaluator_version, evaluated_at)
       select (e ->> 'siteId')::bigint, (e ->> 'id')::bigint, (e ->> 'score')::int, 'low', e ->> 'decision', '[]',
         coalesce((select jsonb_object_agg(rule, 10) from jsonb_array_elements_text(e -> 'rules') rule), '{}'), 'v',
         ${at('evaluatedAt')}
       from jsonb_array_elements($1::jsonb) e where e ->> 'evaluatedAt' is not null order by ${at('evaluatedAt')}`,
      [rows],
    );
    await service.database.query(
      `insert into outcome_label (site_id, ingestion_id, outcome_label, credential_id, labelled_at)
       select (e ->> 'siteId')::bigint, (e ->> 'id')::bigint, l ->> 'name', 1, to_timestamp((l ->> 'at')::bigint / 1000.0)
       from jsonb_array_elements($1::jsonb) e, jsonb_array_elements(e -> 'labels') l`,
      [rows],
    );
  }

  const inTransaction = <T>(work: (db: Db) => Promise<T>): Promise<T> =>
    service.services.orm.em.fork().transactional((em) => work(em.getKysely()));

  async function stored() {
    const hours = await service.database.query<Record<string, string & Date>>(
      'select * from report_hour',
    );
    const scores = await service.database.query<Record<string, string & Date>>(
      'select * from report_score_day',
    );
    const rules = await service.database.query<Record<string, string & Date>>(
      'select * from report_rule_day',
    );
    const list = (
      rows: readonly Record<string, string & Date>[],
      keys: (row: Record<string, string & Date>) => string,
      sums: Readonly<Record<string, string>>,
    ): string[] =>
      rows
        .flatMap((row) =>
          Object.entries(sums).map(([column, name]) => [`${keys(row)} ${name}`, row[column]]),
        )
        .filter(([, count]) => count !== '0')
        .map(([key, count]) => `${key} ${count}`)
        .sort();
    const verdicts = { fraud: 'fraud', false_positive: 'false_positive' };
    return {
      hours: list(hours, (row) => `${row['site_id']} ${row['hour']?.toISOString()}`, {
        accepted: 'accepted',
        evaluated: 'evaluated',
        allowed: 'ALLOW',
        reviewed: 'REVIEW',
        held: 'HOLD_RECOMMENDED',
        blocked: 'BLOCK_RECOMMENDED',
      }),
      scores: list(
        scores,
        (row) => `${row['site_id']} ${row['day']?.toISOString()} ${row['score']}`,
        { events: 'events', ...verdicts },
      ),
      rules: list(
        rules,
        (row) => `${row['site_id']} ${row['day']?.toISOString()} ${row['rule_id']}`,
        { hits: 'events', ...verdicts },
      ),
    };
  }

  it('are those of the rows, however time is cut and whether labels come before or after judgement', async () => {
    const draw = randomOf(7);
    let rolledTo = 0;
    let checked = 0;
    while (rolledTo < NOON) {
      const span = 60_000 + Math.floor(draw() * draw() * 12 * HOUR_MS);
      const pass = await inTransaction((db) => rollUp(db, NOON, span));
      rolledTo = pass?.rolledTo ?? NOON;
      checked += 1;
      if (checked % 5 === 0) expect(await stored()).to.deep.equal(sumsOf(events, rolledTo));
    }
    expect(checked).to.be.greaterThan(10);
    expect(await stored()).to.deep.equal(sumsOf(events, NOON));
  });

  it('count nothing twice when it is done again, by several processes at once, or from the beginning', async () => {
    const expected = sumsOf(events, NOON);
    const options = {
      transaction: inTransaction,
      clock: { now: () => NOON + 120_000 },
      onFault: (error: unknown) => {
        throw error;
      },
    };
    await Promise.all([sumUp(options), sumUp(options), sumUp(options)]);
    expect(await stored()).to.deep.equal(expected);
    await service.as('administrator').reports.rebuild({ reason: 'old events were imported' });
    expect((await stored()).hours).to.deep.equal([]);
    await Promise.all([sumUp(options), sumUp(options)]);
    await sumUp(options);
    expect(await stored()).to.deep.equal(expected);
  });

  it('are left as they were by a pass that fails half-way', async () => {
    const before = await stored();
    const error: unknown = await inTransaction(async (db) => {
      await rollUp(db, NOON + DAY_MS, DAY_MS);
      throw new Error('the process died');
    }).catch((caught: unknown) => caught);
    expect(String(error)).to.include('the process died');
    expect(await stored()).to.deep.equal(before);
  });

  it('show each Site its own events only, and the whole service both', async () => {
    const count = (siteId: number | null): number =>
      events.filter(
        (event) =>
          (siteId === null || event.siteId === siteId) &&
          event.evaluatedAt !== null &&
          event.evaluatedAt < NOON,
      ).length;
    const viewer = service.as('viewer');
    for (const [code, siteId] of [
      ['first', 1],
      ['second', 2],
      [undefined, null],
    ] as const) {
      const site = code === undefined ? {} : { site_code: code };
      const { events: all } = await viewer.reports.score_distribution(site);
      expect(all, String(code)).to.equal(count(siteId));
      const overview = await viewer.reports.overview({ ...site, from: '2026-03-01T00:00:00Z' });
      expect(overview.totals.evaluated).to.equal(count(siteId));
      expect(overview.sites.map((row) => row.site_code)).to.have.members(
        code === undefined ? ['first', 'second'] : [],
      );
      expect(overview.complete_to).to.equal('2026-03-10T12:00:00.000Z');
    }
  });

  it('count failed attempts, dead letters and webhooks that were delivered or given up', async () => {
    const at = new Date(NOON + HOUR_MS);
    await service.database.query(
      `insert into evaluation_attempt (site_id, ingestion_id, attempt, error_class, error_place, failed_at)
       select 1, 1, n, 'RangeError', 'x', $1 from generate_series(1, 6) n`,
      [at],
    );
    await service.database.query(
      `insert into dead_letter (site_id, ingestion_id, cause, attempts, dead_at) values (1, 1, 'RangeError', 6, $1)`,
      [at],
    );
    await service.database.query(
      `insert into webhook_attempt (site_id, endpoint_id, event_id, attempt, attempted_at, outcome, duration_ms)
       select 2, 1, gen_random_uuid(), 1, $1, outcome, 5
       from unnest(array['RETRY', 'DELIVERED', 'RETRY', 'DELIVERED', 'FAILED']) outcome`,
      [at],
    );
    const options = {
      transaction: inTransaction,
      clock: { now: () => NOON + 3 * HOUR_MS },
      onFault: () => undefined,
    };
    await sumUp(options);
    const sums = await service.database.query(
      `select site_id::int as site, failed_attempts::int, dead_letters::int, webhooks_delivered::int as delivered,
         webhooks_failed::int as failed
       from report_hour where hour = $1 order by site_id`,
      [at],
    );
    const nothing = { failed_attempts: 0, dead_letters: 0, delivered: 0, failed: 0 };
    expect(sums).to.deep.equal([
      { site: 0, failed_attempts: 6, dead_letters: 1, delivered: 2, failed: 1 },
      { site: 1, ...nothing, failed_attempts: 6, dead_letters: 1 },
      { site: 2, ...nothing, delivered: 2, failed: 1 },
    ]);
    const { objectives } = await service.as('viewer').reports.slo({ month: '2026-03' });
    expect(objectives[2]).to.include({
      objective: 'webhook_delivery',
      good: 2,
      bad: 1,
      met: false,
    });
  });
});
