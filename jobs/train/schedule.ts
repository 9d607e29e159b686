import { TRAIN, trainInput } from '../../contract/training.ts';
import type { Clock } from '../../ledger/clock.ts';
import type { Db } from '../../ledger/database.ts';
import { takeDueTrainings } from '../../ledger/models.ts';
import type { NewTask } from '../../ledger/tasks.ts';
import type { Transaction } from '../../ledger/transactions.ts';
import { Loop } from '../loop.ts';

/** How often due trainings are looked for, ms. */
const LOOK_MS = 10 * 60_000;

/** What the schedule works with. */
export interface TrainingScheduleOptions {
  readonly transaction: Transaction;
  readonly startTask: (db: Db, task: NewTask) => Promise<bigint>;
  readonly clock: Clock;
  readonly onFault: (error: unknown) => void;
}

/** Orders the trainings that are due by the settings of their Sites. Safe in many processes. */
export function createTrainingSchedule(options: TrainingScheduleOptions): Loop {
  return new Loop({
    everyMs: LOOK_MS,
    work: () => orderDueTrainings(options),
    onFault: options.onFault,
  });
}

/** Orders what is due now; returns how many trainings that is. */
export async function orderDueTrainings({
  transaction,
  startTask,
  clock,
}: TrainingScheduleOptions): Promise<number> {
  return transaction(async (db) => {
    const at = clock.now();
    const due = await takeDueTrainings(db, at);
    for (const siteId of due) {
      await startTask(db, { kind: TRAIN, siteId, input: trainInput(at), by: 'schedule', at });
    }
    return due.length;
  });
}
