import { hash } from 'node:crypto';
import { Client } from 'pg';
import { evaluationJobId } from '../../ledger/ids.ts';
import type { ReferenceWrites } from './protocol.ts';
import type { RequestSource } from './requests.ts';

const USAGE = `insert into usage_counter as counter (site_id, credential_id, month, accepted) values ($1, $2, $3, 1)
  on conflict (site_id, credential_id, month) do update set accepted = counter.accepted + 1`;

const KEY = `insert into idempotency_key (site_id, operation, key_hash, fingerprint, hash_version, ingestion_id, created_at)
  values ($1, 'event', $2, $3, 1, $4, now())`;

const LEDGER = `insert into ingestion (site_id, id, source_event_id, payload_hash, hash_version, received_at, occurred_at,
    event_type, transaction_type, transaction_status, amount_minor, currency, merchant_subject, credential_id)
  values ($1, $2, $3, $4, 1, now(), now(), 'PAYMENT_AUTH', 'AUTH', 'APPROVED', $5, 'KRW', $6, $7)`;

const PAYLOAD = `insert into ingestion_payload (site_id, ingestion_id, received_at, body) values ($1, $2, now(), $3)`;

/** What pg-boss stores of such a job; its own statement joins the queue's settings, which are written out here. */
const JOB = `insert into pgboss.job (name, id, data, retry_limit, retry_delay, retry_backoff, retry_delay_max, expire_seconds,
    deletion_seconds, policy, dead_letter)
  values ('evaluate', $1, $2, 100, 2, true, 300, 15, 21600, 'standard', 'evaluate_dead')`;

/** The three writes as one statement: no round trip but one, and no transaction block. */
const SINGLE = `with counted as (
    insert into usage_counter as counter (site_id, credential_id, month, accepted) values ($1, $7, $8, 1)
    on conflict (site_id, credential_id, month) do update set accepted = counter.accepted + 1
  ), job as (
    insert into pgboss.job (name, id, data, retry_limit, retry_delay, retry_backoff, retry_delay_max, expire_seconds,
      deletion_seconds, policy, dead_letter)
    values ('evaluate', $9, $10, 100, 2, true, 300, 15, 21600, 'standard', 'evaluate_dead')
  )
  ${LEDGER}`;

/** Ids of the reference start here, apart from those the service hands out. */
const FIRST_ID = 1_000_000_000_000;

/** What the reference writes for one event. */
interface Row {
  readonly siteId: string;
  readonly credentialId: string;
  readonly id: string;
  readonly sourceEventId: string;
  readonly payloadHash: Buffer;
  readonly keyHash: string;
  readonly jobId: string;
  readonly job: string;
  readonly month: string;
  readonly body: string;
}

/**
 * One database client of the reference: the same tables, the same durability, prepared statements, one transaction per
 * event; no HTTP, key check, limit, validation, scan or conflict handling.
 */
export class ReferenceLane {
  readonly #client: Client;
  readonly #writes: ReferenceWrites;
  readonly #source: RequestSource;

  constructor(url: string, writes: ReferenceWrites, source: RequestSource) {
    this.#client = new Client({ connectionString: url, application_name: 'bench reference' });
    this.#writes = writes;
    this.#source = source;
  }

  /** Connects. @throws the driver's error */
  async open(): Promise<void> {
    await this.#client.connect();
  }

  async close(): Promise<void> {
    await this.#client.end();
  }

  /** Commits one event; 202 when it is durable, 0 when it failed. */
  async send(): Promise<number> {
    const row = this.#row();
    try {
      if (this.#writes === 'single') {
        await this.#prepared('single', SINGLE, [
          ...ledgerValues(row),
          row.month,
          row.jobId,
          row.job,
        ]);
        return 202;
      }
      await this.#client.query('begin');
      await this.#prepared('usage', USAGE, [row.siteId, row.credentialId, row.month]);
      if (this.#writes === 'full') {
        await this.#prepared('key', KEY, [row.siteId, row.keyHash, row.payloadHash, row.id]);
      }
      await this.#prepared('ledger', LEDGER, ledgerValues(row));
      if (this.#writes === 'full') {
        await this.#prepared('payload', PAYLOAD, [row.siteId, row.id, row.body]);
      }
      await this.#prepared('job', JOB, [row.jobId, row.job]);
      await this.#client.query('commit');
      return 202;
    } catch (error: unknown) {
      await this.#client.query('rollback').catch(() => undefined);
      console.error(`reference: ${error instanceof Error ? error.message : 'failed'}`);
      return 0;
    }
  }

  async #prepared(name: string, text: string, values: unknown[]): Promise<void> {
    await this.#client.query({ name, text, values });
  }

  #row(): Row {
    const { number, credential, sourceEventId, body } = this.#source.event();
    const id = FIRST_ID + number;
    const key = hash('sha256', `key-${sourceEventId}`, 'hex');
    return {
      siteId: credential.siteId,
      credentialId: credential.credentialId,
      id: String(id),
      sourceEventId,
      payloadHash: hash('sha256', body, 'buffer'),
      keyHash: key.slice(0, 32),
      jobId: evaluationJobId(BigInt(id)),
      job: `{"site_id":"${credential.siteId}","ingestion_id":"${id}"}`,
      month: new Date().toISOString().slice(0, 7),
      body: body.toString('utf8'),
    };
  }
}

const ledgerValues = (row: Row): unknown[] => [
  row.siteId,
  row.id,
  row.sourceEventId,
  row.payloadHash,
  129_000,
  'merchant',
  row.credentialId,
];
