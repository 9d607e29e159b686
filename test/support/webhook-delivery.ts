import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { enqueueDeliveries } from '../../jobs/enqueue-webhooks.ts';
import { createBoss, WEBHOOK } from '../../jobs/queues.ts';
import { Deliverer, type DelivererOptions } from '../../jobs/webhooks/deliverer.ts';
import { createAddressGuard, type AddressGuard } from '../../jobs/webhooks/guard.ts';
import { FIRST_ROOM } from '../../jobs/webhooks/lane.ts';
import { ATTEMPT_LIMITS, createConnector } from '../../jobs/webhooks/line.ts';
import { findForgotten, release, type ReleaseOptions } from '../../jobs/webhooks/release.ts';
import { systemClock, type Clock } from '../../ledger/clock.ts';
import { createSecretBox, type SecretBox } from '../../ledger/secret-box.ts';
import { createPipelinedTransactions, type Transaction } from '../../ledger/transactions.ts';
import { startChallenge } from '../../ledger/webhook-endpoints.ts';
import { recordWebhookEvents } from '../../ledger/webhook-events.ts';
import { createSecret } from '../../ledger/webhook-secrets.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { createSite } from './site.ts';

/** A row of the table of deliveries. */
export interface DeliveryRow {
  readonly endpoint_id: string;
  readonly event_id: string;
  readonly state: string;
  readonly step: number;
  readonly attempts: number;
  readonly failure: string | null;
  readonly next_attempt_at: Date | null;
  readonly settled_at: Date | null;
}

/** A row of the table of attempts. */
export interface AttemptRow {
  readonly attempt: number;
  readonly outcome: string;
  readonly duration_ms: number;
  readonly http_status: number | null;
  readonly error_class: string | null;
  readonly address: string | null;
  readonly answer: string | null;
  readonly attempted_at: Date;
  readonly next_attempt_at: Date | null;
}

/** How a test wants deliveries made. */
export interface DeliveringOptions {
  readonly guard?: AddressGuard;
  readonly waits?: readonly number[];
  readonly limits?: DelivererOptions['limits'];
  readonly lanes?: DelivererOptions['lanes'];
  readonly clock?: Clock;
  readonly ca?: string;
}

/** Everything around a deliverer, on a real database: endpoints, events and what became of them. */
export interface WebhookBench {
  readonly database: TestDatabase;
  readonly siteId: bigint;
  readonly box: SecretBox;
  /** The key that seals its secrets, base64; for other processes on the same database. */
  readonly secretsKey: string;
  readonly transaction: Transaction;
  readonly faults: unknown[];
  /** An active endpoint; returns its id and secret. */
  addEndpoint(url: string): Promise<{ endpointId: bigint; secret: string }>;
  /** Commits events, each with the jobs of its deliveries. */
  emit(count?: number, siteId?: bigint): Promise<void>;
  challenge(endpointId: bigint): Promise<string>;
  /** Starts a deliverer; several may run. */
  deliver(options?: DeliveringOptions): Deliverer;
  /** Looks once at what is held. */
  release(clock?: Clock): Promise<number>;
  /** Looks once for deliveries that no job stands for; returns how many there were. */
  findForgotten(clock: Clock): Promise<number>;
  deliveries(endpointId?: bigint): Promise<DeliveryRow[]>;
  /** Counts rows of its Site in a table whose rows belong to Sites. */
  count(table: string, where?: string): Promise<number>;
  attempts(endpointId: bigint): Promise<AttemptRow[]>;
  /** Waits until so many deliveries of its Site have succeeded, letting go what is held meanwhile. */
  untilDelivered(count: number, ms?: number): Promise<void>;
  /** Waits until a question is answered with true. */
  until(question: () => Promise<boolean> | boolean, what: string, ms?: number): Promise<void>;
  stop(): Promise<void>;
}

