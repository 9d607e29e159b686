import type { MikroORM } from '@mikro-orm/postgresql';
import type { Clock } from '../ledger/clock.ts';
import type { Db } from '../ledger/database.ts';
import type { IngestQueue } from '../ledger/ingest-queue.ts';
import type { StateLookUps } from '../ledger/status.ts';
import type { SecretBox } from '../ledger/secret-box.ts';
import type { NewTask } from '../ledger/tasks.ts';
import type { EnqueueDeliveries, RecordWebhookEvents } from '../ledger/webhook-events.ts';
import type { CompiledRuleSet, RulesNow } from '../risk/index.ts';

/** What procedures work with; built in one place (server/wire.ts) and handed in. */
export interface Services {
  /** The application's own role; fork it for each piece of work. */
  readonly orm: MikroORM;
  readonly clock: Clock;
  readonly ingest: IngestQueue;
  /** Where ingestions stand. */
  readonly lookUps: StateLookUps;
  /**
   * Queues ingestions for evaluation again, inside the caller's transaction; returns how many jobs were inserted.
   * A job row of an earlier run is removed first, so calling it for a queued one is safe.
   */
  readonly requeueEvaluations: (
    db: Db,
    rows: readonly { readonly siteId: bigint; readonly ingestionId: bigint }[],
  ) => Promise<number>;
  /**
   * Queues long work inside the caller's transaction and returns its task's id; the handler of its kind (wire.ts) does
   * it in a worker, also after a crash, and `tasks.status` shows how far it is.
   */
  readonly startTask: (db: Db, task: NewTask) => Promise<bigint>;
  /** The rules that an evaluation of a Site was made with, by its evaluator_version; undefined where they are not kept. */
  readonly rulesOf: (
    siteId: bigint,
    evaluatorVersion: string,
  ) => Promise<CompiledRuleSet | undefined>;
  /** Days for which payloads are kept: older events are not imported. */
  readonly payloadRetentionDays: number;
  /** The rules and lists of a Site as they judge now; the sandbox simulates by them. */
  readonly rulesNow: (siteId: bigint) => Promise<RulesNow>;
  /** Seals and opens the signing secrets of webhooks. */
  readonly secretBox: SecretBox;
  readonly webhooks: WebhookServices;
}

/** What procedures need to write and queue webhooks; all of it inside the caller's transaction. */
export interface WebhookServices {
  /** Writes events with their deliveries and jobs. */
  readonly record: RecordWebhookEvents;
  /** Queues new deliveries. */
  readonly enqueue: EnqueueDeliveries;
  /** Queues deliveries again, whatever became of their earlier jobs. */
  readonly requeue: EnqueueDeliveries;
  /** True only for local testing: http and private addresses may be registered. */
  readonly allowPrivateNetworks: boolean;
}
