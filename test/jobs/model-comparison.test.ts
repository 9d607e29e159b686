import { expect } from 'chai';
import { COMPARE } from '../../contract/comparison.ts';
import { TRAIN } from '../../contract/training.ts';
import { createCompareHandler } from '../../jobs/compare/compare-models.ts';
import { evaluateBatch } from '../../jobs/evaluate-batch.ts';
import { siteEvaluators } from '../../jobs/evaluators.ts';
import { importBatch } from '../../jobs/import-batch.ts';
import { ModelSource } from '../../jobs/site-models.ts';
import { createTrainHandler } from '../../jobs/train/train-model.ts';
import type { Db } from '../../ledger/database.ts';
import { createIdSource } from '../../ledger/ids.ts';
import { importEvents, type ImportTarget, type PastLabel } from '../../ledger/import-events.ts';
import { insertModel, readForest, releaseModel } from '../../ledger/models.ts';
import {
  decodeFeatures,
  decodeModel,
  FEATURES_VERSION,
  judge,
  readEvent,
} from '../../risk/index.ts';
import { LEARNING } from '../../risk/model/learn.ts';
import { modelHash } from '../../risk/model/model.ts';
import {
  createImportTarget,
  NOON,
  refusalOf,
  startAdminService,
  type AdminService,
} from '../routers/admin/admin-service.ts';
import { makePast, type Past, type pastEvent } from '../support/past.ts';

const DAY = 86_400_000;
const LABEL_DELAY = 7 * DAY;
const TRIAL_END = NOON + 45 * DAY;
/** Of the 1,500 payments of the trial the first were answered by the rules alone, the others beside a live model. */
const ALONE = 1_000;

interface Side {
  auc_roc: number;
  average_precision: number;
  card_precision_100: number;
  log_loss: number | null;
  calibration: { events: number }[] | null;
}

interface Result {
  from: string;
  payments: number;
  answered_by: { model_id: string | null; payments: number }[];
  measured: { payments: number; frauds: number; without_label: number };
  shadow: Side | null;
  answered: Side | null;
  decisions: {
    judged: number;
    same: number;
    stricter: number;
    milder: number;
    changes: { answered: string; proposed: string; payments: number; fraud: number }[];
  };
}

interface StoredPayment {
  id: string;
  body: string;
  features: string;
  merchant_subject: string;
  occurred_at: Date;
  received_at: Date;
  decision: string;
  score: number;
  rule_scores: Record<string, number>;
  label: string | null;
}

