import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import type { TransactionEvent } from '../../contract/transaction.ts';
import { run } from '../../ledger/database.ts';
import { lockTurns, takeTurns } from '../../ledger/evaluation-turns.ts';
import { createPipelinedTransactions, type Transaction } from '../../ledger/transactions.ts';
import { absorb, encodeState, readEvent, type EntityState } from '../../risk/index.ts';

/** What a rebuild is given. */
export interface RebuildOptions {
  /** The owning or the application's role. Never print it. */
  readonly url: string;
  /** True: what differs is replaced; false: only counted. */
  readonly write: boolean;
  /** Only the Site of this code. */
  readonly siteCode: string | undefined;
  /** Events read so far, of all that will be. */
  readonly onProgress: (done: number, total: number) => void;
  /** Entities held in memory at once; more are done in several passes over the events. */
  readonly entitiesAtOnce?: number;
}

/** What it found. */
export interface Rebuilt {
  readonly sites: number;
  readonly events: number;
  readonly entities: number;
  /** Stored states that are not what the ledger gives. */
  readonly differing: number;
  /** Entities of the ledger without a stored state, and stored states without an event. */
  readonly missing: number;
  readonly surplus: number;
  readonly written: number;
  /** Left alone because an evaluation changed them meanwhile: run it again. */
  readonly moved: number;
  /** Sites left out because payloads were dropped: their earliest history cannot be read again. */
  readonly incomplete: readonly string[];
}

const ENTITIES_AT_ONCE = 50_000;
const PAGE = 2_000;
const WRITE_AT_ONCE = 500;

interface Change {
  readonly kind: string;
  readonly key: string;
  readonly state: string;
  /** Of the state that was read; undefined where there was none. */
  readonly version: string | undefined;
}

interface Site {
  readonly id: string;
  readonly code: string;
  readonly events: number;
  readonly readable: number;
  readonly entities: number;
}

/**
 * Computes the history of every entity again from the judged events of the ledger, in the order in which they were
 * judged, and compares it with what is stored, to the last digit. Reads one snapshot, so evaluations may go on; what they
 * change meanwhile is not overwritten.
 */
export async function rebuildStates(options: RebuildOptions): Promise<Rebuilt> {
  const client = new Client({
    connectionString: options.url,
    application_name: 'transaction-risk rebuild',
  });
  client.on('error', () => undefined);
  await client.connect();
  const database = createPipelinedTransactions({
    url: options.url,
    poolSize: 1,
    applicationName: 'transaction-risk rebuild',
    statementTimeoutMs: 60_000,
  });
  const sum = {
    events: 0,
    entities: 0,
    differing: 0,
    missing: 0,
    surplus: 0,
    written: 0,
    moved: 0,
  };
  const incomplete: string[] = [];
  try {
    const sites = await readSites(client, options.siteCode);
    const atOnce = options.entitiesAtOnce ?? ENTITIES_AT_ONCE;
    const whole = sites.filter(({ events, readable }) => events === readable);
    for (const { code, events, readable } of sites) if (events > readable) incomplete.push(code);
    const passesOf = ({ entities }: Site): number => Math.max(1, Math.ceil(entities / atOnce));
    const total = whole.reduce((all, site) => all + site.events * passesOf(site), 0);
    let done = 0;
    for (const site of whole) {
      const passes = passesOf(site);
      for (let pass = 0; pass < passes; pass++) {
        await client.query('begin isolation level repeatable read');
        const states = await readStates(client, site, pass, passes, (count) => {
          done += count;
          options.onProgress(done, total);
        });
        sum.entities += states.size;
        const { changes, surplus } = await compare(client, site, pass, passes, states);
        await client.query('commit');
        sum.surplus += surplus;
        for (const change of changes) {
          if (change.version === undefined) sum.missing++;
          else sum.differing++;
        }
        if (!options.write) continue;
        const written = await write(database.transaction, site, changes);
        sum.written += written;
        sum.moved += changes.length - written;
      }
      sum.events += site.events;
    }
    return { sites: whole.length, ...sum, incomplete };
  } finally {
    await client.end().catch(() => undefined);
    await database.close();
  }
}

async function readSites(client: Client, code: string | undefined): Promise<Site[]> {
  const { rows } = await client.query<Site>(
    `select site.id, site.code,
       (select count(*)::int from evaluation where site_id = site.id) as events,
       (select count(*)::int from evaluation result
         join ingestion event on event.site_id = result.site_id and event.id = result.ingestion_id
         join ingestion_payload payload on payload.site_id = event.site_id and payload.ingestion_id = event.id
           and payload.received_at = event.received_at
         where result.site_id = site.id) as readable,
       (select count(*)::int from entity_state where site_id = site.id) as entities
     from site where $1::text is null or code = $1::text order by site.id`,
    [code ?? null],
  );
  return rows;
}

