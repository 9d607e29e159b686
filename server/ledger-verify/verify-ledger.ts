import { Client } from 'pg';
import { CHECKS } from './checks.ts';

/** Deviations that are named at most; the rest is counted. */
const NAMED = 20;

/** Ledger rows hashed by one statement. */
const PAGE = 5_000;

/** How one check came out. */
export interface CheckResult {
  readonly name: string;
  readonly deviations: number;
  /** The first of them. */
  readonly named: readonly string[];
  readonly says: string;
  readonly advice: boolean;
}

/** How a ledger came out. */
export interface Verification {
  /** Ledger rows looked at, and how many of them still had their payload. */
  readonly rows: number;
  readonly hashed: number;
  readonly checks: readonly CheckResult[];
  /** True where nothing deviates but what is advice. */
  readonly sound: boolean;
}

/** What is verified. */
export interface VerifyOptions {
  readonly url: string;
  readonly now: number;
  readonly tell: (line: string) => void;
}

/**
 * Holds the whole ledger against itself, as of one instant: each payload against its hash, each row against those it is
 * about, counters against rows. Reads only; memory stays bounded. The service may go on working meanwhile.
 */
export async function verifyLedger(options: VerifyOptions): Promise<Verification> {
  const client = new Client({
    connectionString: options.url,
    application_name: 'transaction-risk ledger verify',
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
  });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query(`set statement_timeout = 0`);
    await client.query(`set timezone = 'UTC'`);
    await client.query('begin isolation level repeatable read read only');
    const { rows, hashed, results } = await verifyPayloads(client, options.tell);
    const checks = [...results];
    for (const check of CHECKS) {
      options.tell(check.name);
      const found = await client.query<{ what: string; total: string }>(
        `select what, count(*) over () as total from (${check.deviations}) deviation order by what limit ${NAMED}`,
        [new Date(options.now).toISOString()],
      );
      checks.push({
        name: check.name,
        says: check.says,
        advice: check.advice === true,
        deviations: Number(found.rows[0]?.total ?? 0),
        named: found.rows.map(({ what }) => what),
      });
    }
    await client.query('commit');
    const sound = checks.every(({ deviations, advice }) => advice || deviations === 0);
    return { rows, hashed, checks, sound };
  } finally {
    await client.end().catch(() => undefined);
  }
}

interface PageRow {
  rows: number;
  hashed: number;
  last_site: string | null;
  last_id: string | null;
  missing: string[];
  wrong: string[];
}

/**
 * The hash of every payload, page by page in the order of the ledger's key. A payload may be missing only for a day whose
 * partition was dropped after retention, or that its Site keeps no longer.
 */
async function verifyPayloads(client: Client, tell: (line: string) => void) {
  const total = await estimate(client);
  const kept = await client.query<{ day: string | null }>(
    `select to_char(to_date(min(right(relname, 8)), 'YYYYMMDD'), 'YYYY-MM-DD') || 'T00:00:00Z' as day
     from pg_inherits join pg_class on pg_class.oid = inhrelid
     where inhparent = 'ingestion_payload'::regclass and relname ~ '_[0-9]{8}$'`,
  );
  const wrong = new Findings(
    'payloads have the hash that was stored',
    'events whose payload is not the one accepted',
  );
  const missing = new Findings(
    'payloads are there until retention ends',
    'events whose payload is gone though its day is kept',
  );
  let rows = 0;
  let hashed = 0;
  let at = ['0', '0'];
  let said = performance.now();
  for (;;) {
    const page = await client.query<PageRow>(HASHES, [
      ...at,
      PAGE,
      kept.rows[0]?.day ?? '-infinity',
    ]);
    const row = page.rows[0];
    if (row === undefined || row.rows === 0) break;
    rows += row.rows;
    hashed += row.hashed;
    wrong.add(row.wrong);
    missing.add(row.missing);
    at = [row.last_site ?? '0', row.last_id ?? '0'];
    if (performance.now() - said > 2_000) {
      said = performance.now();
      tell(`payload hashes: ${rows} of about ${Math.max(total, rows)} ledger rows`);
    }
  }
  tell(`payload hashes: all ${rows} ledger rows, ${hashed} payloads`);
  return { rows, hashed, results: [wrong.result(), missing.result()] };
}

const HASHES = `
  with page as (
    select site_id, id, received_at, payload_hash from ingestion
    where (site_id, id) > ($1::bigint, $2::bigint) order by site_id, id limit $3
  ), held as (
    select page.site_id, page.id, payload.body is not null as hashed,
      payload.body is null and page.received_at >= $4::timestamptz
        and page.received_at >= coalesce(site.payload_expired_to, '-infinity')
        and page.received_at >= coalesce(now() - make_interval(days => site.payload_retention_days), '-infinity') as missing,
      coalesce(sha256(convert_to(payload.body, 'UTF8')) <> page.payload_hash, false) as wrong
    from page left join ingestion_payload payload on payload.site_id = page.site_id
      and payload.ingestion_id = page.id and payload.received_at = page.received_at
    left join site on site.id = page.site_id
  ), last as (select site_id, id from page order by site_id desc, id desc limit 1)
  select count(*)::int as rows, count(*) filter (where hashed)::int as hashed,
    (select site_id from last)::text as last_site, (select id from last)::text as last_id,
    coalesce(json_agg('Site ' || site_id || ', ing_' || id) filter (where missing), '[]') as missing,
    coalesce(json_agg('Site ' || site_id || ', ing_' || id) filter (where wrong), '[]') as wrong
  from held`;

/** Counts what it is given and keeps the first names. */
class Findings {
  readonly #name: string;
  readonly #says: string;
  readonly #named: string[] = [];
  #count = 0;

  constructor(name: string, says: string) {
    this.#name = name;
    this.#says = says;
  }

  add(names: readonly string[]): void {
    this.#count += names.length;
    this.#named.push(...names.slice(0, NAMED - this.#named.length));
  }

  result(): CheckResult {
    const [name, says] = [this.#name, this.#says];
    return { name, says, advice: false, deviations: this.#count, named: this.#named };
  }
}

async function estimate(client: Client): Promise<number> {
  const { rows } = await client.query<{ rows: string }>(
    `select greatest(reltuples, 0)::bigint as rows from pg_class where oid = 'ingestion'::regclass`,
  );
  return Number(rows[0]?.rows ?? 0);
}
