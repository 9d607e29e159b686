import { expect } from 'chai';
import { createOrm } from '../../entities/orm.ts';
import type { Db } from '../../ledger/database.ts';
import { outcomeRecorded } from '../../ledger/webhook-causes.ts';
import { recordWebhookEvents } from '../../ledger/webhook-events.ts';
import { createdAtOf, deliveryJobId, newEventIds } from '../../ledger/webhook-ids.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { createSite } from '../support/site.ts';

const NOW = Date.UTC(2026, 2, 10, 12, 0, 0, 123);
const DAY_MS = 86_400_000;

describe('ids of webhook events', () => {
  it('are UUIDv7 that give their moment back, differ, and sort by it', () => {
    for (const at of [0, 1, NOW, Date.UTC(9999, 11, 31)]) {
      for (const id of newEventIds(at, 50)) {
        expect(id).to.match(
          /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
        );
        expect(createdAtOf(id)).to.equal(at);
      }
    }
    const many = newEventIds(NOW, 10_000);
    expect(new Set(many).size).to.equal(many.length);
    const [earlier = '', later = ''] = [newEventIds(NOW, 1)[0], newEventIds(NOW + 1, 1)[0]];
    expect(earlier < later).to.equal(true);
  });

  it('lead to one job for each endpoint', () => {
    const [eventId = '', other = ''] = newEventIds(NOW, 2);
    const id = deliveryJobId({ endpointId: 7n, eventId });
    expect(deliveryJobId({ endpointId: 7n, eventId })).to.equal(id);
    expect(deliveryJobId({ endpointId: 8n, eventId })).to.not.equal(id);
    expect(deliveryJobId({ endpointId: 7n, eventId: other })).to.not.equal(id);
    expect(id).to.match(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  });
});

describe('webhook events', () => {
  let database: TestDatabase;
  let orm: ReturnType<typeof createOrm>;
  before(async () => {
    database = await createTestDatabase();
    orm = createOrm({
      url: database.appUrl,
      poolSize: 2,
      applicationName: 'test webhook events',
      statementTimeoutMs: 5_000,
    });
  });
  after(async () => {
    await orm.close(true);
    await database.drop();
  });

  const newSite = async (): Promise<bigint> => BigInt((await createSite(database)).siteId);

  interface Wanted {
    readonly types?: string[];
    readonly state?: 'PENDING' | 'ACTIVE' | 'DISABLED';
    readonly wasActive?: boolean;
    readonly disabledAt?: number;
  }

  async function endpoint(siteId: bigint, wanted: Wanted = {}): Promise<bigint> {
    const { types = ['outcome.recorded'], state = 'ACTIVE', wasActive = true } = wanted;
    const [row] = await database.query<{ id: string }>(
      `insert into webhook_endpoint (site_id, url, description, event_types, state, activated_at, disabled_at, created_by,
         created_at, changed_by, changed_at)
       values ($1, 'https://receiver.example.com/', '', $2, $3, $4, $5, 'test', now(), 'test', now()) returning id`,
      [
        siteId,
        types,
        state,
        wasActive ? new Date(NOW - 100 * DAY_MS) : null,
        wanted.disabledAt === undefined ? null : new Date(wanted.disabledAt),
      ],
    );
    return BigInt(row?.id ?? 0);
  }

  let ingestion = 0n;
  const happening = (siteId: bigint) => {
    ingestion += 1n;
    return outcomeRecorded(
      { siteId, ingestionId: ingestion, sourceEventId: `event-${ingestion}` },
      'FALSE_POSITIVE',
    );
  };

  /** Records in a transaction, with the deliveries that were queued and the statements it took. */
  async function record(sites: readonly bigint[], fail = false) {
    const queued: bigint[] = [];
    let statements = 0;
    const work = orm.em.fork().transactional(async (em) => {
      const kysely = em.getKysely();
      const counting = {
        executeQuery: (query: Parameters<Db['executeQuery']>[0]) => {
          statements += 1;
          return kysely.executeQuery(query);
        },
      } as Db;
      await recordWebhookEvents(counting, sites.map(happening), NOW, (_db, deliveries) => {
        queued.push(...deliveries.map(({ endpointId }) => endpointId));
        return Promise.resolve();
      });
      if (fail) throw new Error('rolled back');
    });
    await work.catch((error: unknown) => {
      if (!fail) throw error;
    });
    return { queued, statements };
  }

  const rowsOf = async (siteId: bigint) => ({
    events: await database.query<{ id: string; body: string; created_at: Date }>(
      'select id, body, created_at from webhook_event where site_id = $1 order by id',
      [siteId],
    ),
    deliveries: await database.query<{ endpoint_id: string; event_id: string; held: boolean }>(
      `select endpoint_id, event_id, next_attempt_at is null as held from webhook_delivery where site_id = $1
       order by endpoint_id`,
      [siteId],
    ),
  });

  it('cost a Site without endpoints its share of one read', async () => {
    const sites = [await newSite(), await newSite()];
    const [site = 0n] = sites;
    await endpoint(site, { types: ['transaction.evaluated'] });
    expect(await record(Array.from({ length: 200 }, (_, n) => sites[n % 2] ?? 0n))).to.deep.equal({
      queued: [],
      statements: 1,
    });
    expect((await rowsOf(site)).events, 'of a type that it does not want').to.deep.equal([]);
    expect(await record([]), 'nothing happened').to.deep.equal({ queued: [], statements: 0 });
  });

  it('are stored once and delivered to every endpoint of the Site that wants the type, in three statements', async () => {
    const [site, neighbour] = [await newSite(), await newSite()];
    const one = await endpoint(site);
    const two = await endpoint(site, { types: ['transaction.evaluated', 'outcome.recorded'] });
    await endpoint(site, { types: ['transaction.evaluated'] });
    const theirs = await endpoint(neighbour);
    const { queued, statements } = await record([site, neighbour, site]);
    expect(statements, 'one read, events, deliveries; jobs are queued beside them').to.equal(3);
    expect(queued).to.have.members([one, one, two, two, theirs]);
    const { events, deliveries } = await rowsOf(site);
    expect(events).to.have.length(2);
    expect(deliveries.map((row) => BigInt(row.endpoint_id))).to.deep.equal([one, one, two, two]);
    for (const { id, body, created_at: at } of events) {
      expect(at.getTime()).to.equal(NOW);
      expect(JSON.parse(body)).to.include({
        event_id: `evt_${id.replaceAll('-', '')}`,
        event_type: 'outcome.recorded',
        created_at: new Date(NOW).toISOString(),
      });
    }
    expect((await rowsOf(neighbour)).deliveries).to.have.length(1);
  });

  it('are delivered, held, kept or not written, as the state of the endpoint says', async () => {
    const cases: [Wanted, { events: number; deliveries: boolean[]; queued: number }][] = [
      [{ state: 'ACTIVE' }, { events: 1, deliveries: [false], queued: 1 }],
      [
        { state: 'PENDING', wasActive: false },
        { events: 0, deliveries: [], queued: 0 },
      ],
      [{ state: 'PENDING' }, { events: 1, deliveries: [true], queued: 0 }],
      [
        { state: 'DISABLED', disabledAt: NOW - 29 * DAY_MS },
        { events: 1, deliveries: [], queued: 0 },
      ],
      [
        { state: 'DISABLED', disabledAt: NOW - 31 * DAY_MS },
        { events: 0, deliveries: [], queued: 0 },
      ],
      [
        { state: 'DISABLED', wasActive: false, disabledAt: NOW },
        { events: 0, deliveries: [], queued: 0 },
      ],
    ];
    for (const [wanted, expected] of cases) {
      const site = await newSite();
      await endpoint(site, wanted);
      const { queued } = await record([site]);
      const { events, deliveries } = await rowsOf(site);
      expect(
        {
          events: events.length,
          deliveries: deliveries.map(({ held }) => held),
          queued: queued.length,
        },
        JSON.stringify(wanted),
      ).to.deep.equal(expected);
    }
  });

  it('vanish with the transaction of their cause', async () => {
    const site = await newSite();
    await endpoint(site);
    expect((await record([site], true)).statements).to.equal(3);
    expect(await rowsOf(site)).to.deep.equal({ events: [], deliveries: [] });
  });

  it('cannot be changed or removed', async () => {
    const site = await newSite();
    await endpoint(site);
    await record([site]);
    for (const statement of [
      `update webhook_event set body = '{}' where site_id = ${site}`,
      `delete from webhook_event where site_id = ${site}`,
      'truncate webhook_attempt',
    ]) {
      const error: unknown = await database.query(statement).catch((caught: unknown) => caught);
      expect(String(error), statement).to.include('append-only');
    }
  });
});
