import { setTimeout as sleep } from 'node:timers/promises';
import { TRPCError } from '@trpc/server';
import { createOrm } from '../../../entities/orm.ts';
import { webhookQueue } from '../../../jobs/enqueue-webhooks.ts';
import { requeueEvaluations } from '../../../jobs/enqueue.ts';
import { createRulesOf } from '../../../jobs/rules-of.ts';
import { createBoss } from '../../../jobs/queues.ts';
import { startTask, TaskRunner, type TaskHandler } from '../../../jobs/tasks.ts';
import { createStateLookUps } from '../../../ledger/status.ts';
import { createIdSource } from '../../../ledger/ids.ts';
import type { ImportTarget } from '../../../ledger/import-events.ts';
import { IngestQueue } from '../../../ledger/ingest-queue.ts';
import { createSecretBox } from '../../../ledger/secret-box.ts';
import { adminRouter } from '../../../routers/admin/router.ts';
import { createCallerFactory, type Role } from '../../../routers/procedure.ts';
import type { Services } from '../../../routers/services.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

/** 2026-03-10T12:00:00Z: when every test begins. */
export const NOON = Date.UTC(2026, 2, 10, 12);

const createCaller = createCallerFactory(adminRouter);

/** Calls the administrative procedures as somebody. */
export type AdminCaller = ReturnType<typeof createCaller>;

/** The administrative procedures on a database of their own, at a time that only the test moves. */
export interface AdminService {
  readonly database: TestDatabase;
  readonly services: Services;
  readonly clock: { at: number };
  as(role: Role | null): AdminCaller;
  /** Runs every queued task by the handlers of their kinds, until none is left. @throws what a handler did not foresee */
  runTasks(handlers: Readonly<Record<string, TaskHandler>>): Promise<void>;
  close(): Promise<void>;
}

/** Builds the services by hand, as the application's role. The caller closes them. */
export async function startAdminService(): Promise<AdminService> {
  const database = await createTestDatabase({ migrated: true });
  const orm = createOrm({
    url: database.appUrl,
    poolSize: 4,
    applicationName: 'test admin',
    statementTimeoutMs: 5_000,
  });
  const boss = createBoss({
    url: database.appUrl,
    backend: 'postgres',
    applicationName: 'test admin boss',
    supervise: false,
    migrate: false,
    onError: () => undefined,
  });
  await boss.start();
  const clock = { at: NOON };
  const now = (): number => clock.at;
  const services: Services = {
    orm,
    clock: { now },
    lookUps: createStateLookUps(() => orm.em.fork().getKysely()),
    ingest: new IngestQueue({
      transaction: (work) => orm.em.fork().transactional((em) => work(em.getKysely())),
      oneTrip: () => Promise.reject(new Error('nothing is ingested here')),
      admit: () => Promise.reject(new Error('nothing is ingested here')),
      ids: createIdSource(),
      pool: () => orm.em.fork().getKysely(),
      enqueue: () => Promise.reject(new Error('nothing is ingested here')),
      now,
    }),
    requeueEvaluations: (db, rows) => requeueEvaluations(boss, db, rows),
    startTask: (db, task) => startTask(boss, db, task),
    rulesOf: createRulesOf((work) => orm.em.fork().transactional((em) => work(em.getKysely()))),
    payloadRetentionDays: 400,
    rulesNow: () => Promise.reject(new Error('nothing is simulated here')),
    secretBox: createSecretBox([{ id: 'test', key: Buffer.alloc(32, 7) }]),
    webhooks: { ...webhookQueue(boss), allowPrivateNetworks: false },
  };
  return {
    database,
    services,
    clock,
    as: (role) =>
      createCaller({
        services,
        requestId: 'req_test',
        ...(role === null ? {} : { operator: { name: `a ${role}`, role, address: '192.0.2.7' } }),
      }),
    async runTasks(handlers) {
      const faults: unknown[] = [];
      const runner = new TaskRunner({
        boss,
        transaction: (work) => orm.em.fork().transactional((em) => work(em.getKysely())),
        clock: { now },
        handlers,
        onFault: (error) => faults.push(error),
      });
      runner.start();
      const open = `select 1 from task where state in ('QUEUED', 'RUNNING')`;
      while ((await database.query(open)).length > 0 && faults.length === 0) await sleep(20);
      await runner.stop();
      if (faults.length > 0) throw faults[0];
    },
    async close() {
      await boss.stop({ graceful: false });
      await orm.close(true);
      await database.drop();
    },
  };
}

/** What a call was refused with. @throws Error where it was not refused */
export async function refusalOf(call: Promise<unknown>): Promise<TRPCError> {
  try {
    await call;
  } catch (error: unknown) {
    if (error instanceof TRPCError) return error;
    throw error;
  }
  throw new Error('the call was not refused');
}

/** A Site with both gates passed, a contract around {@link NOON} and an approval. */
export async function createActiveSite(admin: AdminCaller, code: string): Promise<void> {
  await admin.sites.create({ code, name: `Site ${code}`, customer_type: 'MULTI_MERCHANT' });
  for (const gate of ['QUALITY', 'SECURITY'] as const) {
    await admin.gates.record({ site_code: code, gate, result: 'PASSED', evidence: 'report 1' });
  }
  await admin.contracts.create({
    site_code: code,
    capacity_limit: 1000,
    starts_at: '2026-03-01T00:00:00Z',
    ends_at: '2026-04-01T00:00:00Z',
  });
  await admin.sites.approve({ site_code: code });
}

/** An active Site and the credential that its imported history names. */
export async function createImportTarget(
  service: AdminService,
  code: string,
): Promise<ImportTarget> {
  await createActiveSite(service.as('administrator'), code);
  const [row] = await service.database.query<{ site_id: string; id: string }>(
    `insert into credential (site_id, environment, label, permissions, created_at)
     select id, 'production', 'past', '{ingest}', now() from site where code = $1 returning site_id, id`,
    [code],
  );
  return {
    siteId: BigInt(row?.site_id ?? 0),
    credentialId: BigInt(row?.id ?? 0),
    defaultSubject: 'subject',
  };
}
