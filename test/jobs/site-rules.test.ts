import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { BACKTEST } from '../../contract/rules.ts';
import { backtestTask } from '../../jobs/backtest.ts';
import { evaluateBatch } from '../../jobs/evaluate-batch.ts';
import { siteEvaluators } from '../../jobs/evaluators.ts';
import { ModelSource } from '../../jobs/site-models.ts';
import { RuleSource } from '../../jobs/site-rules.ts';
import type { Db } from '../../ledger/database.ts';
import { createIdSource } from '../../ledger/ids.ts';
import { importEvents, importLabels, type ImportTarget } from '../../ledger/import-events.ts';
import { insertModel } from '../../ledger/models.ts';
import type { JsonValue } from '../../ledger/operator-events.ts';
import { ALL_SITES, releaseRules } from '../../ledger/rule-sets.ts';
import type { RunningTask } from '../../ledger/tasks.ts';
import { entitiesOf, featurePosition, FEATURES_VERSION } from '../../risk/index.ts';
import { encodeModel, modelHash } from '../../risk/model/model.ts';
import type { TransactionEvent } from '../../contract/transaction.ts';
import {
  createImportTarget,
  startAdminService,
  type AdminService,
} from '../routers/admin/admin-service.ts';
import { pastEvent } from '../support/past.ts';

const HOUR = 3_600_000;

/** Events of the test of replays; more by environment, for those who have the time. */
const REPLAYED = Number(process.env['REPLAY_EVENTS'] ?? 3_000);

const LARGE = {
  id: 'large_amount',
  reason: 'AMOUNT',
  points: 95,
  when: 'event.amount_minor >= limit',
  limits: { limit: 100_000 },
  message: 'Far more than usual here.',
  cases: [{ event: { amount_minor: 100_000 }, answer: 'HIT' as const }],
};

interface Result {
  source_event_id: string;
  score: number;
  decision: string;
  reasons: string[];
  rule_scores: Record<string, number>;
  evaluator_version: string;
}

