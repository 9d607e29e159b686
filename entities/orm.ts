import { Migrator } from '@mikro-orm/migrations';
import { MikroORM, UnderscoreNamingStrategy } from '@mikro-orm/postgresql';
import type { Pool } from 'pg';
import { Site } from './site.ts';
import { Contract } from './contract.ts';
import { Credential } from './credential.ts';
import { CredentialKey } from './credential-key.ts';
import { GateRecord } from './gate-record.ts';
import { AuditEntry } from './audit-entry.ts';
import { Ingestion } from './ingestion.ts';
import { IngestionPayload } from './ingestion-payload.ts';
import { IdempotencyKey } from './idempotency-key.ts';
import { UsageCounter } from './usage-counter.ts';
import { OutcomeLabel } from './outcome-label.ts';
import { Evaluation } from './evaluation.ts';
import { EvaluationFeatures } from './evaluation-features.ts';
import { EvaluationAttempt } from './evaluation-attempt.ts';
import { EvaluationTurn } from './evaluation-turn.ts';
import { EntityState } from './entity-state.ts';
import { EntityLabel } from './entity-label.ts';
import { DeadLetter } from './dead-letter.ts';
import { DeadLetterResolution } from './dead-letter-resolution.ts';
import { OperatorEvent } from './operator-event.ts';
import { OperatorAccount } from './operator.ts';
import { FailedLogin } from './failed-login.ts';
import { ReportBacklog } from './report-backlog.ts';
import { ReportHour } from './report-hour.ts';
import { ReportProgress } from './report-progress.ts';
import { ReportRuleDay } from './report-rule-day.ts';
import { ReportScoreDay } from './report-score-day.ts';
import { ServiceHour } from './service-hour.ts';
import { Task } from './task.ts';
import { OpenDeadLetter } from './open-dead-letter.ts';
import { CredentialKeyUse } from './credential-key-use.ts';
import { WebhookEndpoint } from './webhook-endpoint.ts';
import { WebhookSecret } from './webhook-secret.ts';
import { WebhookEndpointHealth } from './webhook-endpoint-health.ts';
import { WebhookEvent } from './webhook-event.ts';
import { WebhookDelivery } from './webhook-delivery.ts';
import { WebhookAttempt } from './webhook-attempt.ts';
import { EntityLabelDay } from './entity-label-day.ts';
import { Model } from './model.ts';
import { ModelRelease } from './model-release.ts';
import { ModelSettings } from './model-settings.ts';
import { ModelShadowScore } from './model-shadow-score.ts';
import { HistoryImport } from './history-import.ts';
import { HistoryImportLine } from './history-import-line.ts';
import { HistoryImportProblem } from './history-import-problem.ts';
import { RuleSetVersion } from './rule-set.ts';
import { RuleRelease } from './rule-release.ts';
import { ListEntry } from './list-entry.ts';
import { RuleShadowHour } from './rule-shadow-hour.ts';
import { RuleShadowDifference } from './rule-shadow-difference.ts';
import { RuleBlockHour } from './rule-block-hour.ts';
import { EvaluationWorkerRow } from './evaluation-worker.ts';
import { MIGRATIONS } from './migrations/index.ts';
import { prepareStatements } from './prepared-statements.ts';

/** Every entity, listed by hand: discovery by path can miss files when types are stripped at run time. */
export const ENTITIES = [
  Site,
  Contract,
  Credential,
  CredentialKey,
  GateRecord,
  AuditEntry,
  Ingestion,
  IngestionPayload,
  IdempotencyKey,
  UsageCounter,
  OutcomeLabel,
  Evaluation,
  EvaluationFeatures,
  EvaluationAttempt,
  EvaluationTurn,
  EntityState,
  EntityLabel,
  DeadLetter,
  DeadLetterResolution,
  Task,
  OpenDeadLetter,
  CredentialKeyUse,
  OperatorEvent,
  OperatorAccount,
  FailedLogin,
  WebhookEndpoint,
  WebhookSecret,
  WebhookEndpointHealth,
  WebhookEvent,
  WebhookDelivery,
  WebhookAttempt,
  ReportHour,
  ReportScoreDay,
  ReportRuleDay,
  ReportProgress,
  ReportBacklog,
  ServiceHour,
  EntityLabelDay,
  Model,
  ModelRelease,
  ModelSettings,
  ModelShadowScore,
  RuleSetVersion,
  RuleRelease,
  ListEntry,
  RuleShadowHour,
  RuleShadowDifference,
  RuleBlockHour,
  EvaluationWorkerRow,
  HistoryImport,
  HistoryImportLine,
  HistoryImportProblem,
];

/** How a pool of connections is set up. */
export interface OrmOptions {
  readonly url: string;
  /** Connections at most. */
  readonly poolSize: number;
  /** Shown to operators in pg_stat_activity. */
  readonly applicationName: string;
  /** Milliseconds after which the server cancels a statement; 0 = never (migrations, upkeep). */
  readonly statementTimeoutMs: number;
  /** Gets the pool when it is made, for measuring. */
  readonly onPool?: (pool: Pool) => void;
}

/**
 * Builds the ORM without connecting: the database may be down, and comes back by itself.
 * The timeouts keep a black-holed database from hanging a request (the driver's own default is to wait for ever).
 */
export function createOrm(options: OrmOptions): MikroORM {
  return new MikroORM({
    clientUrl: options.url,
    entities: ENTITIES,
    extensions: [Migrator],
    namingStrategy: UnderscoreNamingStrategy,
    forceUtcTimezone: true,
    debug: false,
    logger: () => undefined,
    pool: { min: 0, max: options.poolSize, idleTimeoutMillis: 30_000 },
    driverOptions: {
      onPoolCreated(pool: Pool) {
        prepareStatements(pool);
        options.onPool?.(pool);
      },
      application_name: options.applicationName,
      connectionTimeoutMillis: 2_000,
      keepAlive: true,
      statement_timeout: options.statementTimeoutMs,
      lock_timeout: options.statementTimeoutMs,
      idle_in_transaction_session_timeout: 10_000,
      // The server's own limit cannot fire through a network that swallows packets.
      query_timeout: options.statementTimeoutMs === 0 ? 0 : options.statementTimeoutMs + 2_000,
    },
    migrations: {
      migrationsList: MIGRATIONS,
      tableName: 'schema_migration',
      snapshot: false,
      allOrNothing: true,
      transactional: true,
    },
    schemaGenerator: { ignoreSchema: ['pgboss'] },
  });
}