describe('the comparison of a model in the shadow with what was answered', () => {
  let service: AdminService;
  let target: ImportTarget;
  let liveId: string;
  let shadowId: string;
  let whole: Result;
  const ids = createIdSource();

  const transaction = <T>(work: (db: Db) => Promise<T>): Promise<T> =>
    service.services.orm.em.fork().transactional((em) => work(em.getKysely()));
  const newModels = (): ModelSource =>
    new ModelSource({ transaction, clock: service.services.clock });

  /** Lives through a past, with the labels that were due before each slice, and whatever is in the shadow beside it. */
  const live = async ({ events, labels }: Past, models: () => ModelSource): Promise<void> => {
    let next = 0;
    for (let at = 0; at < events.length; at += 100) {
      const slice = events.slice(at, at + 100);
      const now = slice.at(-1)?.at ?? 0;
      const due: PastLabel[] = [];
      while ((labels[next]?.labelledAt ?? Infinity) <= now) due.push(labels[next++] as PastLabel);
      const evaluators = siteEvaluators(models());
      await transaction(async (db) => {
        await importBatch(db, { ids, target, evaluators }, { events: [], labels: due }, now);
        const { added } = await importEvents(db, ids, target, slice);
        const { failed } = await evaluateBatch(db, added, now, {
          evaluators,
          record: (own, judged, evaluatedAt) => models().recordShadows(own, judged, evaluatedAt),
        });
        expect(failed).to.deep.equal([]);
      });
    }
  };

  const learn = async (trees: number): Promise<string> => {
    const admin = service.as('administrator');
    const { task_id: taskId } = await admin.models.train({ site_code: 'trial' });
    await service.runTasks({
      [TRAIN]: createTrainHandler({
        appUrl: service.database.appUrl,
        clock: service.services.clock,
        learning: { ...LEARNING, trees, rate: 0.15, featureShare: 0.6 },
      }),
    });
    const { result } = await admin.tasks.status({ task_id: taskId });
    return String((result as Record<string, unknown>)['model_id']);
  };

  /** The same model, but far too sure of frauds. */
  const exaggerate = (modelId: string): Promise<string> =>
    transaction(async (db) => {
      const text = (await readForest(db, target.siteId, BigInt(modelId))) ?? '';
      const model = JSON.parse(text) as { calibration: { scale: number; shift: number } };
      model.calibration.shift += 3;
      const forest = JSON.stringify(model);
      const id = await insertModel(db, {
        siteId: target.siteId,
        featuresVersion: FEATURES_VERSION,
        settings: {},
        metrics: {},
        forest,
        contentHash: modelHash(forest),
        by: 'test',
        at: service.clock.at,
      });
      return String(id);
    });

  const compare = async (since?: number, most?: number): Promise<Result> => {
    const { task_id: taskId } = await service.as('operator').models.compare({
      site_code: 'trial',
      model_id: shadowId,
      ...(since === undefined ? {} : { since: new Date(since).toISOString() }),
    });
    const options = { appUrl: service.database.appUrl, ...(most === undefined ? {} : { most }) };
    await service.runTasks({ [COMPARE]: createCompareHandler(options) });
    const task = await service.as('viewer').tasks.status({ task_id: taskId });
    expect(task.state, String(task.error)).to.equal('DONE');
    expect([task.done, task.total]).to.deep.equal([100, 100]);
    return task.result as unknown as Result;
  };

  const stored = (): Promise<StoredPayment[]> =>
    service.database.query<StoredPayment & Record<string, unknown>>(
      `select event.id, payload.body, seen.features, event.merchant_subject, event.occurred_at, event.received_at,
         result.decision, result.score, result.rule_scores,
         (select outcome_label from outcome_label label where label.site_id = event.site_id and label.ingestion_id = event.id
          order by labelled_at desc limit 1) as label
       from ingestion event
       join ingestion_payload payload on payload.site_id = event.site_id and payload.ingestion_id = event.id
       join evaluation result on result.site_id = event.site_id and result.ingestion_id = event.id
       join evaluation_features seen on seen.site_id = event.site_id and seen.ingestion_id = event.id
       where event.site_id = $1 and event.received_at >= $2 order by event.id`,
      [target.siteId, new Date(NOON)],
    );

  before(async function () {
    this.timeout(120_000);
    service = await startAdminService();
    const admin = service.as('administrator');
    target = await createImportTarget(service, 'trial');
    const none = newModels();
    await live(makePast(3_000, NOON - 1, 1), () => none);
    shadowId = await learn(40);
    liveId = await exaggerate(shadowId);
    await admin.models.shadow({ site_code: 'trial', model_id: shadowId });
    const { events, labels } = makePast(1_500, TRIAL_END, 5);
    const genuine = events
      .filter((_, index) => index % 10 === 0)
      .filter(({ id }) => !labels.some(({ sourceEventId }) => sourceEventId === id))
      .map(({ id, at }) => ({
        sourceEventId: id,
        outcomeLabel: 'FALSE_POSITIVE' as const,
        labelledAt: at + DAY,
      }));
    const all = [...labels, ...genuine].toSorted((a, b) => a.labelledAt - b.labelledAt);
    let models = newModels();
    await live({ events: events.slice(0, ALONE), labels: all }, () => models);
    // Whatever it is worth: the comparison must not need a good one.
    await transaction((db) =>
      releaseModel(db, {
        siteId: target.siteId,
        role: 'LIVE',
        modelId: BigInt(liveId),
        kind: 'PUBLISH',
        by: 'test',
        at: service.clock.at,
      }),
    );
    models = newModels();
    const until = events[ALONE]?.at ?? 0;
    const later = all.filter(({ labelledAt }) => labelledAt >= until - 2 * DAY);
    await live({ events: events.slice(ALONE), labels: later }, () => models);
    service.clock.at = TRIAL_END;
    whole = await compare();
  });
  after(() => service.close());

  it('counts every payment once, by what answered it, and measures those whose label delay is over', async () => {
    const payments = await stored();
    expect(whole.payments).to.equal(1_500);
    const byModel = payments.filter((each) => each.rule_scores['model_probability'] !== undefined);
    expect(byModel.length).to.equal(1_500 - ALONE);
    expect(whole.answered_by).to.have.deep.members([
      { model_id: null, payments: 1_500 - byModel.length },
      { model_id: liveId, payments: byModel.length },
    ]);
    const settled = payments.filter(
      ({ occurred_at: at }) => at.getTime() < TRIAL_END - LABEL_DELAY,
    );
    expect(whole.measured).to.deep.equal({
      payments: settled.length,
      frauds: settled.filter(({ label }) => label === 'FRAUD_CONFIRMED').length,
      without_label: settled.filter(({ label }) => label === null).length,
    });
    expect(whole.measured.frauds).to.be.greaterThan(50);
  }).timeout(30_000);

  it('ranks both sides as a naive recomputation does, and calibrates where there was a probability', async () => {
    const { answered, shadow } = whole;
    const model = decodeModel(
      shadowId,
      (await transaction((db) => readForest(db, target.siteId, BigInt(shadowId)))) ?? '',
    );
    const settled = (await stored()).filter(
      ({ occurred_at: at }) => at.getTime() < TRIAL_END - LABEL_DELAY,
    );
    const frauds = settled.map(({ label }) => label === 'FRAUD_CONFIRMED');
    const proposed = settled.map((payment) => probabilityAgain(payment, model));
    const given = settled.map(
      ({ rule_scores: scores, score }) => scores['model_probability'] ?? score / 100,
    );
    expect(shadow?.auc_roc).to.be.closeTo(naiveAuc(proposed, frauds), 1e-9);
    expect(answered?.auc_roc).to.be.closeTo(naiveAuc(given, frauds), 1e-9);
    const loss =
      proposed.reduce((sum, p, i) => sum - Math.log(frauds[i] === true ? p : 1 - p), 0) /
      proposed.length;
    expect(shadow?.log_loss).to.be.closeTo(loss, 1e-9);
    const banded = shadow?.calibration?.reduce((sum, { events }) => sum + events, 0);
    expect(banded).to.equal(settled.length);
    // Most payments were answered by the rules alone.
    expect([answered?.log_loss, answered?.calibration]).to.deep.equal([null, null]);
    expect(shadow?.card_precision_100).to.be.greaterThan(0);
    // From then on a model answered too.
    const late = await compare(NOON + 31 * DAY);
    expect(late.answered?.log_loss).to.be.a('number');
    expect(late.shadow?.log_loss).to.be.below(late.answered?.log_loss ?? 0);
  }).timeout(30_000);

  it('tells the decisions that would change, both ways, as judging again with the model in place does', async () => {
    const { decisions } = whole;
    const model = decodeModel(
      shadowId,
      (await transaction((db) => readForest(db, target.siteId, BigInt(shadowId)))) ?? '',
    );
    const expected = new Map<string, { payments: number; fraud: number }>();
    for (const payment of await stored()) {
      const proposed = judgeAgain(payment, model).risk.decision;
      if (proposed === payment.decision) continue;
      const name = `${payment.decision} ${proposed}`;
      const sum = expected.get(name) ?? { payments: 0, fraud: 0 };
      expected.set(name, sum);
      sum.payments += 1;
      if (payment.label === 'FRAUD_CONFIRMED') sum.fraud += 1;
    }
    const found = new Map(
      decisions.changes.map(({ answered, fraud, payments, proposed }) => [
        `${answered} ${proposed}`,
        { payments, fraud },
      ]),
    );
    expect(found).to.deep.equal(expected);
    expect(decisions.judged).to.equal(1_500);
    expect(decisions.same + decisions.stricter + decisions.milder).to.equal(1_500);
    expect(decisions.stricter).to.be.greaterThan(0);
    expect(decisions.milder).to.be.greaterThan(0);
  }).timeout(30_000);

  it('goes back as far as asked, and as there is room for, from the latest payment on', async () => {
    const since = TRIAL_END - 3 * DAY;
    const recent = await compare(since);
    const count = (await stored()).filter(({ occurred_at: at }) => at.getTime() >= since).length;
    expect(recent.payments).to.be.closeTo(count, 100);
    // Nobody knows yet how these turned out.
    expect([recent.measured.payments, recent.shadow, recent.answered]).to.deep.equal([
      0,
      null,
      null,
    ]);
    const few = await compare(undefined, 250);
    expect(few.payments).to.equal(250);
    expect(Date.parse(few.from)).to.be.greaterThan(TRIAL_END - 10 * DAY);
  }).timeout(30_000);

  it('is refused for a model that was never in the shadow, and for another Site’s as for none', async () => {
    const operator = service.as('operator');
    const never = await refusalOf(
      operator.models.compare({ site_code: 'trial', model_id: liveId }),
    );
    expect(never.code).to.equal('PRECONDITION_FAILED');
    expect(never.message).to.include('never in the shadow');
    await service.as('administrator').sites.create({
      code: 'stranger',
      name: 'Stranger',
      customer_type: 'SINGLE_COMPANY',
    });
    const foreign = await refusalOf(
      operator.models.compare({ site_code: 'stranger', model_id: shadowId }),
    );
    const missing = await refusalOf(
      operator.models.compare({ site_code: 'stranger', model_id: '999999' }),
    );
    expect(foreign.code).to.equal('NOT_FOUND');
    expect(foreign.message.replace(shadowId, '')).to.equal(missing.message.replace('999999', ''));
    const future = await refusalOf(
      operator.models.compare({
        site_code: 'trial',
        model_id: shadowId,
        since: '2027-01-01T00:00:00Z',
      }),
    );
    expect(future.code).to.equal('BAD_REQUEST');
  });
});

type Model = ReturnType<typeof decodeModel>;

function judgeAgain(payment: StoredPayment, model: Model) {
  const event = readEvent({
    ingestionId: payment.id,
    event: JSON.parse(payment.body) as ReturnType<typeof pastEvent>,
    merchantSubject: payment.merchant_subject,
    occurredAt: payment.occurred_at.getTime(),
    receivedAt: payment.received_at.getTime(),
    originalKnown: null,
  });
  return judge(event, decodeFeatures(payment.features), undefined, model);
}

const probabilityAgain = (payment: StoredPayment, model: Model): number =>
  judgeAgain(payment, model).risk.rule_scores['model_probability'] ?? Number.NaN;

/** The share of pairs of a fraud and another that are in the right order; ties count half. */
function naiveAuc(scores: readonly number[], frauds: readonly boolean[]): number {
  let right = 0;
  let pairs = 0;
  for (const [a, fraud] of scores.entries()) {
    if (frauds[a] !== true) continue;
    for (const [b, other] of scores.entries()) {
      if (frauds[b] === true) continue;
      pairs += 1;
      right += fraud > other ? 1 : fraud === other ? 0.5 : 0;
    }
  }
  return right / pairs;
}