describe('rules and lists of a Site', () => {
  let service: AdminService;
  const ids = createIdSource();
  let count = 0;

  const transaction = <T>(work: (db: Db) => Promise<T>): Promise<T> =>
    service.services.orm.em.fork().transactional((em) => work(em.getKysely()));

  const makeTarget = (code: string): Promise<ImportTarget> => createImportTarget(service, code);

  /** A worker as it runs: what it knows is its own. */
  const newWorker = () => {
    const clock = service.services.clock;
    const rules = new RuleSource({ transaction, clock });
    const evaluators = siteEvaluators(new ModelSource({ transaction, clock }), rules);
    return { rules, evaluators };
  };
  type Worker = ReturnType<typeof newWorker>;

  /** Sends payments through a worker and answers their results, in order. */
  const judge = async (
    to: ImportTarget,
    { evaluators, rules }: Worker,
    payments: readonly { card?: string; merchant?: string; amount?: number }[],
  ): Promise<Result[]> => {
    const events = payments.map(({ amount = 5_000, card, merchant = 'shop-1' }) => {
      count += 1;
      const made = { card: card ?? `card-of-${count}`, merchant, amount };
      return { event: pastEvent(`paid-${count}`, service.clock.at, made) };
    });
    await transaction(async (db) => {
      const { added } = await importEvents(db, ids, to, events);
      const { failed } = await evaluateBatch(db, added, service.clock.at, {
        evaluators,
        record: (own, judged, now) => rules.record(own, judged, now),
      });
      expect(failed).to.deep.equal([]);
    });
    const names = events.map(({ event }) => event.source_event_id);
    return service.database.query<Result & Record<string, unknown>>(
      `select event.source_event_id, result.score, result.decision, result.reasons, result.rule_scores, result.evaluator_version
       from ingestion event join evaluation result on result.site_id = event.site_id and result.ingestion_id = event.id
       where event.site_id = $1 and event.source_event_id = any ($2::text[]) order by event.id`,
      [to.siteId, names],
    );
  };
  const judgeOne = async (
    to: ImportTarget,
    worker: Worker,
    payment: { card?: string; amount?: number } = {},
  ): Promise<Result> => {
    const [result] = await judge(to, worker, [payment]);
    if (result === undefined) throw new Error('not judged');
    return result;
  };

  const save = async (code: string | undefined, content: object): Promise<number> => {
    const { version } = await service.as('operator').rules.save_draft({
      ...(code === undefined ? {} : { site_code: code }),
      content: { rules: [], ...content },
      comment: 'a test',
    });
    return version;
  };
  const publish = async (code: string, content: object): Promise<number> => {
    const version = await save(code, content);
    await service
      .as('administrator')
      .rules.publish({ site_code: code, version, urgent_reason: 'a test' });
    return version;
  };

  /** Without the procedure, which wants two administrators. */
  const releaseForAll = (version: number): Promise<void> =>
    transaction((db) =>
      releaseRules(db, {
        siteId: ALL_SITES,
        role: 'LIVE',
        version,
        kind: 'PUBLISH',
        reason: null,
        by: 'test',
        at: service.clock.at,
      }),
    );

  /** The result of a backtest whose process dies whenever it has kept how far it got. */
  const resumed = async (taskId: string): Promise<JsonValue> => {
    const [row] = await service.database.query<{ site_id: string; input: JsonValue }>(
      'select site_id, input from task where id = $1',
      [taskId],
    );
    let position: JsonValue = null;
    for (let start = 1; start < 10; start++) {
      let kept = 0;
      const task: RunningTask = {
        id: BigInt(taskId),
        kind: BACKTEST,
        siteId: BigInt(row?.site_id ?? 0),
        input: row?.input ?? null,
        position,
        done: 0,
        total: null,
        createdBy: 'test',
        start,
        fruitlessStarts: 0,
      };
      try {
        return await backtestTask(task, {
          transaction,
          signal: new AbortController().signal,
          progress(made) {
            if (kept > 0) return Promise.reject(new Error('the process died'));
            if (made.position !== undefined) {
              kept += 1;
              position = JSON.parse(JSON.stringify(made.position)) as JsonValue;
            }
            return Promise.resolve();
          },
        });
      } catch (error: unknown) {
        expect(String(error)).to.equal('Error: the process died');
      }
    }
    throw new Error('it never ended');
  };

  before(async () => {
    service = await startAdminService();
  });
  after(() => service.close());

  it('judge within two seconds of their publication, on a worker that was running, and no other Site', async () => {
    const [target, neighbour] = [await makeTarget('own-rules'), await makeTarget('without')];
    const worker = newWorker();
    expect((await judgeOne(target, worker, { amount: 200_000 })).decision).to.equal('ALLOW');
    const version = await publish('own-rules', { rules: [LARGE] });
    const deadline = performance.now() + 2_000;
    for (;;) {
      const result = await judgeOne(target, worker, { amount: 200_000 });
      if (result.decision === 'BLOCK_RECOMMENDED') {
        expect(result.reasons[0]).to.equal(LARGE.message);
        expect(result.evaluator_version).to.match(
          new RegExp(`\\+rules\\.default-\\d+\\.[0-9a-f]{8}\\+site\\.${version}\\.[0-9a-f]{8}\\+`),
        );
        break;
      }
      if (performance.now() > deadline) expect.fail('the rules did not judge in time');
    }
    const elsewhere = await judgeOne(neighbour, worker, { amount: 200_000 });
    expect(elsewhere.decision).to.equal('ALLOW');
    expect(elsewhere.evaluator_version).not.to.include('+site.');
    await service
      .as('operator')
      .rules.rollback({ site_code: 'own-rules', reason: 'the end of the test' });
    expect((await judgeOne(target, newWorker(), { amount: 200_000 })).decision).to.equal('ALLOW');
  }).timeout(10_000);

  it('for all Sites judge each of them, beside its own', async () => {
    const [target, plain] = [await makeTarget('beside'), await makeTarget('plain')];
    const { version } = await service
      .as('administrator')
      .rules.save_draft({ content: { rules: [LARGE] }, comment: 'a test' });
    await publish('beside', { rules: [{ ...LARGE, id: 'of_the_site', points: 10 }] });
    await releaseForAll(version);
    const worker = newWorker();
    const own = await judgeOne(target, worker, { amount: 200_000 });
    expect(own.rule_scores).to.deep.equal({ large_amount: 95, of_the_site: 10 });
    expect(own.evaluator_version).to.match(
      /\+rules\.global-1\.[0-9a-f]{8}\+site\.1\.[0-9a-f]{8}\+/,
    );
    const other = await judgeOne(plain, worker, { amount: 200_000 });
    expect(other.rule_scores).to.deep.equal({ large_amount: 95 });
    await releaseForAll(0);
    const after = await judgeOne(plain, newWorker(), { amount: 200_000 });
    expect(after.evaluator_version).to.match(/\+rules\.default-/);
  });

  it('tell who of the workers goes by them: an activation is done when all do', async () => {
    await makeTarget('followed');
    const [one, other] = [newWorker(), newWorker()];
    one.rules.start();
    other.rules.start();
    const version = await publish('followed', { rules: [LARGE] });
    const deadline = performance.now() + 4_000;
    for (;;) {
      const shown = await service.as('viewer').rules.get({ site_code: 'followed', version });
      expect(shown.live_version).to.equal(version);
      if (shown.live?.workers === 2 && shown.live.following === 2) {
        expect(shown.workers.map(({ up_to_date: is }) => is)).to.deep.equal([true, true]);
        break;
      }
      if (performance.now() > deadline) expect.fail('not followed in time');
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await Promise.all([one.rules.stop(), other.rules.stop()]);
    const { items } = await service.as('viewer').rules.list({ site_code: 'followed' });
    expect(items[0]?.followed).to.deep.equal({ workers: 0, following: 0 });
  }).timeout(10_000);

  it('in the shadow change no result; what they would have decided is counted, and shown where it differs', async () => {
    const target = await makeTarget('shadowed');
    const version = await save('shadowed', { rules: [LARGE] });
    await service.as('operator').rules.shadow({ site_code: 'shadowed', version });
    const worker = newWorker();
    const results = await judge(target, worker, [
      { amount: 1_000 },
      { amount: 200_000, card: 'card-2' },
      { amount: 2_000, card: 'card-3' },
    ]);
    expect(results.map(({ decision }) => decision)).to.deep.equal(['ALLOW', 'ALLOW', 'ALLOW']);
    expect(results[0]?.evaluator_version).not.to.include('+site.');
    const shown = await service.as('viewer').rules.get({ site_code: 'shadowed', version });
    expect(shown.shadow_decisions).to.deep.equal([
      { answered: 'ALLOW', proposed: 'ALLOW', events: 2 },
      { answered: 'ALLOW', proposed: 'BLOCK_RECOMMENDED', events: 1 },
    ]);
    expect(shown.shadow_examples).to.have.length(1);
    expect(shown.shadow_examples[0]).to.include({ answered_score: results[1]?.score });
    await service.as('operator').rules.stop_shadow({ site_code: 'shadowed' });
    await judge(target, newWorker(), [{ amount: 200_000 }]);
    const after = await service.as('viewer').rules.get({ site_code: 'shadowed', version });
    expect(after.shadow_decisions).to.deep.equal(shown.shadow_decisions);
  });

  it('on lists count within two seconds, for their Site alone, until they expire or are removed', async () => {
    const [target, neighbour] = [await makeTarget('listing'), await makeTarget('not-listing')];
    const worker = newWorker();
    const isBlocked = async (to: ImportTarget, by: Worker, card = 'stolen'): Promise<boolean> => {
      const { rule_scores: scores } = await judgeOne(to, by, { card });
      return scores['list_block_card'] === 100;
    };
    expect(await isBlocked(target, worker)).to.equal(false);
    const entry = {
      site_code: 'listing',
      list: 'block' as const,
      entity: 'card' as const,
      values: ['stolen'],
      reason: 'stolen',
    };
    await service.as('operator').lists.put(entry);
    const deadline = performance.now() + 2_000;
    while (!(await isBlocked(target, worker))) {
      if (performance.now() > deadline) expect.fail('the list did not count in time');
    }
    const result = await judgeOne(target, worker, { card: 'stolen' });
    expect(result.decision).to.equal('BLOCK_RECOMMENDED');
    expect(result.reasons[0]).to.equal('The card is on a block list.');
    expect(result.evaluator_version).to.match(/\+lists\.\d+\+model\.none$/);
    expect(await isBlocked(target, worker, 'another')).to.equal(false);
    expect(await isBlocked(neighbour, worker)).to.equal(false);

    await service
      .as('operator')
      .lists.put({ ...entry, expires_at: new Date(service.clock.at + HOUR).toISOString() });
    const later = newWorker();
    expect(await isBlocked(target, later)).to.equal(true);
    service.clock.at += HOUR;
    expect(await isBlocked(target, later)).to.equal(false);
    service.clock.at -= HOUR;
    await service.as('operator').lists.remove({ ...entry, reason: 'found again' });
    expect(await isBlocked(target, newWorker())).to.equal(false);
  }).timeout(10_000);

  it('for all Sites count on each of them', async () => {
    const target = await makeTarget('everywhere');
    await service.as('administrator').lists.put({
      list: 'watch',
      entity: 'merchant',
      values: ['shop-watched'],
      reason: 'new',
    });
    const [result] = await judge(target, newWorker(), [{ merchant: 'shop-watched' }]);
    expect(result?.decision).to.equal('REVIEW');
    expect(result?.reasons).to.include('The merchant is on a watch list.');
  });

  it('block no more than their share of an hour: above it events are reviewed, and operators are told once', async () => {
    const target = await makeTarget('capped');
    await publish('capped', { rules: [LARGE], block_cap: { share: 0.5, least: 3 } });
    const [one, other] = [newWorker(), newWorker()];
    const pay = (amounts: readonly number[]) =>
      amounts.map((amount, index) => ({ amount, card: `capped-${index}` }));
    const first = await judge(target, one, pay([200_000, 200_000, 200_000, 200_000, 200_000]));
    expect(first.map(({ decision }) => decision)).to.deep.equal([
      'BLOCK_RECOMMENDED',
      'BLOCK_RECOMMENDED',
      'BLOCK_RECOMMENDED',
      'REVIEW',
      'REVIEW',
    ]);
    expect(first[3]?.rule_scores).to.have.property('cap_large_amount');
    expect(first[3]?.reasons[0]).to.match(/share of the traffic of this hour/);
    // Another worker goes on from what the first one shared.
    await one.rules.shareCounts();
    await judge(target, other, pay([1_000]));
    await other.rules.shareCounts();
    const [elsewhere] = await judge(target, other, pay([200_000]));
    expect(elsewhere?.decision).to.equal('REVIEW');
    await other.rules.shareCounts();
    const events = await service.database.query(
      `select subject from operator_event where kind = 'rule_capped' and site_id = $1`,
      [target.siteId],
    );
    expect(events).to.deep.equal([{ subject: 'rule large_amount' }]);
    // As traffic grows, so does what the rule may block.
    await judge(target, one, pay(Array.from({ length: 10 }, () => 1_000)));
    const [again] = await judge(target, one, pay([200_000]));
    expect(again?.decision).to.equal('BLOCK_RECOMMENDED');
    service.clock.at += HOUR;
    const [fresh] = await judge(target, one, pay([200_000]));
    expect(fresh?.decision).to.equal('BLOCK_RECOMMENDED');
    service.clock.at -= HOUR;
  });

  it('are tried on the stored events of a period: hits, changed decisions, labels, money, examples', async () => {
    const target = await makeTarget('backtested');
    const worker = newWorker();
    const results = await judge(
      target,
      worker,
      Array.from({ length: 600 }, (_, index) => ({
        amount: index < 10 ? 150_000 : 5_000,
        card: `back-${index}`,
        merchant: `back-${index}`,
      })),
    );
    const labelled = (index: number, outcomeLabel: 'FRAUD_CONFIRMED' | 'FALSE_POSITIVE') => ({
      sourceEventId: results[index]?.source_event_id ?? '',
      outcomeLabel,
      labelledAt: service.clock.at,
    });
    await transaction((db) =>
      importLabels(
        db,
        target,
        [
          ...[0, 1, 2].map((index) => labelled(index, 'FRAUD_CONFIRMED')),
          labelled(3, 'FALSE_POSITIVE'),
          labelled(20, 'FRAUD_CONFIRMED'),
        ],
        (body, subject) => entitiesOf(JSON.parse(body) as TransactionEvent, subject),
      ),
    );
    const version = await save('backtested', { rules: [LARGE] });
    // What is accepted in the millisecond of the order is behind its period.
    service.clock.at += 1;
    const { task_id: taskId } = await service.as('operator').rules.backtest({
      site_code: 'backtested',
      version,
      from: new Date(service.clock.at - HOUR).toISOString(),
      to: new Date(service.clock.at + HOUR).toISOString(),
    });
    await service.runTasks({ [BACKTEST]: backtestTask });
    const task = await service.as('viewer').tasks.status({ task_id: taskId });
    expect(task.state, String(task.error)).to.equal('DONE');
    const report = task.result as {
      events: number;
      skipped: number;
      changed: number;
      hits: { rule: string; events: number; fraud: number; precision: number; recall: number }[];
      blocked: Record<'answered' | 'proposed', { events: number; recall: number }>;
      amounts_changed: unknown;
      examples: { label: string | null }[];
    };
    expect(report).to.include({ events: 600, skipped: 0, changed: 10 });
    expect(report.hits.find(({ rule }) => rule === LARGE.id)).to.deep.include({
      events: 10,
      fraud: 3,
      precision: 0.75,
      recall: 0.75,
    });
    expect(report.blocked.answered).to.include({ events: 0, recall: 0 });
    expect(report.blocked.proposed).to.include({ events: 10, recall: 0.75 });
    expect(report.amounts_changed).to.deep.equal([
      {
        currency: 'EUR',
        answered: 'ALLOW',
        proposed: 'BLOCK_RECOMMENDED',
        amount_minor: 1_500_000,
      },
    ]);
    expect(report.examples.map(({ label }) => label)).to.deep.equal([
      'fraud',
      'fraud',
      'fraud',
      'false positive',
      null,
    ]);
    // Cut off after each slice, and begun again where it was: nothing is counted twice or left out.
    expect(await resumed(taskId)).to.deep.equal(task.result);
    const [untouched] = await service.database.query<{ count: number }>(
      `select count(*)::int as count from evaluation where site_id = $1 and decision <> 'ALLOW'`,
      [target.siteId],
    );
    expect(untouched?.count).to.equal(0);
  }).timeout(15_000);

  it(`give the same results again in a fresh process after rules, lists and model have changed: ${REPLAYED} of ${REPLAYED}`, async () => {
    const target = await makeTarget('replayed');
    const admin = service.as('administrator');
    const position = featurePosition('event_amount') ?? 0;
    const forest = {
      base: -2,
      roots: [0],
      features: Int32Array.from([position, -1, -1]),
      thresholds: Float64Array.from([60_000, 0, 0]),
      lefts: Int32Array.from([1, 0, 0]),
      rights: Int32Array.from([2, 0, 0]),
      values: Float64Array.from([0, -1, 2.5]),
    };
    const text = encodeModel(forest, { scale: 1, shift: 0 });
    const ranking = { auc_roc: 1, average_precision: 1, card_precision_100: 1 };
    const modelId = await transaction((db) =>
      insertModel(db, {
        siteId: target.siteId,
        featuresVersion: FEATURES_VERSION,
        settings: {},
        metrics: { ...ranking, answered: { ...ranking, average_precision: 0 } },
        forest: text,
        contentHash: modelHash(text),
        by: 'test',
        at: service.clock.at,
      }),
    );
    const listing = {
      site_code: 'replayed',
      entity: 'card' as const,
      reason: 'a test',
    };
    const steps: (() => Promise<unknown>)[] = [
      () => Promise.resolve(),
      () => publish('replayed', { rules: [LARGE], block_cap: { share: 0.02, least: 5 } }),
      () => admin.lists.put({ ...listing, list: 'block', values: ['replay-1', 'replay-2'] }),
      () => admin.models.publish({ site_code: 'replayed', model_id: String(modelId) }),
      () =>
        publish('replayed', {
          rules: [{ ...LARGE, points: 70 }],
          without: ['cross_border'],
          thresholds: { review: 20, hold: 50, block: 80 },
        }),
      () => admin.lists.put({ ...listing, list: 'allow', values: ['replay-3'] }),
      () => releaseForAll(1),
      async () => {
        await releaseForAll(0);
        await admin.lists.remove({ ...listing, list: 'block', values: ['replay-1'] });
        await admin.models.rollback({ site_code: 'replayed' });
        await admin.rules.rollback({ site_code: 'replayed', reason: 'a test' });
      },
    ];
    const each = Math.ceil(REPLAYED / steps.length);
    for (const step of steps) {
      await step();
      const worker = newWorker();
      for (let sent = 0; sent < each; sent += 250) {
        service.clock.at += 1_000;
        await judge(
          target,
          worker,
          Array.from({ length: Math.min(250, each - sent) }, (_, index) => ({
            card: `replay-${index % 60}`,
            merchant: `replay-shop-${index % 7}`,
            amount: 1_000 * ((index * 37) % 211),
          })),
        );
      }
    }
    const kinds = await service.database.query<{ kind: string }>(
      `select distinct regexp_replace(key, '_.*', '') as kind from evaluation, jsonb_object_keys(rule_scores) as key
       where site_id = $1 and key ~ '^(list|cap|model)_' order by 1`,
      [target.siteId],
    );
    expect(kinds.map(({ kind }) => kind)).to.deep.equal(['cap', 'list', 'model']);
    const { stdout } = await promisify(execFile)(process.execPath, [
      join(import.meta.dirname, '../support/replay-process.ts'),
      service.database.appUrl,
      String(target.siteId),
    ]);
    expect(JSON.parse(stdout)).to.deep.equal({
      same: each * steps.length,
      unavailable: 0,
      different: [],
    });
  }).timeout(120_000);

  it('read by published versions that this service cannot understand answer ERROR alone, and operators are told', async () => {
    const target = await makeTarget('outdated');
    await service.database.query(
      `insert into rule_set (site_id, version, content, content_hash, comment, created_by, created_at)
       values ($1, 1, $2, '00000000', 'old', 'test', now())`,
      [
        target.siteId,
        JSON.stringify({
          rules: [{ ...LARGE, id: 'gone', when: 'features.card_gone_1h > 1.0' }, LARGE],
        }),
      ],
    );
    await service.database.query(
      `insert into rule_release (site_id, role, version, kind, released_by, released_at)
       values ($1, 'LIVE', 1, 'PUBLISH', 'test', now())`,
      [target.siteId],
    );
    const result = await judgeOne(target, newWorker(), { amount: 200_000 });
    expect(result.rule_scores).to.have.property(LARGE.id, 95);
    const events = await service.database.query(
      `select detail from operator_event where kind = 'rules_unusable' and site_id = $1`,
      [target.siteId],
    );
    expect(events).to.deep.equal([{ detail: { rules: ['gone'] } }]);
  });
});
