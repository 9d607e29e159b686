import { expect } from 'chai';
import { judge, MODEL_PROBABILITY } from '../../../risk/evaluate.ts';
import { FEATURES_VERSION } from '../../../risk/features/definitions.ts';
import { boost } from '../../../risk/model/boost.ts';
import { contributionsOf, logitOf, sigmoid } from '../../../risk/model/forest.ts';
import { learn, LEARNING, TooFewLabels } from '../../../risk/model/learn.ts';
import { rankingMetrics, type ScoredRow } from '../../../risk/model/metrics.ts';
import { decodeModel, encodeModel, probabilityOf, type Model } from '../../../risk/model/model.ts';
import { make, randomSource } from '../events.ts';
import { at, makeRows } from './rows.ts';

const SETTINGS = { ...LEARNING, trees: 60, rate: 0.1, featureShare: 0.8 };
const vectorOf = (values: readonly number[]) => ({
  version: FEATURES_VERSION,
  values: [...values],
});

describe('a learned model', () => {
  const { rows, vectors } = makeRows(6_000, 1);
  let model: Model;
  let text: string;
  let metrics: ReturnType<typeof learn>['metrics'];

  before(() => {
    const learned = learn(rows, SETTINGS, () => undefined);
    text = encodeModel(learned.forest, learned.calibration);
    model = decodeModel('7', text);
    ({ metrics } = learned);
  });

  it('is the same to the last digit when learned again from the same rows', () => {
    const again = learn(makeRows(6_000, 1).rows, SETTINGS, () => undefined);
    expect(encodeModel(again.forest, again.calibration)).to.equal(text);
    const other = learn(makeRows(6_000, 2).rows, SETTINGS, () => undefined);
    expect(encodeModel(other.forest, other.calibration)).not.to.equal(text);
  });

  it('scores raw values exactly as it scored their bins while it was learned', () => {
    const all = Uint32Array.from(vectors, (_, row) => row);
    let last = new Float64Array(0);
    const forest = boost(rows, all, { ...SETTINGS, trees: 20 }, (_tree, logits) => {
      last = logits.slice();
      return true;
    });
    for (const [row, vector] of vectors.entries()) {
      expect(logitOf(forest, vector)).to.be.closeTo(last[row] as number, 1e-12);
    }
  });

  it('learned in thinner samples finds the same, and is as honest: a genuine row stands for those left out', () => {
    const all = Uint32Array.from(vectors, (_, row) => row);
    const meanOf = (treeRows: number): { mean: number; separation: number } => {
      const forest = boost(rows, all, { ...SETTINGS, treeRows });
      const probabilities = vectors.map((vector) => sigmoid(logitOf(forest, vector)));
      const sum = (label: number): number =>
        probabilities.reduce(
          (total, each, row) => total + (rows.labels[row] === label ? each : 0),
          0,
        );
      const frauds = rows.labels.reduce((total, label) => total + label, 0);
      return {
        mean: (sum(0) + sum(1)) / vectors.length,
        separation: sum(1) / frauds - sum(0) / (vectors.length - frauds),
      };
    };
    const whole = meanOf(Infinity);
    expect(meanOf(6_000)).to.deep.equal(whole);
    // Of the frauds as many are seen as ever, of the genuine rows a third.
    const thin = meanOf(1_800);
    expect(thin).not.to.deep.equal(whole);
    expect(thin.mean).to.be.within(whole.mean * 0.9, whole.mean * 1.1);
    expect(thin.separation).to.be.above(whole.separation * 0.85);
  });

  it('finds what it was not told, on a later time than it learned from', () => {
    expect(metrics.auc_roc).to.be.greaterThan(0.85);
    expect(metrics.average_precision).to.be.greaterThan(0.5);
    expect(metrics.validation_frauds).to.be.greaterThan(100);
    const low = vectorOf(vectors[0] as number[]);
    const high = vectorOf(vectors[0] as number[]);
    low.values[at('card_amount_ratio_30d')] = 1;
    low.values[at('merchant_frauds_labelled_30d')] = 0;
    high.values[at('card_amount_ratio_30d')] = 5.9;
    high.values[at('merchant_frauds_labelled_30d')] = 3;
    expect(probabilityOf(model, low)).to.be.below(0.1);
    expect(probabilityOf(model, high)).to.be.above(0.3);
  });

  it('gives probabilities that come true: among the many it trusts, the few it does not, and all together', () => {
    // What lies between are the trees' own doubts about an edge that is sharp in truth.
    for (const [from, to] of [
      [0, 0.1],
      [0.4, 1],
      [0, 1],
    ] as const) {
      const bands = metrics.calibration.filter((band) => band.from >= from && band.to <= to);
      const sum = (of: (band: (typeof bands)[number]) => number): number =>
        bands.reduce((total, band) => total + of(band), 0);
      const events = sum((band) => band.events);
      const expected = sum((band) => band.events * band.mean_probability);
      const happened = sum((band) => band.events * band.fraud_share);
      expect(events, `${from} to ${to}`).to.be.greaterThan(80);
      // Three deviations of so many frauds.
      const spread = 3 * Math.sqrt(expected * (1 - expected / events));
      expect(happened, `${from} to ${to}`).to.be.closeTo(expected, spread);
    }
  });

  it('comes back from its text to the last bit', () => {
    const learned = learn(rows, SETTINGS, () => undefined);
    for (const vector of vectors.slice(0, 500)) {
      expect(logitOf(model.forest, vector)).to.equal(logitOf(learned.forest, vector));
    }
    expect(encodeModel(model.forest, model.calibration)).to.equal(text);
  });

  it('of other features, or damaged, is refused instead of guessed', () => {
    const stored = JSON.parse(text) as { features: number[]; lefts: number[] };
    const damaged = (change: object): string => JSON.stringify({ ...stored, ...change });
    for (const wrong of [
      damaged({ features_version: FEATURES_VERSION + 1 }),
      damaged({ names: ['card_attempts_of_old'] }),
      damaged({ roots: [-1] }),
      damaged({ values: [] }),
      damaged({ lefts: stored.lefts.map(() => 0) }),
      damaged({ features: stored.features.map(() => 10_000) }),
    ]) {
      expect(() => decodeModel('7', wrong)).to.throw(RangeError);
    }
  });

  it('explains itself: what moved a score adds up to it', () => {
    const mean = model.forest.roots.reduce(
      (sum, root) => sum + (model.forest.values[root] as number),
      model.forest.base,
    );
    for (const vector of vectors.slice(0, 200)) {
      const moved = [...contributionsOf(model.forest, vector).values()];
      const total = moved.reduce((sum, change) => sum + change, mean);
      expect(total).to.be.closeTo(logitOf(model.forest, vector), 1e-9);
    }
  });

  it('judges beside the rules: the higher one is the score, its probability and reason are shown, no amount is', () => {
    const frauds = vectors.filter((_, row) => rows.labels[row] === 1);
    let reasons = 0;
    for (const vector of frauds.slice(0, 100)) {
      const features = vectorOf(vector);
      const event = make({ amount: vector[at('event_amount')] as number });
      const alone = judge(event, features).risk;
      const { risk } = judge(event, features, undefined, model);
      const probability = risk.rule_scores[MODEL_PROBABILITY];
      expect(probability).to.equal(probabilityOf(model, features));
      const points = Math.round(100 * Math.cbrt(probability as number));
      expect(risk.score).to.equal(Math.max(alone.score, points));
      expect(risk.evaluator_version).to.match(/\+model\.7\.[0-9a-f]{8}$/);
      const [reason] = risk.reasons.filter((each) => each.startsWith('The model sees'));
      expect(reason === undefined).to.equal(points < 30);
      if (reason === undefined) continue;
      reasons++;
      expect(reason).to.match(/^The model sees a fraud probability of [\d.]+ %/);
      expect(reason).not.to.contain(String(vector[at('event_amount')]));
    }
    expect(reasons).to.be.greaterThan(20);
  });

  it('judges payments only', () => {
    const refund = make({ eventType: 'PAYMENT_REFUND' });
    const { risk } = judge(refund, vectorOf(vectors[0] as number[]), undefined, model);
    expect(risk.rule_scores).not.to.have.property(MODEL_PROBABILITY);
  });

  it('is not learned from too few frauds, and says how many there are', () => {
    const few = makeRows(300, 3).rows;
    expect(() => learn(few, SETTINGS, () => undefined)).to.throw(
      TooFewLabels,
      /labelled frauds are too few to learn from/,
    );
  });
});

