import { expect } from 'chai';
import { expirePayloadsOfSites, type UpkeepOptions } from '../../jobs/upkeep.ts';
import {
  createPipelinedTransactions,
  type PipelinedTransactions,
} from '../../ledger/transactions.ts';
import { verifyLedger } from '../../server/ledger-verify/verify-ledger.ts';
import { refusalOf, startAdminService, type AdminService } from '../routers/admin/admin-service.ts';

const DAY_MS = 86_400_000;

/** The tables that a Site may keep for a shorter time, each with the time that counts. */
const TABLES = {
  ingestion_payload: 'received_at',
  evaluation_features: 'evaluated_at',
  model_shadow_score: 'evaluated_at',
  rule_shadow_difference: 'evaluated_at',
};

describe('how long payloads of a Site are kept', () => {
  let service: AdminService;
  let pipelined: PipelinedTransactions;
  let next = 1_000;
  const sites: Record<string, string> = {};

  before(async () => {
    service = await startAdminService();
    service.clock.at = Date.now();
    pipelined = createPipelinedTransactions({
      url: service.database.ownerUrl,
      poolSize: 1,
      applicationName: 'test upkeep',
      statementTimeoutMs: 30_000,
    });
    for (const code of ['brief', 'neighbour']) {
      await service
        .as('administrator')
        .sites.create({ code, name: code, customer_type: 'SINGLE_COMPANY' });
      const [row] = await service.database.query<{ id: string }>(
        'select id from site where code = $1',
        [code],
      );
      sites[code] = row?.id ?? '';
    }
  });

  after(async () => {
    await pipelined.close();
    await service.close();
  });

  /** Adds events of a Site with everything that is stored about them, so many days ago. */
  const add = async (code: string, daysAgo: number, count = 1): Promise<void> => {
    const at = new Date(Date.now() - daysAgo * DAY_MS);
    const values = [sites[code], at, next, count];
    next += count;
    const numbers = 'generate_series($3::bigint, $3::bigint + $4::int - 1) as id';
    for (const statement of [
      `insert into ingestion (site_id, id, source_event_id, payload_hash, hash_version, received_at, occurred_at, event_type,
         transaction_type, transaction_status, amount_minor, currency, merchant_subject, credential_id)
       select $1::bigint, id, 'event-' || id, sha256('{}'), 1, $2, $2, 'PAYMENT_AUTH', 'AUTH', 'APPROVED', 1, 'KRW', 'm', 1 from ${numbers}`,
      `insert into ingestion_payload (site_id, ingestion_id, received_at, body) select $1::bigint, id, $2, '{}' from ${numbers}`,
      `insert into evaluation (site_id, ingestion_id, score, level, decision, reasons, rule_scores, evaluator_version, evaluated_at)
       select $1::bigint, id, 0, 'low', 'ALLOW', '[]', '{}', 'x', $2 from ${numbers}`,
      `insert into evaluation_features (site_id, ingestion_id, evaluated_at, features) select $1::bigint, id, $2, 'x' from ${numbers}`,
      `insert into model_shadow_score (site_id, ingestion_id, evaluated_at, model_id, probability)
       select $1::bigint, id, $2, 1, 0.5 from ${numbers}`,
      `insert into rule_shadow_difference (site_id, ingestion_id, evaluated_at, set_site_id, version, answered, proposed,
         answered_score, proposed_score)
       select $1::bigint, id, $2, 0, 1, 'ALLOW', 'REVIEW', 0, 30 from ${numbers}`,
    ]) {
      await service.database.query(statement, values);
    }
  };

  const expire = (): Promise<void> => {
    const options: UpkeepOptions = {
      transaction: pipelined.transaction,
      requeue: () => Promise.resolve(0),
      clock: service.services.clock,
      retention: { payloads: 400, webhooks: 35 },
      onRequeued: () => undefined,
      onFault: () => undefined,
    };
    return expirePayloadsOfSites(options);
  };

  /** How many rows of a Site each table has, of those so many days old. */
  const kept = async (code: string, daysAgo: number): Promise<number[]> => {
    const counts: number[] = [];
    for (const [table, column] of Object.entries(TABLES)) {
      const [row] = await service.database.query<{ count: number }>(
        `select count(*)::int as count from ${table}
         where site_id = $1 and abs(extract(epoch from now() - ${column}) / 86400 - $2) < 0.5`,
        [sites[code], daysAgo],
      );
      counts.push(row?.count ?? 0);
    }
    return counts;
  };

  it('is as long as the service keeps them, until it is set: whole days that are older go, of that Site alone', async () => {
    for (const code of ['brief', 'neighbour']) {
      for (const daysAgo of [100, 40, 20]) await add(code, daysAgo);
    }
    await expire();
    expect(await kept('brief', 100)).to.deep.equal([1, 1, 1, 1]);
    const set = await service
      .as('administrator')
      .sites.set_retention({ site_code: 'brief', payload_retention_days: 35 });
    expect(set.payload_retention_days).to.equal(35);
    // More than one pass gets to, so that the second one must go on where the first ended.
    await expire();
    for (let pass = 0; pass < 5; pass += 1) await expire();
    expect(await kept('brief', 100)).to.deep.equal([0, 0, 0, 0]);
    expect(await kept('brief', 40)).to.deep.equal([0, 0, 0, 0]);
    expect(await kept('brief', 20)).to.deep.equal([1, 1, 1, 1]);
    for (const daysAgo of [100, 40, 20]) {
      expect(await kept('neighbour', daysAgo)).to.deep.equal([1, 1, 1, 1]);
    }
    const [ledger] = await service.database.query<{ count: number }>(
      'select count(*)::int as count from ingestion where site_id = $1',
      [sites['brief']],
    );
    expect(ledger?.count, 'the ledger stays').to.equal(3);
  }).timeout(30_000);

  it('is followed in small transactions, to the last row of a day', async () => {
    await add('brief', 34, 2_500);
    await service
      .as('administrator')
      .sites.set_retention({ site_code: 'brief', payload_retention_days: 30 });
    await expire();
    expect(await kept('brief', 34)).to.deep.equal([0, 0, 0, 0]);
    expect(await kept('brief', 20)).to.deep.equal([1, 1, 1, 1]);
  }).timeout(30_000);

  it('opens the append-only guard for nothing else, for the owner neither', async () => {
    await add('brief', 60);
    const refused = async (statement: string, ...values: unknown[]): Promise<void> => {
      const error: unknown = await service.database
        .query(statement, values)
        .catch((caught) => caught);
      expect(String(error), statement).to.include('append-only');
    };
    const young = `> now() - interval '29 days'`;
    for (const [table, column] of Object.entries(TABLES)) {
      await refused(
        `delete from ${table} where site_id = $1 and ${column} ${young}`,
        sites['brief'],
      );
      await refused(`delete from ${table} where site_id = $1`, sites['neighbour']);
      await refused(`update ${table} set ${column} = ${column} where site_id = $1`, sites['brief']);
    }
    for (const table of ['ingestion', 'evaluation']) {
      await refused(`delete from ${table} where site_id = $1`, sites['brief']);
    }
  });

  it('is known to ledger:verify: what a Site keeps no longer is not missing', async () => {
    const verify = async () => {
      const { checks } = await verifyLedger({
        url: service.database.ownerUrl,
        now: Date.now(),
        tell: () => undefined,
      });
      return checks.find(({ name }) => name === 'payloads are there until retention ends');
    };
    expect((await verify())?.deviations).to.equal(0);
    // Set back to the service's, what is gone stays gone and is still explained.
    await service.as('administrator').sites.set_retention({ site_code: 'brief' });
    expect((await verify())?.deviations).to.equal(0);
    const site = await service.as('viewer').sites.get({ site_code: 'brief' });
    expect(site.payload_retention_days).to.equal(null);
  });

  it('is within bounds: at least 30 days, at most what the service keeps', async () => {
    const admin = service.as('administrator');
    for (const days of [29, 401, 30.5]) {
      const error = await refusalOf(
        admin.sites.set_retention({ site_code: 'brief', payload_retention_days: days }),
      );
      expect(error.code, String(days)).to.equal('BAD_REQUEST');
    }
  });
});
