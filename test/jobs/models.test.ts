import { expect } from 'chai';
import { evaluateBatch } from '../../jobs/evaluate-batch.ts';
import { siteEvaluators } from '../../jobs/evaluators.ts';
import { importBatch } from '../../jobs/import-batch.ts';
import { ModelSource } from '../../jobs/site-models.ts';
import { orderDueTrainings } from '../../jobs/train/schedule.ts';
import { createTrainHandler } from '../../jobs/train/train-model.ts';
import { TRAIN } from '../../contract/training.ts';
import type { Db } from '../../ledger/database.ts';
import { createIdSource } from '../../ledger/ids.ts';
import { importEvents, type ImportTarget, type PastLabel } from '../../ledger/import-events.ts';
import type { LedgerPlace } from '../../ledger/ledger-place.ts';
import { insertModel, readForest } from '../../ledger/models.ts';
import { readCandidates, type CandidatePage } from '../../ledger/training-rows.ts';
import {
  decodeFeatures,
  decodeModel,
  FEATURES_VERSION,
  judge,
  readEvent,
} from '../../risk/index.ts';
import { LEARNING } from '../../risk/model/learn.ts';
import {
  createImportTarget,
  NOON,
  refusalOf,
  startAdminService,
  type AdminService,
} from '../routers/admin/admin-service.ts';
import { makePast, pastEvent, type Past } from '../support/past.ts';

const DAY = 86_400_000;
const QUICK = { ...LEARNING, trees: 40, rate: 0.15, featureShare: 0.6 };

