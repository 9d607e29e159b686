/** The kind of task that judges stored events again by other rules. */
export const BACKTEST = 'rules.backtest';

/** The input of such a task. Times in ms since 1970 UTC. */
export interface BacktestInput {
  readonly [name: string]: string | number | boolean;
  /** Whether the version is one for all Sites; it is tried on the events of one Site anyway. */
  readonly all_sites: boolean;
  readonly version: number;
  /** Accepted at or after, and before. */
  readonly from: number;
  readonly to: number;
}
