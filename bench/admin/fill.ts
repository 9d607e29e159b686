import { withClient } from '../cluster.ts';

/** How large a ledger the administrative side is measured on. */
export interface FillOptions {
  readonly rows: number;
  readonly onStep: (step: string) => void;
}

/** Share of the events that belong to the first Site; the others are spread over all. */
const BUSIEST_SITE_PERCENT = 60;

/** Seconds between two events: a million take a month. */
const SECONDS_BETWEEN = 2.592;

/**
 * Fills a migrated database with Sites as a service that has run for a month would have: evaluated events with features
 * and payloads, jobs that are kept for hours, a backlog, dead letters of which most were redriven, labels and an audit.
 * Straight in the database, as its owner; planner statistics and visibility are brought up to date at the end.
 */
export async function fill(ownerUrl: string, options: FillOptions): Promise<void> {
  const { rows, onStep } = options;
  const last = 1_000 + rows - 1;
  // Of all events, 60 % died once; a sixth of those still wait for somebody.
  const died = 1_000 + Math.floor(rows * 0.6);
  const open = 1_000 + Math.floor(rows * 0.1);
  const statements: [step: string, sql: string][] = [
    [
      'ledger',
      `insert into ingestion (site_id, id, source_event_id, payload_hash, hash_version, received_at, occurred_at, event_type,
         transaction_type, transaction_status, amount_minor, currency, merchant_subject, credential_id)
       select site.id, 1000 + n, case when n % 1000 = 0 then 'event-of-' || n / 1000 else 'event-' || md5(n::text) end, sha256(n::text::bytea), 1, moment, moment, 'PAYMENT_AUTH', 'AUTH',
         'APPROVED', n % 1000000, 'KRW', 'merchant-' || n % 5000, 1 + n % 6000
       from generate_series(0, ${rows - 1}) as n
       cross join lateral (select now() - (${rows} - n) * interval '${SECONDS_BETWEEN} seconds' as moment) at
       join site on site.code = 'bench-' || case when n % 100 < ${BUSIEST_SITE_PERCENT} then 1 else 1 + n % 20 end`,
    ],
    [
      'payloads',
      `insert into ingestion_payload (site_id, ingestion_id, received_at, body)
       select site_id, id, received_at, '{"customer":{"customer_id":"' || md5(id::text) || '"},"transaction":{"type":"AUTH"}}'
       from ingestion`,
    ],
    [
      'evaluations',
      `insert into evaluation (site_id, ingestion_id, score, level, decision, reasons, rule_scores, evaluator_version, evaluated_at)
       select site_id, id, id % 101, 'low', 'ALLOW', '["No risk indicator above its threshold."]', '{"card_many_merchants":20}',
         '1.0.0+rules.default-1.00000000+model.none', received_at + interval '1 second'
       from ingestion where id >= ${open} and id <= ${last - 2_000}`,
    ],
    [
      'features',
      `insert into evaluation_features (site_id, ingestion_id, evaluated_at, features)
       select site_id, ingestion_id, evaluated_at, '1:z330' from evaluation where ingestion_id % 20 = 0`,
    ],
    [
      'jobs',
      `insert into pgboss.job (id, name, data, state, created_on, start_after, completed_on, policy)
       select (overlay(overlay(lpad(to_hex(id), 16, '0') placing '8' from 13 for 0) placing '8' from 17 for 0)
           || '00000000000000')::uuid, 'evaluate', jsonb_build_object('site_id', site_id::text, 'ingestion_id', id::text),
         (case when id > ${last - 2_000} then case when id % 50 = 0 then 'retry' else 'created' end else 'completed' end)::pgboss.job_state,
         received_at, received_at, received_at, 'standard'
       from ingestion where id > ${last - Math.min(200_000, rows / 2)}`,
    ],
    [
      'dead letters',
      `with letter as (
         insert into dead_letter (site_id, ingestion_id, cause, attempts, dead_at)
         select site_id, id, 'Error' || id % 7, 6, received_at + interval '1 minute' from ingestion
         where id < ${died} returning *),
       redriven as (
         insert into dead_letter_resolution (site_id, ingestion_id, dead_letter_id, kind, reason, resolved_by, resolved_at)
         select site_id, ingestion_id, id, 'REDRIVEN', 'repaired', 'operator 1', dead_at + interval '1 hour'
         from letter where ingestion_id >= ${open})
       insert into open_dead_letter (site_id, ingestion_id, dead_letter_id, cause, attempts, dead_at)
       select site_id, ingestion_id, id, cause, attempts, dead_at from letter where ingestion_id < ${open}`,
    ],
    [
      'attempts',
      `insert into evaluation_attempt (site_id, ingestion_id, attempt, error_class, error_place, failed_at)
       select site_id, ingestion_id, 6, cause, 'risk/evaluate.ts:41', dead_at from dead_letter`,
    ],
    [
      'labels',
      `insert into outcome_label (site_id, ingestion_id, outcome_label, credential_id, labelled_at)
       select site_id, id, case when id % 3 = 0 then 'FRAUD_CONFIRMED' else 'FALSE_POSITIVE' end, credential_id,
         received_at + interval '1 day' from ingestion where id % 50 = 1 and received_at < now() - interval '1 day'`,
    ],
    [
      'audit',
      `insert into audit_entry (at, actor, address, procedure, site_code, before, after)
       select now() - n * interval '10 seconds', 'operator ' || n % 9, '192.0.2.' || n % 250,
         (array['credentials.rotate', 'sites.suspend', 'dead_letters.redrive'])[1 + n % 3], 'bench-' || 1 + n % 20, '{}',
         jsonb_build_object('n', n)
       from generate_series(200000, 1, -1) as n`,
    ],
    [
      'events',
      `insert into operator_event (site_id, kind, subject, detail, at)
       select 0, 'task_failed', 'task ' || n, '{}', now() - n * interval '1 minute' from generate_series(20000, 1, -1) as n`,
    ],
    [
      'gates',
      `insert into gate_record (site_id, gate, result, evidence, recorded_by, recorded_at)
       select id, gate, 'PASSED', 'bench', 'bench', now() from site, unnest('{QUALITY,SECURITY}'::text[]) as gate`,
    ],
    ['statistics', 'vacuum analyze'],
  ];
  await withClient(ownerUrl, async (owner) => {
    await owner.query('set synchronous_commit = off');
    await owner.query(`set work_mem = '128MB'`);
    for (const [step, sql] of statements) {
      onStep(step);
      await owner.query(sql);
    }
  });
}
