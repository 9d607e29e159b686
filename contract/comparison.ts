/** The kind of task that compares a model in the shadow with what was answered. */
export const COMPARE = 'models.compare';

/** The input of such a task. Times in ms since 1970 UTC. */
export interface CompareInput {
  readonly [name: string]: string | number;
  readonly model_id: string;
  /** Payments judged at or after, and before. Labels count as they are known at the latter. */
  readonly from: number;
  readonly to: number;
}
