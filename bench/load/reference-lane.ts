import { hash } from 'node:crypto';
import { evaluationJobId } from '../../ledger/ids.ts';
import { execution, PgSession, type Value } from './pg-session.ts';
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

/** The statements of one transaction of each form, in order, with the values of each. */
const FORMS: Readonly<
  Record<ReferenceWrites, readonly (readonly [text: string, values: (row: Row) => Value[]])[]>
> = {
  plain: [
    ['begin', none],
    [USAGE, usageValues],
    [LEDGER, ledgerValues],
    [JOB, jobValues],
    ['commit', none],
  ],
  full: [
    ['begin', none],
    [USAGE, usageValues],
    [KEY, (row) => [row.siteId, row.keyHash, row.payloadHash, row.id]],
    [LEDGER, ledgerValues],
    [PAYLOAD, (row) => [row.siteId, row.id, row.body]],
    [JOB, jobValues],
    ['commit', none],
  ],
  single: [[SINGLE, (row) => [...ledgerValues(row), row.month, ...jobValues(row)]]],
};

/**
 * One database client of the reference: the same tables, the same durability, prepared statements, one transaction per
 * event; no HTTP, key check, limit, validation, scan or conflict handling. Works as `pgbench -M prepared` runs a script:
 * every statement, BEGIN and COMMIT among them, is one round trip.
 */
export class ReferenceLane {
  readonly #form: (typeof FORMS)[ReferenceWrites];
  readonly #source: RequestSource;
  #session: PgSession | undefined;

  constructor(writes: ReferenceWrites, source: RequestSource) {
    this.#form = FORMS[writes];
    this.#source = source;
  }

  /** Connects and prepares. @throws Error with the server's message */
  async open(url: string): Promise<void> {
    this.#session = await PgSession.open(url);
    for (const [index, [text]] of this.#form.entries()) {
      await this.#session.prepare(nameOf(index), text);
    }
    await this.#session.prepare('undo', 'rollback');
  }

  close(): void {
    this.#session?.close();
  }

  /** Commits one event; 202 when it is durable, 0 when it failed. */
  send(): Promise<number> {
    const row = this.#row();
    const messages = this.#form.map(([, values], index) => execution(nameOf(index), values(row)));
    return new Promise((resolve) => {
      const step = (index: number): void => {
        const message = messages[index];
        if (message === undefined) {
          resolve(202);
          return;
        }
        this.#session?.send(message, (error) => {
          if (error === undefined) {
            step(index + 1);
            return;
          }
          console.error(`reference: ${error}`);
          this.#session?.send(execution('undo', []), () => resolve(0));
        });
      };
      step(0);
    });
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

const nameOf = (index: number): string => `s${index}`;

function none(): Value[] {
  return [];
}

function usageValues(row: Row): Value[] {
  return [row.siteId, row.credentialId, row.month];
}

function ledgerValues(row: Row): Value[] {
  const { siteId, id, sourceEventId, payloadHash, credentialId } = row;
  return [siteId, id, sourceEventId, payloadHash, '129000', 'merchant', credentialId];
}

function jobValues(row: Row): Value[] {
  return [row.jobId, row.job];
}
