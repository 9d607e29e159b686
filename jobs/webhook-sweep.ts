import type { PgBoss } from 'pg-boss';
import type { Clock } from '../ledger/clock.ts';
import type { Transaction } from '../ledger/transactions.ts';
import {
  findHeld,
  findLostDeliveries,
  makeDue,
  type LostPosition,
} from '../ledger/webhook-recovery.ts';
import { forgetExpiredSecrets } from '../ledger/webhook-secrets.ts';
import { requeueDeliveries } from './enqueue-webhooks.ts';
import { Loop } from './loop.ts';

const EVERY_MS = 5_000;

/** Deliveries taken up in one pass. */
const PASS = 1_000;

/** A delivery that is late by this much is looked for in the queue: longer than a claim of a dead worker lives. */
const LATE_MS = 2 * 60_000;

/** What the sweep works with. */
export interface WebhookSweepOptions {
  readonly boss: PgBoss;
  readonly transaction: Transaction;
  readonly clock: Clock;
  /** Told how many deliveries had no job although they should. */
  readonly onLost: (count: number) => void;
  readonly onFault: (error: unknown) => void;
}

/** Finds the deliveries that nobody will make, and forgets secrets that sign no longer. Safe in many processes. */
export class WebhookSweep {
  readonly #options: WebhookSweepOptions;
  readonly #loop: Loop;
  #position: LostPosition | undefined;

  constructor(options: WebhookSweepOptions) {
    this.#options = options;
    this.#loop = new Loop({
      everyMs: EVERY_MS,
      work: () => this.sweep(),
      onFault: options.onFault,
    });
  }

  /** Begins to look. */
  start(): void {
    this.#loop.start();
  }

  /** Ends after the pass under way. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** One pass; returns how many deliveries were queued. */
  async sweep(): Promise<number> {
    const { boss, clock, onLost, transaction } = this.#options;
    const now = clock.now();
    const released = await transaction(async (db) => {
      const held = await makeDue(db, await findHeld(db, PASS), now);
      await requeueDeliveries(boss, db, held);
      return held.length;
    });
    const requeued = await transaction(async (db) => {
      const { lost, position } = await findLostDeliveries(db, now - LATE_MS, this.#position, PASS);
      this.#position = position;
      const due = await makeDue(db, lost, now);
      await requeueDeliveries(boss, db, due);
      await forgetExpiredSecrets(db, now);
      return due.length;
    });
    if (requeued > 0) onLost(requeued);
    return released + requeued;
  }
}