/** Sets all of it up for a Site of its own, on a database of its own or on the given one. */
export async function createWebhookBench(existing?: TestDatabase): Promise<WebhookBench> {
  const database = existing ?? (await createTestDatabase());
  // What earlier tests have left must not be called again.
  await database.query(`delete from pgboss.job where name = 'webhook'`);
  await database.query(`update webhook_delivery set state = 'FAILED' where state = 'PENDING'`);
  const site = await createSite(database);
  const siteId = BigInt(site.siteId);
  const key = randomBytes(32);
  const box = createSecretBox([{ id: 'test', key }]);
  const boss = createBoss({
    url: database.appUrl,
    backend: 'postgres',
    applicationName: 'test webhooks queue',
    supervise: false,
    migrate: false,
    onError: () => undefined,
  });
  await boss.start();
  await boss.getQueue(WEBHOOK);
  const pipelined = createPipelinedTransactions({
    url: database.appUrl,
    poolSize: 4,
    applicationName: 'test webhooks',
    statementTimeoutMs: 10_000,
  });
  const { transaction } = pipelined;
  const faults: unknown[] = [];
  const deliverers: Deliverer[] = [];
  const releasing = (clock: Clock): ReleaseOptions => ({
    boss,
    transaction,
    clock,
    capacityFor: (endpointId) =>
      deliverers.at(-1)?.capacityFor(endpointId) ?? { inHand: 0, room: FIRST_ROOM },
    onReleased: () => deliverers.forEach((deliverer) => deliverer.wake()),
    onSpared: () => undefined,
    onFound: () => undefined,
    onFault: (error) => void faults.push(error),
  });
  let ingestion = 0n;
  const bench: WebhookBench = {
    database,
    siteId,
    box,
    secretsKey: key.toString('base64'),
    transaction,
    faults,
    async addEndpoint(url) {
      const [row] = await database.query<{ id: string }>(
        `insert into webhook_endpoint (site_id, url, description, event_types, state, activated_at, created_by,
           created_at, changed_by, changed_at)
         values ($1, $2, '', '{outcome.recorded}', 'ACTIVE', now(), 'test', now(), 'test', now()) returning id`,
        [siteId, url],
      );
      const endpointId = BigInt(row?.id ?? 0);
      const secret = await transaction((db) =>
        createSecret(db, box, { siteId, endpointId }, Date.now()),
      );
      return { endpointId, secret };
    },
    async emit(count = 1, to = siteId) {
      const events = Array.from({ length: count }, () => {
        ingestion += 1n;
        return {
          siteId: to,
          type: 'outcome.recorded' as const,
          ingestionId: ingestion,
          data: {
            ingestion_id: `ing_${ingestion}`,
            source_event_id: `event-${ingestion}`,
            outcome_label: 'FRAUD_CONFIRMED' as const,
          },
        };
      });
      await transaction((db) =>
        recordWebhookEvents(db, events, Date.now(), (inner, deliveries) =>
          enqueueDeliveries(boss, inner, deliveries),
        ),
      );
      for (const deliverer of deliverers) deliverer.wake();
    },
    challenge: (endpointId) =>
      transaction((db) =>
        startChallenge(db, { siteId, endpointId }, Date.now(), (inner, deliveries) =>
          enqueueDeliveries(boss, inner, deliveries),
        ),
      ),
    deliver(options = {}) {
      const limits = { ...ATTEMPT_LIMITS, ...options.limits };
      const guard = options.guard ?? createAddressGuard({ allowPrivate: true });
      const deliverer = new Deliverer({
        boss,
        transaction,
        clock: options.clock ?? systemClock,
        box,
        connect: createConnector(guard, limits, options.ca),
        waits: options.waits ?? [5, 300, 1800, 7200, 18_000, 36_000, 36_000],
        limits,
        ...(options.lanes === undefined ? {} : { lanes: options.lanes }),
        report: {
          attempted: () => undefined,
          delivered: () => undefined,
          held: () => undefined,
          fault: (error) => void faults.push(error),
        },
      });
      deliverer.start();
      deliverers.push(deliverer);
      return deliverer;
    },
    release: (clock = systemClock) => release(releasing(clock)),
    findForgotten: (clock) => findForgotten(releasing(clock)),
    deliveries: (endpointId) =>
      database.query<DeliveryRow>(
        `select * from webhook_delivery where site_id = $1 and ($2::bigint is null or endpoint_id = $2)
         order by endpoint_id, event_id`,
        [siteId, endpointId ?? null],
      ),
    async count(table, where = 'true') {
      const [row] = await database.query<{ n: number }>(
        `select count(*)::int as n from ${table} where site_id = $1 and ${where}`,
        [siteId],
      );
      return row?.n ?? 0;
    },
    attempts: (endpointId) =>
      database.query<AttemptRow>(
        'select * from webhook_attempt where endpoint_id = $1 order by event_id, attempted_at, attempt',
        [endpointId],
      ),
    async untilDelivered(count, ms) {
      const question = async (): Promise<boolean> => {
        await bench.release();
        return (await bench.count('webhook_delivery', `state = 'DELIVERED'`)) === count;
      };
      await bench.until(question, `${count} deliveries`, ms);
    },
    async until(question, what, ms = 40_000) {
      const deadline = performance.now() + ms;
      while (!(await question())) {
        if (performance.now() > deadline) {
          throw new Error(`${what}: not within ${ms} ms; faults: ${faults.map(String).join(', ')}`);
        }
        await sleep(20);
      }
    },
    async stop() {
      for (const deliverer of deliverers) await deliverer.stop();
      await boss.stop({ graceful: false, close: true });
      await pipelined.close();
      if (existing === undefined) await database.drop();
    },
  };
  return bench;
}
