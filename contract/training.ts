/** The kind of task that learns a model. */
export const TRAIN = 'models.train';

/** The input of such a task: what is known until then is learned from, so that a second start learns the same. */
export interface TrainInput {
  readonly [name: string]: string;
  readonly known_until: string;
}

/** The input of a training ordered at an instant, ms since 1970 UTC. */
export function trainInput(now: number): TrainInput {
  return { known_until: new Date(now).toISOString() };
}
