import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventOf, merchant } from '../support/merchant.ts';
import { ADMIN_TOKEN } from '../support/running-service.ts';
import { createSite } from '../support/site.ts';
import { spawnService, untilReady, type WholeService } from '../support/whole-service.ts';

/** What is changed on one process must be so on every other within a second. */
const WITHIN_MS = 1_000;

describe('a change of a credential holds on every process within a second', () => {
  let database: TestDatabase;
  /** The one that is told, and the one that must come to know. */
  let told: WholeService;
  let other: WholeService;

  before(async () => {
    database = await createTestDatabase();
    await createSite(database, { code: 'acme' });
    const environment = {
      DATABASE_URL: database.appUrl,
      MIGRATION_DATABASE_URL: database.ownerUrl,
      ROLE: 'api',
    };
    told = await spawnService(environment);
    other = await spawnService(environment);
    await Promise.all([untilReady(told), untilReady(other)]);
  });

  after(async () => {
    await Promise.all([told.stop(), other.stop()]);
    await database.drop();
  });

  async function admin(procedure: string, input: object): Promise<Record<string, string>> {
    const response = await fetch(`${told.url}/admin/trpc/${procedure}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify(input),
    });
    const answer = (await response.json()) as {
      result?: { data: Record<string, string> };
      error?: { message: string };
    };
    if (answer.result === undefined) throw new Error(answer.error?.message);
    return answer.result.data;
  }

  const issue = async (options: object = {}): Promise<{ id: string; key: string }> => {
    const issued = await admin('credentials.issue', {
      site_code: 'acme',
      environment: 'production',
      label: 'shop',
      ...options,
    });
    return { id: issued['credential_id'] ?? '', key: issued['api_key'] ?? '' };
  };

  /** The status on both processes, asked at the same moment. */
  const statuses = async (key: string): Promise<number[]> =>
    Promise.all([told, other].map(async ({ url }) => (await merchant(url, key).usage()).status));

  async function turn(key: string, status: number): Promise<void> {
    const deadline = performance.now() + WITHIN_MS;
    let seen = await statuses(key);
    while (!seen.every((each) => each === status) && performance.now() < deadline) {
      await sleep(40);
      seen = await statuses(key);
    }
    expect(seen).to.deep.equal([status, status]);
  }

  it('an issued key works, also where it was refused before anybody knew it; a revoked one stops', async () => {
    const { id, key } = await issue();
    await turn(key, 200);
    await admin('credentials.revoke', { credential_id: id });
    await turn(key, 401);
  });

  it('a rotation: both keys work for the overlap, the old one dies at the second promised, usage goes on', async () => {
    const { id, key: former } = await issue();
    const submitted = await merchant(other.url, former).submit(eventOf());
    expect(submitted.status).to.equal(202);
    const rotated = await admin('credentials.rotate', { credential_id: id, overlap_seconds: 2 });
    const end = Date.now() + 2_000;
    const key = rotated['api_key'] ?? '';
    expect(rotated['credential_id']).to.equal(id);
    await turn(key, 200);
    expect(await statuses(former)).to.deep.equal([200, 200]);
    await sleep(Math.max(0, end - 400 - Date.now()));
    expect(await statuses(former), 'before the end').to.deep.equal([200, 200]);
    await sleep(Math.max(0, end - Date.now()));
    expect(await statuses(former), 'at the end').to.deep.equal([401, 401]);
    const usage = await merchant(other.url, key).usage();
    expect(usage.body.quota.accepted).to.equal(1);
  });

  it('an end in time needs no message: the key stops at that instant', async () => {
    const end = Date.now() + 1_500;
    const { key } = await issue({ expires_at: new Date(end).toISOString() });
    await turn(key, 200);
    await sleep(Math.max(0, end - Date.now()));
    expect(await statuses(key)).to.deep.equal([401, 401]);
  });

  it('a restricted key does what it was issued for and is 403 for the rest', async () => {
    const { key } = await issue({ permissions: ['read'] });
    for (const { url } of [told, other]) {
      const shop = merchant(url, key);
      expect((await shop.ingestion('ing_999999999')).status).to.equal(404);
      const refused = await shop.submit(eventOf());
      expect(refused.status).to.equal(403);
      expect(refused.body.error.code).to.equal('FORBIDDEN');
      expect((await shop.label('evt-1', { outcome_label: 'FALSE_POSITIVE' })).status).to.equal(403);
    }
  });

  it('the last use of each key is known to the minute, without a write per request', async () => {
    const { id, key: former } = await issue();
    const { api_key: key = '' } = await admin('credentials.rotate', {
      credential_id: id,
      overlap_seconds: 60,
    });
    const before = Date.now();
    await turn(former, 200);
    const uses = () =>
      database.query<{ last_used_at: Date }>(
        `select last_used_at from credential_key_use used join credential_key using (key_hash)
         where credential_id = $1`,
        [id],
      );
    expect(await uses(), 'nothing is written with the request').to.deep.equal([]);
    // A process that stops writes what it has seen, as it would within a minute.
    await other.stop();
    const [use, ...more] = await uses();
    expect(more).to.deep.equal([]);
    expect(use?.last_used_at.getTime()).to.be.within(before, Date.now());
    const response = await fetch(
      `${told.url}/admin/trpc/credentials.list?input=${encodeURIComponent('{"site_code":"acme"}')}`,
      { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } },
    );
    const { result } = (await response.json()) as {
      result: {
        data: {
          items: {
            credential_id: string;
            last_used_at: string | null;
            keys: { masked_key: string; last_used_at: string | null }[];
          }[];
        };
      };
    };
    const item = result.data.items.find(({ credential_id: each }) => each === id);
    const usedAt = use?.last_used_at.toISOString();
    expect(item?.last_used_at).to.equal(usedAt);
    const byKey = new Map(item?.keys.map((each) => [each.masked_key, each.last_used_at]));
    expect(byKey.get(`${former.slice(0, 18)}…`)).to.equal(usedAt);
    expect(byKey.get(`${key.slice(0, 18)}…`)).to.equal(null);
  });
});