/** Which pass an entity belongs to, by its key, which is a digest. */
const passOf = (key: string, passes: number): number =>
  Number.parseInt(key.slice(0, 6), 16) % passes;

async function readStates(
  client: Client,
  site: Site,
  pass: number,
  passes: number,
  onEvents: (count: number) => void,
): Promise<Map<string, EntityState>> {
  const states = new Map<string, EntityState>();
  // The order of judgement: batch by batch, within a batch by the time they happened.
  await client.query(
    `declare judged no scroll cursor for
     select event.id, event.merchant_subject, payload.body,
       (extract(epoch from event.occurred_at) * 1000)::bigint as occurred_at,
       (extract(epoch from event.received_at) * 1000)::bigint as received_at
     from evaluation result
     join ingestion event on event.site_id = result.site_id and event.id = result.ingestion_id
     join ingestion_payload payload on payload.site_id = event.site_id and payload.ingestion_id = event.id
       and payload.received_at = event.received_at
     where result.site_id = ${BigInt(site.id)}
     order by result.evaluated_at, least(event.occurred_at, event.received_at), event.id`,
  );
  for (;;) {
    const { rows } = await client.query<{
      id: string;
      merchant_subject: string;
      body: string;
      occurred_at: string;
      received_at: string;
    }>(`fetch ${PAGE} from judged`);
    if (rows.length === 0) break;
    for (const row of rows) {
      const event = readEvent({
        ingestionId: row.id,
        // Validated when it was accepted, and stored by us.
        event: JSON.parse(row.body) as TransactionEvent,
        merchantSubject: row.merchant_subject,
        occurredAt: Number(row.occurred_at),
        receivedAt: Number(row.received_at),
        originalKnown: null,
      });
      for (const { kind, key } of event.entities) {
        if (passOf(key, passes) !== pass) continue;
        const name = `${kind}/${key}`;
        states.set(name, absorb(states.get(name), event, kind));
      }
    }
    onEvents(rows.length);
  }
  await client.query('close judged');
  return states;
}

/** Takes every state that has a stored one out of `states`; those left are missing in the store. */
async function compare(
  client: Client,
  site: Site,
  pass: number,
  passes: number,
  states: Map<string, EntityState>,
): Promise<{ changes: Change[]; surplus: number }> {
  const changes: Change[] = [];
  let surplus = 0;
  await client.query(
    `declare held no scroll cursor for
     select entity_kind as kind, replace(entity_key::text, '-', '') as key, state, version
     from entity_state where site_id = ${BigInt(site.id)}`,
  );
  for (;;) {
    const { rows } = await client.query<{
      kind: string;
      key: string;
      state: string;
      version: string;
    }>(`fetch ${PAGE} from held`);
    if (rows.length === 0) break;
    for (const { kind, key, state: stored, version } of rows) {
      if (passOf(key, passes) !== pass) continue;
      const name = `${kind}/${key}`;
      const state = states.get(name);
      states.delete(name);
      if (state === undefined) {
        surplus++;
        continue;
      }
      const text = encodeState(state);
      if (text !== stored) changes.push({ kind, key, state: text, version });
    }
  }
  await client.query('close held');
  for (const [name, state] of states) {
    const slash = name.indexOf('/');
    changes.push({
      kind: name.slice(0, slash),
      key: name.slice(slash + 1),
      state: encodeState(state),
      version: undefined,
    });
  }
  return { changes, surplus };
}

/**
 * Replaces states that are still what was read, in the turn of their Site, so that no worker goes on with what it
 * remembers of them; returns how many.
 */
async function write(transaction: Transaction, site: Site, changes: Change[]): Promise<number> {
  const holder = randomUUID();
  let written = 0;
  for (let at = 0; at < changes.length; at += WRITE_AT_ONCE) {
    const slice = changes.slice(at, at + WRITE_AT_ONCE);
    written += await transaction(async (db) => {
      await lockTurns(db, [BigInt(site.id)], holder);
      await takeTurns(db, [BigInt(site.id)], holder);
      const { affected } = await run(
        db,
        `insert into entity_state as held (site_id, entity_kind, entity_key, state, version)
         select $1::bigint, kind, key, state, coalesce(version, 0) + 1
         from unnest($2::text[], $3::uuid[], $4::text[], $5::bigint[]) as change (kind, key, state, version)
         on conflict (site_id, entity_key) do update
           set state = excluded.state, version = excluded.version
           where held.version = excluded.version - 1`,
        [
          site.id,
          slice.map(({ kind }) => kind),
          slice.map(({ key }) => key),
          slice.map(({ state }) => state),
          slice.map(({ version }) => version ?? null),
        ],
      );
      return affected;
    });
  }
  return written;
}
