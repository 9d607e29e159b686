/** The outcome labels of one entity that arrived on one day. */
export interface LabelDay {
  /** Day of arrival: days since 1970-01-01 UTC. */
  readonly day: number;
  /** Labels FRAUD_CONFIRMED and CHARGEBACK_CONFIRMED; integer >= 1 where the times below are given. */
  readonly frauds: number;
  readonly falsePositives: number;
  /** Earliest and latest instant of the events so confirmed, ms since 1970 UTC; 0 without one. */
  readonly firstFraudAt: number;
  readonly lastFraudAt: number;
  /** Sum of the seconds from each such event to its label's arrival. */
  readonly delaySeconds: number;
}

/** The outcome labels of one entity at the moment of judgement; all counts are integers >= 0. */
export interface EntityLabels {
  /** Labels ever. */
  readonly fraudConfirmed: number;
  readonly chargebackConfirmed: number;
  readonly falsePositive: number;
  /** The days of the last weeks on which labels arrived, in any order; at least the last 31. */
  readonly days: readonly LabelDay[];
}

/** An entity without any label. */
export const NO_LABELS: EntityLabels = {
  fraudConfirmed: 0,
  chargebackConfirmed: 0,
  falsePositive: 0,
  days: [],
};
