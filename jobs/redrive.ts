import { z } from 'zod';
import type { Clock } from '../ledger/clock.ts';
import type { Db } from '../ledger/database.ts';
import { resolveDeadLetters, type DeadLetterFilter } from '../ledger/dead-letters.ts';
import type { LedgerRef } from '../ledger/load-batch.ts';
import type { TaskHandler } from './tasks.ts';

/** Dead letters redriven in one transaction: short enough that no evaluation waits for it. */
const SLICE = 500;

/** What the procedure leaves for the task; times in ms since 1970 UTC. */
const Input = z.strictObject({
  site_id: z.string().nullable(),
  cause: z.string().nullable(),
  from: z.number().nullable(),
  /** Never later than the call, so that what dies again meanwhile is not redriven for ever. */
  to: z.number(),
  reason: z.string(),
});

/** Which dead letters a bulk redrive takes, as the task keeps it. */
export type RedriveInput = z.infer<typeof Input>;

/**
 * The task `dead_letters.redrive`: queues what the filter names for evaluation again, slice by slice. Each slice's
 * resolutions, jobs and progress share a transaction, so a crash neither loses nor repeats one.
 */
export function redriveTask(options: {
  readonly requeue: (db: Db, refs: readonly LedgerRef[]) => Promise<number>;
  readonly clock: Clock;
}): TaskHandler {
  return async (task, { progress, signal, transaction }) => {
    const input = Input.parse(task.input);
    const filter: DeadLetterFilter = {
      siteId: input.site_id === null ? undefined : BigInt(input.site_id),
      cause: input.cause ?? undefined,
      from: input.from ?? undefined,
      to: input.to,
    };
    let { done } = task;
    for (;;) {
      signal.throwIfAborted();
      const slice = await transaction(async (db) => {
        const resolution = { kind: 'REDRIVEN', reason: input.reason, by: task.createdBy } as const;
        const at = options.clock.now();
        const rows = await resolveDeadLetters(db, filter, { ...resolution, at }, SLICE);
        if (rows.length > 0 && (await options.requeue(db, rows)) !== rows.length) {
          throw new Error('fewer jobs queued than dead letters redriven');
        }
        await progress({ done: done + rows.length }, db);
        return rows.length;
      });
      done += slice;
      if (slice < SLICE) return { redriven: done };
    }
  };
}
