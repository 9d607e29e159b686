/** How many events of one entity carry each outcome label at the moment of judgement; all integers >= 0. */
export interface EntityLabels {
  readonly fraudConfirmed: number;
  readonly chargebackConfirmed: number;
  readonly falsePositive: number;
}

/** An entity without any label. */
export const NO_LABELS: EntityLabels = {
  fraudConfirmed: 0,
  chargebackConfirmed: 0,
  falsePositive: 0,
};
