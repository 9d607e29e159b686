import type { TransactionEvent } from '../../contract/transaction.ts';
import type { ShadowPayment } from '../../ledger/shadow-payments.ts';
import {
  circumstancesOf,
  decodeFeatures,
  EventFacts,
  judge,
  modelNamedBy,
  type CompiledRuleSet,
} from '../../risk/index.ts';
import {
  calibrationBands,
  logLoss,
  rankingMetrics,
  type CalibrationBand,
  type RankingMetrics,
  type ScoredRow,
} from '../../risk/model/metrics.ts';

const DAY_MS = 86_400_000;

/** Decisions from the mildest to the strictest. */
const DECISIONS = ['ALLOW', 'REVIEW', 'HOLD_RECOMMENDED', 'BLOCK_RECOMMENDED'];

/** How well one side told frauds from the rest. */
export interface SideMetrics extends RankingMetrics {
  /** Null where not every payment got a probability: without a live model there was none. */
  readonly log_loss: number | null;
  readonly calibration: readonly CalibrationBand[] | null;
}

/** Payments whose decision would be another one. */
export interface DecisionChange {
  readonly answered: string;
  readonly proposed: string;
  readonly payments: number;
  /** Of those, by the latest labels; the others have none. */
  readonly fraud: number;
  readonly false_positive: number;
}

/** A model in the shadow beside what was answered, on the same payments. */
export interface Comparison {
  readonly payments: number;
  /** By the model that was live; null = the rules alone. */
  readonly answered_by: readonly { readonly model_id: string | null; readonly payments: number }[];
  /** Payments old enough for their labels: those that the figures of `shadow` and `answered` are about. */
  readonly measured: {
    readonly payments: number;
    readonly frauds: number;
    /** Genuine because the label delay passed in silence. */
    readonly without_label: number;
  };
  /** Null unless there are both frauds and others. */
  readonly shadow: SideMetrics | null;
  readonly answered: SideMetrics | null;
  readonly decisions: {
    /** Payments judged again; the others' rules, features or bodies are no longer kept. */
    readonly judged: number;
    readonly same: number;
    readonly stricter: number;
    readonly milder: number;
    readonly changes: readonly DecisionChange[];
  };
}

/** Adds up payments one by one; what they were judged from is not kept. */
export class Comparing {
  readonly #settledBefore: number;
  readonly #shadow: ScoredRow[] = [];
  readonly #answered: ScoredRow[] = [];
  readonly #answeredBy = new Map<string | null, number>();
  readonly #changes = new Map<
    string,
    { payments: number; fraud: number; false_positive: number }
  >();
  readonly #cards = new Map<string, string>();
  #payments = 0;
  #judged = 0;
  #withoutLabel = 0;
  #withoutProbability = 0;

  /** @param settledBefore  a payment that happened before is genuine unless a label says otherwise, ms since 1970 UTC */
  constructor(settledBefore: number) {
    this.#settledBefore = settledBefore;
  }

  /** @param rules  those that judged it; undefined where they are not kept */
  add(payment: ShadowPayment, rules: CompiledRuleSet | undefined): void {
    const { body } = payment;
    // Validated when it was accepted, and stored by us.
    const event = body === null ? undefined : (JSON.parse(body) as TransactionEvent);
    this.#payments += 1;
    const by = modelNamedBy(payment.evaluatorVersion) ?? null;
    this.#answeredBy.set(by, (this.#answeredBy.get(by) ?? 0) + 1);
    if (payment.at < this.#settledBefore) this.#measure(payment, event);
    if (event === undefined || rules === undefined) return;
    const proposed = proposedDecision(payment, event, rules);
    if (proposed === undefined) return;
    this.#judged += 1;
    if (proposed === payment.decision) return;
    const name = `${payment.decision} ${proposed}`;
    const change = this.#changes.get(name) ?? { payments: 0, fraud: 0, false_positive: 0 };
    this.#changes.set(name, change);
    change.payments += 1;
    if (payment.isFraud === true) change.fraud += 1;
    if (payment.isFraud === false) change.false_positive += 1;
  }

  #measure(payment: ShadowPayment, event: TransactionEvent | undefined): void {
    const { at, isFraud, liveProbability, probability, score } = payment;
    if (isFraud === null) this.#withoutLabel += 1;
    if (liveProbability === null) this.#withoutProbability += 1;
    const row = {
      isFraud: isFraud ?? false,
      weight: 1,
      day: Math.floor(at / DAY_MS),
      card: this.#cardOf(event),
    };
    this.#shadow.push({ ...row, score: probability });
    this.#answered.push({ ...row, score: liveProbability ?? score / 100 });
  }

  /** A short name for the card, or the customer where there is no card; empty where the event names neither. */
  #cardOf(event: TransactionEvent | undefined): string {
    const named: unknown = event?.payment_method?.['token'] ?? event?.customer?.['customer_id'];
    if (typeof named !== 'string') return '';
    const known = this.#cards.get(named);
    if (known !== undefined) return known;
    const name = String(this.#cards.size + 1);
    this.#cards.set(named, name);
    return name;
  }

  /** What came of it. */
  finish(): Comparison {
    const frauds = this.#shadow.filter(({ isFraud }) => isFraud).length;
    const changes = [...this.#changes].map(([name, counts]): DecisionChange => {
      const [answered = '', proposed = ''] = name.split(' ');
      return { answered, proposed, ...counts };
    });
    const sum = (wanted: (change: DecisionChange) => boolean): number =>
      changes.filter(wanted).reduce((total, { payments }) => total + payments, 0);
    const isStricter = ({ answered, proposed }: DecisionChange): boolean =>
      DECISIONS.indexOf(proposed) > DECISIONS.indexOf(answered);
    const canMeasure = frauds > 0 && frauds < this.#shadow.length;
    return {
      payments: this.#payments,
      answered_by: [...this.#answeredBy].map(([id, payments]) => ({ model_id: id, payments })),
      measured: {
        payments: this.#shadow.length,
        frauds,
        without_label: this.#withoutLabel,
      },
      shadow: canMeasure ? sideMetrics(this.#shadow, true) : null,
      answered: canMeasure ? sideMetrics(this.#answered, this.#withoutProbability === 0) : null,
      decisions: {
        judged: this.#judged,
        same: this.#judged - sum(() => true),
        stricter: sum(isStricter),
        milder: sum((change) => !isStricter(change)),
        changes: changes.toSorted(
          (a, b) =>
            DECISIONS.indexOf(b.proposed) - DECISIONS.indexOf(a.proposed) ||
            DECISIONS.indexOf(a.answered) - DECISIONS.indexOf(b.answered),
        ),
      },
    };
  }
}

function sideMetrics(rows: readonly ScoredRow[], areProbabilities: boolean): SideMetrics {
  return {
    ...rankingMetrics(rows),
    log_loss: areProbabilities ? logLoss(rows) : null,
    calibration: areProbabilities ? calibrationBands(rows) : null,
  };
}

/** The decision with the shadow's probability in the place of the live one, all else as it was; undefined without features. */
function proposedDecision(
  payment: ShadowPayment,
  event: TransactionEvent,
  rules: CompiledRuleSet,
): string | undefined {
  if (payment.features === null) return undefined;
  const circumstances = {
    ...circumstancesOf(payment.ruleScores, payment.evaluatorVersion),
    probability: payment.probability,
  };
  try {
    const facts = new EventFacts(event, payment.at);
    const features = decodeFeatures(payment.features);
    return judge({ facts }, features, rules, undefined, circumstances).risk.decision;
  } catch (error: unknown) {
    // Features of an older version.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