describe('models', () => {
  let service: AdminService;
  let target: ImportTarget;
  const ids = createIdSource();

  const transaction = <T>(work: (db: Db) => Promise<T>): Promise<T> =>
    service.services.orm.em.fork().transactional((em) => work(em.getKysely()));

  const makeTarget = (code: string): Promise<ImportTarget> => createImportTarget(service, code);

  /** Lives through a past, in slices of two hundred events with the labels that were due before them. */
  const live = async (to: ImportTarget, past: Past, models: ModelSource): Promise<void> => {
    let next = 0;
    for (let at = 0; at < past.events.length; at += 200) {
      const events = past.events.slice(at, at + 200);
      const labels: PastLabel[] = [];
      const from = events[0]?.at ?? 0;
      while ((past.labels[next]?.labelledAt ?? Infinity) <= from) {
        labels.push(past.labels[next++] as PastLabel);
      }
      const evaluators = siteEvaluators(models);
      const now = events.at(-1)?.at ?? from;
      const { failed } = await transaction((db) =>
        importBatch(db, { ids, target: to, evaluators }, { events, labels }, now),
      );
      expect(failed).to.deep.equal([]);
    }
  };

  const newModels = (): ModelSource =>
    new ModelSource({ transaction, clock: service.services.clock });
  const train = async (code: string, mostRows?: number): Promise<Record<string, unknown>> => {
    const admin = service.as('administrator');
    const { task_id: taskId } = await admin.models.train({ site_code: code });
    await service.runTasks({
      [TRAIN]: createTrainHandler({
        appUrl: service.database.appUrl,
        clock: service.services.clock,
        learning: QUICK,
        ...(mostRows === undefined ? {} : { mostRows }),
      }),
    });
    const task = await admin.tasks.status({ task_id: taskId });
    expect(task.state, String(task.error)).to.equal('DONE');
    return task.result as Record<string, unknown>;
  };

  interface Result {
    id: string;
    score: number;
    reasons: string[];
    rule_scores: Record<string, number>;
    evaluator_version: string;
  }

  /** Sends one payment through and answers its result. */
  const judgeNow = async (to: ImportTarget, models: ModelSource, id: string): Promise<Result> => {
    const at = service.clock.at;
    const event = pastEvent(id, at, { card: 'card-1', merchant: 'shop-1', amount: 5_000 });
    await transaction((db) =>
      importBatch(
        db,
        { ids, target: to, evaluators: siteEvaluators(models) },
        { events: [{ event }], labels: [] },
        at,
      ),
    );
    const [row] = await service.database.query<Result & Record<string, unknown>>(
      `select event.id, result.score, result.reasons, result.rule_scores, result.evaluator_version
       from ingestion event join evaluation result on result.site_id = event.site_id and result.ingestion_id = event.id
       where event.site_id = $1 and event.source_event_id = $2`,
      [to.siteId, id],
    );
    if (row === undefined) throw new Error('not judged');
    return row;
  };

  let first: Record<string, unknown>;

  before(async () => {
    service = await startAdminService();
    target = await makeTarget('learned');
    await live(target, makePast(4_000, NOON, 1), newModels());
    first = await train('learned');
  });

  after(() => service.close());

  it('are learned from the features stored with the evaluations, and are better than the rules were', () => {
    const metrics = first['metrics'] as Record<string, number> & {
      answered: Record<string, number>;
    };
    expect(first['model_id']).to.be.a('string');
    expect(metrics['average_precision']).to.be.greaterThan(0.4);
    expect(metrics['average_precision']).to.be.greaterThan(
      metrics.answered['average_precision'] as number,
    );
    // What happened in the last seven days may yet be labelled: it is not learned from.
    expect(Date.parse(String(metrics['trained_to']))).to.be.below(NOON - 7 * DAY);
  });

  it('are the same to the last digit when learned again from the same ledger', async () => {
    await train('learned');
    const { items } = await service.as('viewer').models.list({ site_code: 'learned' });
    expect(items).to.have.length(2);
    expect(new Set(items.map((model) => model.content_hash)).size).to.equal(1);
    expect(items.every(({ role, usable }) => role === 'NONE' && usable)).to.equal(true);
  }).timeout(30_000);

  it('are learned from every payment of the period once, however short the pages it is read in', async () => {
    const period = { from: NOON - 35 * DAY, to: NOON - 7 * DAY };
    const whole = await transaction((db) => readCandidates(db, target.siteId, period));
    expect(whole.next).to.equal(undefined);
    expect(whole.rows.length).to.equal((first['metrics'] as { rows: number }).rows);
    expect(new Set(whole.rows.map(({ ingestionId }) => ingestionId)).size).to.equal(
      whole.rows.length,
    );
    for (const limit of [7, 500]) {
      const rows = [];
      let after: LedgerPlace | undefined;
      do {
        const page: CandidatePage = await transaction((db) =>
          readCandidates(db, target.siteId, period, after, limit),
        );
        rows.push(...page.rows);
        after = page.next;
      } while (after !== undefined);
      expect(rows).to.deep.equal(whole.rows);
    }
  });

  it('are learned from all frauds and a sample of the rest where payments are too many', async () => {
    const all = first['metrics'] as Record<string, number>;
    const sampled = await train('learned', 1_500);
    const metrics = sampled['metrics'] as Record<string, number>;
    expect(metrics['rows']).to.equal(1_500);
    expect(metrics['frauds']).to.equal(all['frauds']);
    expect(metrics['average_precision']).to.be.greaterThan(
      (all['average_precision'] as number) * 0.7,
    );
  }).timeout(30_000);

  it('change nothing in the shadow but a score of their own', async () => {
    const models = newModels();
    await service
      .as('administrator')
      .models.shadow({ site_code: 'learned', model_id: String(first['model_id']) });
    const before = await judgeNow(target, models, 'in-the-shadow');
    expect(before.rule_scores).not.to.have.property('model_probability');
    expect(before.evaluator_version).to.match(/\+model\.none$/);
    const event = pastEvent('shadowed', service.clock.at, {
      card: 'card-1',
      merchant: 'shop-1',
      amount: 5_000,
    });
    await transaction(async (db) => {
      const { added } = await importEvents(db, ids, target, [{ event }]);
      await evaluateBatch(db, added, service.clock.at, {
        evaluators: siteEvaluators(models),
        record: (own, judged, now) => models.recordShadows(own, judged, now),
      });
    });
    const scores = await service.database.query(
      'select model_id, live_probability, probability > 0 as said from model_shadow_score where site_id = $1',
      [target.siteId],
    );
    expect(scores).to.deep.equal([
      { model_id: String(first['model_id']), live_probability: null, said: true },
    ]);
    await service.as('administrator').models.stop_shadow({ site_code: 'learned' });
  });

  it('judge within two seconds of their publication, and only their own Site', async () => {
    const neighbour = await makeTarget('neighbour');
    const models = newModels();
    expect((await judgeNow(target, models, 'before')).evaluator_version).to.match(/model\.none$/);
    await service
      .as('administrator')
      .models.publish({ site_code: 'learned', model_id: String(first['model_id']) });
    const deadline = performance.now() + 2_000;
    let result = await judgeNow(target, models, 'after-0');
    for (let i = 1; result.rule_scores['model_probability'] === undefined; i++) {
      if (performance.now() > deadline) expect.fail('the model did not judge in time');
      result = await judgeNow(target, models, `after-${i}`);
    }
    expect(result.evaluator_version).to.match(
      new RegExp(`\\+model\\.${String(first['model_id'])}\\.[0-9a-f]{8}$`),
    );
    const other = await judgeNow(neighbour, models, 'elsewhere');
    expect(other.rule_scores).not.to.have.property('model_probability');
  });

  it('are of no other Site: its model is answered like one that does not exist', async () => {
    const admin = service.as('administrator');
    const modelId = String(first['model_id']);
    for (const call of ['shadow', 'publish'] as const) {
      const foreign = await refusalOf(
        admin.models[call]({ site_code: 'neighbour', model_id: modelId }),
      );
      const missing = await refusalOf(
        admin.models[call]({ site_code: 'neighbour', model_id: '999999' }),
      );
      expect(foreign.code).to.equal('NOT_FOUND');
      expect(foreign.message.replace(modelId, '')).to.equal(missing.message.replace('999999', ''));
    }
  });

  it('give the same result again from what is stored, bit for bit, for every event', async () => {
    const rows = await service.database.query<
      Result & {
        body: string;
        features: string;
        merchant_subject: string;
        occurred_at: Date;
        received_at: Date;
      }
    >(
      `select event.id, payload.body, seen.features, event.merchant_subject, event.occurred_at, event.received_at,
         result.score, result.reasons, result.rule_scores, result.evaluator_version
       from ingestion event
       join ingestion_payload payload on payload.site_id = event.site_id and payload.ingestion_id = event.id
       join evaluation result on result.site_id = event.site_id and result.ingestion_id = event.id
       join evaluation_features seen on seen.site_id = event.site_id and seen.ingestion_id = event.id
       where event.site_id = $1`,
      [target.siteId],
    );
    expect(rows.length).to.be.greaterThan(4_000);
    const modelId = BigInt(String(first['model_id']));
    const text = await transaction((db) => readForest(db, target.siteId, modelId));
    const model = decodeModel(String(modelId), text ?? '');
    let byModel = 0;
    for (const row of rows) {
      const event = readEvent({
        ingestionId: row.id,
        event: JSON.parse(row.body) as ReturnType<typeof pastEvent>,
        merchantSubject: row.merchant_subject,
        occurredAt: row.occurred_at.getTime(),
        receivedAt: row.received_at.getTime(),
        originalKnown: null,
      });
      const isByModel = !row.evaluator_version.endsWith('model.none');
      const { risk } = judge(
        event,
        decodeFeatures(row.features),
        undefined,
        isByModel ? model : undefined,
      );
      if (isByModel) byModel++;
      const { score, reasons, rule_scores, evaluator_version } = row;
      expect({ score, reasons, rule_scores, evaluator_version }).to.deep.equal({
        score: risk.score,
        reasons: risk.reasons,
        rule_scores: risk.rule_scores,
        evaluator_version: risk.evaluator_version,
      });
    }
    expect(byModel).to.be.greaterThan(0);
  });

  it('are taken back one release at a time, to the rules alone in the end', async () => {
    const admin = service.as('administrator');
    const { items } = await admin.models.list({ site_code: 'learned' });
    const second = items.find(({ role }) => role === 'NONE');
    await admin.models.publish({ site_code: 'learned', model_id: second?.model_id ?? '0' });
    const back = await admin.models.rollback({ site_code: 'learned' });
    expect(back.live_model_id).to.equal(first['model_id']);
    const none = await admin.models.rollback({ site_code: 'learned' });
    expect(none.live_model_id).to.equal(null);
    const { evaluator_version: version } = await judgeNow(target, newModels(), 'rolled-back');
    expect(version).to.match(/model\.none$/);
    const refused = await refusalOf(admin.models.rollback({ site_code: 'learned' }));
    expect(refused.code).to.equal('PRECONDITION_FAILED');
  });

  it('that rank worse than what was answered, or were learned from other features, are not published', async () => {
    const admin = service.as('administrator');
    const ranking = { auc_roc: 0.9, average_precision: 0.5, card_precision_100: 0.1 };
    const insert = (featuresVersion: number, answered: number): Promise<bigint> =>
      transaction((db) =>
        insertModel(db, {
          siteId: target.siteId,
          featuresVersion,
          settings: {},
          metrics: { ...ranking, answered: { ...ranking, average_precision: answered } },
          forest: '{}',
          contentHash: '00000000',
          by: 'test',
          at: service.clock.at,
        }),
      );
    const worse = await insert(FEATURES_VERSION, 0.51);
    const old = await insert(FEATURES_VERSION - 1, 0.1);
    for (const [id, words] of [
      [worse, /average precision of 0.500 where the answers given had 0.510/],
      [old, /learned from features of version/],
    ] as const) {
      const refused = await refusalOf(
        admin.models.publish({ site_code: 'learned', model_id: String(id) }),
      );
      expect(refused.code).to.equal('PRECONDITION_FAILED');
      expect(refused.message).to.match(words);
    }
  });

  it('that cannot be read leave the rules to judge, and operators are told once', async () => {
    const ranking = { auc_roc: 1, average_precision: 1, card_precision_100: 1 };
    const broken = await transaction((db) =>
      insertModel(db, {
        siteId: target.siteId,
        featuresVersion: FEATURES_VERSION,
        settings: {},
        metrics: { ...ranking, answered: { ...ranking, average_precision: 0 } },
        forest: '{}',
        contentHash: '00000000',
        by: 'test',
        at: service.clock.at,
      }),
    );
    const admin = service.as('administrator');
    await admin.models.publish({ site_code: 'learned', model_id: String(broken) });
    const models = newModels();
    for (const id of ['unusable-1', 'unusable-2']) {
      const result = await judgeNow(target, models, id);
      expect(result.evaluator_version).to.match(/model\.none$/);
    }
    const events = await service.database.query(
      `select subject from operator_event where kind = 'model_unusable'`,
    );
    expect(events).to.deep.equal([{ subject: `model ${broken}` }]);
    await admin.models.rollback({ site_code: 'learned' });
  });

  it('are not learned from too few labels: the result and an event say so, and the rules go on alone', async () => {
    const young = await makeTarget('young');
    const past = makePast(300, NOON, 2);
    await live(young, { events: past.events, labels: past.labels.slice(0, 3) }, newModels());
    const result = await train('young');
    expect(result['model_id']).to.equal(null);
    expect(result['reason']).to.match(/too few to learn from/);
    const [event] = await service.database.query<{ detail: { reason: string } }>(
      `select detail from operator_event where kind = 'model_not_learned'`,
    );
    expect(event?.detail.reason).to.equal(result['reason']);
  });

  it('are learned by schedule once every seven days, by one worker, where there are labels', async () => {
    const order = (): Promise<number> =>
      orderDueTrainings({
        transaction,
        startTask: service.services.startTask,
        clock: service.services.clock,
        onFault: () => undefined,
      });
    const sites = (await Promise.all([order(), order()])).reduce((sum, each) => sum + each, 0);
    // Those with labels, once each; the neighbour has none.
    expect(sites).to.equal(2);
    expect(await order()).to.equal(0);
    await service.as('administrator').models.configure({
      site_code: 'young',
      train_every_days: 0,
    });
    service.clock.at += 7 * DAY;
    expect(await order()).to.equal(1);
    service.clock.at -= 7 * DAY;
  });
});

