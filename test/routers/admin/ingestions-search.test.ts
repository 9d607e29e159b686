import { expect } from 'chai';
import { requeueEvaluations } from '../../../jobs/enqueue.ts';
import { createBoss } from '../../../jobs/queues.ts';
import { openDeadLetter } from '../../../ledger/failed-attempts.ts';
import { evaluationJobId } from '../../../ledger/ids.ts';
import { findStatesById } from '../../../ledger/status.ts';
import { NOON, refusalOf, startAdminService, type AdminService } from './admin-service.ts';

type Found = Awaited<
  ReturnType<ReturnType<AdminService['as']>['ingestions']['search']>
>['items'][0];
type Query = Parameters<ReturnType<AdminService['as']>['ingestions']['search']>[0];

const EVENTS = 3_200;
const STATUSES = ['PENDING', 'PROCESSING', 'RETRY_SCHEDULED', 'SUCCEEDED', 'DLQ'] as const;

/** What is put into the ledger: mostly evaluated events of three Sites, one a second, and a few of every other status. */
describe('admin: the search of ingestions', () => {
  let service: AdminService;
  const sites: bigint[] = [];
  const everything: { id: bigint; site: number; at: number; status: string }[] = [];
  const viewer = () => service.as('viewer');

  const statusOf = (index: number): string => {
    if (index % 401 === 7) return 'DLQ';
    if (index % 397 === 5) return 'PENDING';
    if (index % 499 === 3) return 'RETRY_SCHEDULED';
    if (index % 1_601 === 2) return 'PROCESSING';
    return 'SUCCEEDED';
  };

  before(async () => {
    service = await startAdminService();
    for (const code of ['acme', 'other', 'empty']) {
      await service
        .as('administrator')
        .sites.create({ code, name: code, customer_type: 'MULTI_MERCHANT' });
    }
    const ids = await service.database.query<{ id: string }>('select id from site order by id');
    sites.push(...ids.map(({ id }) => BigInt(id)));
    for (let index = 0; index < EVENTS; index += 1) {
      // Neighbouring rows share a millisecond now and then, and ids of blocks do not follow the time.
      const at = NOON - (EVENTS - (index - (index % 2))) * 1_000;
      const id = index % 3 === 0 ? BigInt(9_000 + index) : BigInt(1_000 + index);
      everything.push({ id, site: index % 5 === 0 ? 1 : 0, at, status: statusOf(index) });
    }
    await service.database.query(
      `insert into ingestion (site_id, id, source_event_id, caller_event_id, payload_hash, hash_version, received_at,
         occurred_at, event_type, transaction_type, transaction_status, amount_minor, currency, merchant_subject, credential_id)
       select site_id, id, 'event-' || id, case when id % 100 = 0 then 'called-' || id end, '\\x00', 1, at, at,
         'PAYMENT_AUTH', 'AUTH', 'APPROVED', 1, 'KRW', 'm', 1
       from unnest($1::bigint[], $2::bigint[], $3::timestamptz[]) as event (site_id, id, at)`,
      [
        everything.map(({ site }) => String(sites[site])),
        everything.map(({ id }) => String(id)),
        everything.map(({ at }) => new Date(at)),
      ],
    );
    await service.database.query(
      `insert into evaluation (site_id, ingestion_id, score, level, decision, reasons, rule_scores, evaluator_version, evaluated_at)
       select site_id, id, 40, 'medium', 'REVIEW', '[]', '{}', 'x', received_at from ingestion where id = any ($1)`,
      [everything.filter(({ status }) => status === 'SUCCEEDED').map(({ id }) => String(id))],
    );
    const db = service.services.orm.em.fork().getKysely();
    const refOf = ({ site, id }: (typeof everything)[0]) => ({
      siteId: sites[site] ?? 0n,
      ingestionId: id,
    });
    const waiting = everything.filter(({ status }) => /PENDING|PROCESSING|RETRY/.test(status));
    const boss = createBoss({
      url: service.database.appUrl,
      backend: 'postgres',
      applicationName: 'test queue',
      supervise: false,
      migrate: false,
      onError: () => undefined,
    });
    await boss.start();
    await requeueEvaluations(boss, db, waiting.map(refOf));
    await boss.stop({ graceful: false });
    for (const [status, state] of [
      ['PROCESSING', 'active'],
      ['RETRY_SCHEDULED', 'retry'],
    ]) {
      await service.database.query(
        `update pgboss.job set state = $2 where name = 'evaluate' and id = any ($1::uuid[])`,
        [
          waiting.filter((row) => row.status === status).map(({ id }) => evaluationJobId(id)),
          state,
        ],
      );
    }
    const dead = everything.filter(({ status }) => status === 'DLQ').map(refOf);
    for (const ref of dead) {
      await openDeadLetter(db, ref, { cause: 'X', attempts: 1, deadAt: NOON });
    }
    // Statistics, which a running database has.
    await service.database.query('analyze');
    await service.as('operator').dead_letters.discard({
      ingestion_ids: [`ing_${dead[0]?.ingestionId}`],
      reason: 'in DLQ all the same',
    });
  });
  after(() => service.close());

  /** Every page of a search; checks that each keeps its bounds. */
  async function all(query: Query): Promise<Found[]> {
    const found: Found[] = [];
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<ReturnType<AdminService['as']>['ingestions']['search']>> =
        await viewer().ingestions.search({
          limit: 100,
          ...query,
          ...(cursor === null ? {} : { cursor }),
        });
      expect(page.items.length).to.be.at.most(query.limit ?? 100);
      found.push(...page.items);
      ({ next_cursor: cursor } = page);
    } while (cursor !== null);
    return found;
  }

  const idsOf = (found: readonly Found[]): string[] => found.map((row) => row.ingestion_id);
  const expected = (keep: (row: (typeof everything)[0]) => boolean): string[] =>
    everything
      .filter(keep)
      .sort((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1))
      .map(({ id }) => `ing_${id}`);

  it('shows every ingestion once, newest first, over all Sites and of one', async () => {
    expect(idsOf(await all({ limit: 500 }))).to.deep.equal(expected(() => true));
    expect(idsOf(await all({ site_code: 'acme', limit: 500 }))).to.deep.equal(
      expected(({ site }) => site === 0),
    );
    expect(await all({ site_code: 'empty' })).to.deep.equal([]);
    const [first] = (await viewer().ingestions.search({ limit: 1 })).items;
    const newest = everything.at(-1);
    expect(first).to.deep.equal({
      ingestion_id: expected(() => true)[0],
      site_code: 'acme',
      source_event_id: `event-${expected(() => true)[0]?.slice(4)}`,
      received_at: new Date(newest?.at ?? 0).toISOString(),
      status: 'SUCCEEDED',
      score: 40,
      level: 'medium',
      decision: 'REVIEW',
      evaluated_at: new Date(newest?.at ?? 0).toISOString(),
      credential_id: '1',
    });
  });

  it('keeps to the time asked for: from it on, and before its end', async () => {
    const from = NOON - 2_000_000;
    const to = NOON - 1_900_000;
    for (const site of [undefined, 'other']) {
      const found = await all({
        from: new Date(from).toISOString(),
        to: new Date(to).toISOString(),
        ...(site === undefined ? {} : { site_code: site }),
      });
      const ids = expected(
        (row) => row.at >= from && row.at < to && (site === undefined || row.site === 1),
      );
      expect(ids).to.not.have.length(0);
      expect(idsOf(found)).to.deep.equal(ids);
    }
  });

  for (const status of STATUSES) {
    it(`finds exactly those that are ${status}, as the public status says`, async () => {
      const found = await all({ status });
      expect(idsOf(found)).to.have.members(expected((row) => row.status === status));
      expect(new Set(found.map((row) => row.status))).to.deep.equal(new Set([status]));
      const one = await all({
        status,
        site_code: 'acme',
        limit: status === 'SUCCEEDED' ? 300 : 2,
      });
      expect(idsOf(one)).to.have.members(
        expected((row) => row.status === status && row.site === 0),
      );
      const from = NOON - 1_600_000;
      const late = await all({ status, from: new Date(from).toISOString() });
      expect(idsOf(late)).to.have.members(
        expected((row) => row.status === status && row.at >= from),
      );
      for (const { ingestion_id: id, site_code: code } of found.slice(0, 3)) {
        const site = sites[code === 'acme' ? 0 : 1] ?? 0n;
        const db = service.services.orm.em.fork().getKysely();
        const [state] = await findStatesById(db, [{ siteId: site, id: BigInt(id.slice(4)) }]);
        expect(state?.status).to.equal(status);
      }
    });
  }

  it('finds an event by its id and by the id that its tid replaced', async () => {
    const some = everything.find(({ id }) => id % 100n === 0n);
    for (const name of [`event-${some?.id}`, `called-${some?.id}`]) {
      expect(idsOf(await all({ source_event_id: name }))).to.deep.equal([`ing_${some?.id}`]);
    }
    const code = some?.site === 0 ? 'acme' : 'other';
    const neighbour = some?.site === 0 ? 'other' : 'acme';
    const query = { source_event_id: `event-${some?.id}` };
    expect(await all({ ...query, site_code: code })).to.have.length(1);
    expect(await all({ ...query, site_code: neighbour })).to.have.length(0);
    expect(await all({ source_event_id: 'no such event' })).to.deep.equal([]);
  });

  it('a cursor of another search or of no search is refused, and never a fault', async () => {
    const { next_cursor: byTime } = await viewer().ingestions.search({ limit: 1 });
    for (const query of [
      { cursor: byTime ?? '', status: 'DLQ' as const },
      { cursor: 'd.5' },
      { cursor: 't.999999999999999999.999999999999999999' },
      { cursor: 'j.999999999999999999.1', status: 'PENDING' as const },
      { cursor: '1.2' },
      { cursor: '' },
      { site_code: 'nowhere' },
    ]) {
      const error = await refusalOf(viewer().ingestions.search(query));
      expect(error.code).to.be.oneOf(['BAD_REQUEST', 'NOT_FOUND']);
    }
    for (const cursor of ['t.0', 't.5.5', 't.253402300799999.1']) {
      await viewer().ingestions.search({ cursor });
    }
  });
});