describe('the metrics', () => {
  it('equal their definitions on random scores with many ties', () => {
    const random = randomSource(8);
    for (let round = 0; round < 30; round++) {
      const rows: ScoredRow[] = Array.from({ length: 40 + random(60) }, (_, i) => ({
        score: random(12),
        isFraud: random(6) === 0 || i === 0,
        weight: 1,
        day: 0,
        card: `c${i}`,
      }));
      const frauds = rows.filter(({ isFraud }) => isFraud);
      const others = rows.filter(({ isFraud }) => !isFraud);
      let won = 0;
      for (const { score: a } of frauds) {
        for (const { score: b } of others) won += a > b ? 1 : a === b ? 0.5 : 0;
      }
      let precision = 0;
      let recalled = 0;
      for (const level of [...new Set(rows.map(({ score }) => score))].sort((a, b) => b - a)) {
        const above = rows.filter(({ score }) => score >= level);
        const caught = above.filter(({ isFraud }) => isFraud).length;
        precision += ((caught - recalled) / frauds.length) * (caught / above.length);
        recalled = caught;
      }
      const metrics = rankingMetrics(rows);
      expect(metrics.auc_roc).to.be.closeTo(won / (frauds.length * others.length), 1e-12);
      expect(metrics.average_precision).to.be.closeTo(precision, 1e-12);
    }
  });

  it('count the first hundred cards of each day, the worst order of ties, found cards once', () => {
    const row = (day: number, card: string, score: number, isFraud: boolean): ScoredRow => ({
      day,
      card,
      score,
      isFraud,
      weight: 1,
    });
    const others = Array.from({ length: 100 }, (_, i) => row(0, `g${i}`, 1, false));
    const found = rankingMetrics([row(0, 'f', 2, true), ...others]).card_precision_100;
    expect(found).to.equal(0.01);
    const tied = rankingMetrics([row(0, 'f', 1, true), ...others]).card_precision_100;
    expect(tied).to.equal(0);
    const twoDays = [row(0, 'f', 2, true), ...others, row(1, 'f', 2, true), row(1, 'h', 1, true)];
    expect(rankingMetrics(twoDays).card_precision_100).to.equal((0.01 + 0.01) / 2);
  });
});