describe('imported history', () => {
  let service: AdminService;
  before(async () => {
    service = await startAdminService();
  });
  after(() => service.close());

  it('is dated by its own times, costs no quota, queues nothing and is imported once', async () => {
    const target = await createImportTarget(service, 'past');
    const transaction = <T>(work: (db: Db) => Promise<T>): Promise<T> =>
      service.services.orm.em.fork().transactional((em) => work(em.getKysely()));
    const evaluators = siteEvaluators(
      new ModelSource({ transaction, clock: service.services.clock }),
    );
    const { events, labels } = makePast(300, NOON, 3);
    const slice = { events, labels: [] };
    const ids = createIdSource();
    const once = (): ReturnType<typeof importBatch> =>
      transaction((db) => importBatch(db, { ids, target, evaluators }, slice, NOON));
    expect((await once()).judged).to.have.length(300);
    const again = await once();
    expect(again.events).to.deep.equal({ added: [], known: 300, conflicts: [] });
    const changed = pastEvent('past-3-0', NOON, { card: 'x', merchant: 'y', amount: 1 });
    const other = await transaction((db) =>
      importBatch(
        db,
        { ids, target, evaluators },
        { events: [{ event: changed }], labels: [...labels, ...labels] },
        NOON,
      ),
    );
    expect(other.events.conflicts).to.deep.equal(['past-3-0']);
    expect(other.labels.added).to.equal(labels.length);
    const relabelled = await transaction((db) =>
      importBatch(db, { ids, target, evaluators }, { events: [], labels }, NOON),
    );
    expect(relabelled.labels).to.deep.include({ added: 0, known: labels.length });
    const [counts] = await service.database.query(
      `select (select count(*)::int from ingestion) as events, (select count(*)::int from evaluation) as results,
         (select count(*)::int from usage_counter) as counters, (select count(*)::int from idempotency_key) as keys,
         (select count(*)::int from pgboss.job) as jobs, (select count(*)::int from webhook_event) as webhooks,
         (select count(*)::int from ingestion where received_at <> occurred_at) as misdated,
         (select sum(frauds)::int from entity_label_day where day = 2147483647 and entity_kind = 'card') as frauds`,
    );
    expect(counts).to.deep.equal({
      events: 300,
      results: 300,
      counters: 0,
      keys: 0,
      jobs: 0,
      webhooks: 0,
      misdated: 0,
      frauds: labels.length,
    });
  });
});
