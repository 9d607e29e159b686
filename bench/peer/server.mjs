// The same API operation written the usual way: Fastify, its JSON-schema validation, pg with a pool and prepared
// statements, one transaction per request. Keys are kept in memory after their first look-up. It has no rate limit, no
// scan for forbidden data and no canonical hash, so it is a little less than the service does.
import { createHash, randomUUID } from 'node:crypto';
import Fastify from 'fastify';
import { Pool } from 'pg';
import { z } from 'zod';
import { TransactionEvent } from '../../contract/transaction.ts';

const pool = new Pool({ connectionString: process.env.DATABASE_URL, max: 32 });
const app = Fastify({ logger: false, bodyLimit: 256 * 1024 });
const keys = new Map();
let nextId = 2_000_000_000_000;

const { $schema: _, ...schema } = z.toJSONSchema(TransactionEvent, {
  io: 'input',
  // Words for readers; the validator knows no such keywords.
  override: ({ jsonSchema }) => {
    delete jsonSchema.id;
    delete jsonSchema.example;
  },
});

const STATEMENTS = {
  credential: `select credential.id, credential.site_id from credential_key key join credential on credential.id = key.credential_id
    where key.key_hash = $1 and credential.revoked_at is null`,
  usage: `insert into usage_counter as counter (site_id, credential_id, month, accepted) values ($1, $2, $3, 1)
    on conflict (site_id, credential_id, month) do update set accepted = counter.accepted + 1`,
  key: `insert into idempotency_key (site_id, operation, key_hash, fingerprint, hash_version, ingestion_id, created_at)
    values ($1, 'event', $2, $3, 1, $4, now()) on conflict do nothing`,
  known: `select fingerprint, ingestion_id from idempotency_key where site_id = $1 and operation = 'event' and key_hash = $2`,
  ledger: `insert into ingestion (site_id, id, source_event_id, payload_hash, hash_version, received_at, occurred_at, event_type,
      transaction_type, transaction_status, amount_minor, currency, merchant_subject, credential_id)
    values ($1, $2, $3, $4, 1, now(), $5, $6, $7, $8, $9, $10, $11, $12)`,
  payload: `insert into ingestion_payload (site_id, ingestion_id, received_at, body) values ($1, $2, now(), $3)`,
  job: `insert into pgboss.job (name, id, data, retry_limit, retry_delay, retry_backoff, retry_delay_max, expire_seconds,
      deletion_seconds, policy, dead_letter)
    values ('evaluate', $1, $2, 100, 2, true, 300, 15, 21600, 'standard', 'evaluate_dead')`,
};
const run = (client, name, values) => client.query({ name, text: STATEMENTS[name], values });

async function callerOf(apiKey) {
  const name = createHash('sha256').update(String(apiKey)).digest();
  const known = keys.get(name.toString('latin1'));
  if (known !== undefined) return known;
  const { rows } = await run(pool, 'credential', [name]);
  if (rows[0] !== undefined) keys.set(name.toString('latin1'), rows[0]);
  return rows[0];
}

app.get('/healthz', () => ({ status: 'ok' }));

app.post('/v1/transactions', { schema: { body: schema } }, async (request, reply) => {
  const caller = await callerOf(request.headers['x-api-key']);
  if (caller === undefined) return reply.code(401).send({ error: 'UNAUTHORIZED' });
  const event = request.body;
  const { transaction } = event;
  const body = JSON.stringify(event);
  const fingerprint = createHash('sha256').update(body).digest();
  const keyHash = createHash('sha256')
    .update(String(request.headers['idempotency-key']))
    .digest('hex')
    .slice(0, 32);
  const id = String(nextId++);
  const sourceEventId = transaction.tid ?? event.source_event_id;
  const client = await pool.connect();
  try {
    await client.query('begin');
    const { rowCount } = await run(client, 'key', [caller.site_id, keyHash, fingerprint, id]);
    if (rowCount === 0) {
      const { rows } = await run(client, 'known', [caller.site_id, keyHash]);
      await client.query('rollback');
      if (!rows[0].fingerprint.equals(fingerprint))
        return reply.code(409).send({ error: 'IDEMPOTENCY_CONFLICT' });
      return reply
        .code(202)
        .send({ ingestion_id: `ing_${rows[0].ingestion_id}`, status: 'ACCEPTED' });
    }
    await run(client, 'usage', [caller.site_id, caller.id, new Date().toISOString().slice(0, 7)]);
    await run(client, 'ledger', [
      caller.site_id,
      id,
      sourceEventId,
      fingerprint,
      transaction.occurred_at,
      event.event_type,
      transaction.type,
      transaction.status,
      transaction.amount_minor,
      transaction.currency,
      event.merchant_external_id ?? 'default',
      caller.id,
    ]);
    await run(client, 'payload', [caller.site_id, id, body]);
    await run(client, 'job', [randomUUID(), { site_id: caller.site_id, ingestion_id: id }]);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    client.release();
  }
  return reply.code(202).send({
    request_id: request.id,
    ingestion_id: `ing_${id}`,
    status: 'ACCEPTED',
    received_at: new Date().toISOString(),
    schema_version: '1.0',
    source_event_id: sourceEventId,
    processing_state: 'QUEUED',
  });
});

await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });
process.once('SIGTERM', () => {
  void app.close().then(() => pool.end());
});
