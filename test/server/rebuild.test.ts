import { expect } from 'chai';
import { defaultEvaluators, siteEvaluators } from '../../jobs/evaluators.ts';
import { importBatch } from '../../jobs/import-batch.ts';
import { ModelSource } from '../../jobs/site-models.ts';
import type { Db } from '../../ledger/database.ts';
import { createIdSource } from '../../ledger/ids.ts';
import {
  rebuildLabelSums,
  type RebuiltLabelSums,
} from '../../server/rebuild/rebuild-label-sums.ts';
import { rebuildStates, type Rebuilt } from '../../server/rebuild/rebuild-states.ts';
import { NOON, startAdminService, type AdminService } from '../routers/admin/admin-service.ts';
import { makePast } from '../support/past.ts';
import { createSite } from '../support/site.ts';

describe('a rebuild from the ledger', () => {
  let service: AdminService;
  before(async () => {
    service = await startAdminService();
  });
  after(() => service.close());

  it('gives the histories that evaluation left, to the last digit, and mends those that differ', async () => {
    const { database, services } = service;
    const site = await createSite(database, { customerType: 'MULTI_MERCHANT' });
    const { credentialId } = await site.issue();
    const target = {
      siteId: BigInt(site.siteId),
      credentialId: BigInt(credentialId),
      defaultSubject: 'none',
    };
    const transaction = <T>(work: (db: Db) => Promise<T>): Promise<T> =>
      services.orm.em.fork().transactional((em) => work(em.getKysely()));
    const evaluators = siteEvaluators(new ModelSource({ transaction, clock: services.clock }));
    const ids = createIdSource();
    const { events } = makePast(600, NOON, 4);
    // The second half first, an hour later by the clock: late events, judged in another order than they happened.
    for (const [turn, slice] of [events.slice(300), events.slice(0, 300)].entries()) {
      await transaction((db) =>
        importBatch(
          db,
          { ids, target, evaluators },
          { events: slice, labels: [] },
          NOON + turn * 3_600_000,
        ),
      );
    }
    const seen: number[] = [];
    const rebuild = (write: boolean): Promise<Rebuilt> =>
      rebuildStates({
        url: database.ownerUrl,
        write,
        siteCode: undefined,
        entitiesAtOnce: 300,
        onProgress: (done, total) => seen.push(done / total),
      });
    const lived = await rebuild(false);
    expect(lived).to.include({ events: 600, differing: 0, missing: 0, surplus: 0, written: 0 });
    expect(lived.entities).to.be.greaterThan(600);
    expect(seen.length).to.be.greaterThan(1);
    expect(seen.at(-1)).to.equal(1);

    await database.query(
      `update entity_state set state = replace(state, '[2,', '[1,') where entity_kind = 'merchant'`,
    );
    await database.query(`delete from entity_state where entity_kind = 'customer'`);
    const [left] = await database.query<{ merchants: number }>(
      `select count(*)::int as merchants from entity_state where entity_kind = 'merchant'`,
    );
    const found = await rebuild(false);
    expect(found).to.include({ differing: left?.merchants, missing: 60, written: 0 });
    expect(await rebuild(true)).to.include({ written: (left?.merchants ?? 0) + 60, moved: 0 });
    expect(await rebuild(false)).to.include({ differing: 0, missing: 0, surplus: 0 });

    await database.query('alter table ingestion_payload disable trigger user');
    await database.query(
      'delete from ingestion_payload_default where ingestion_id in (select min(ingestion_id) from ingestion_payload_default)',
    );
    expect((await rebuild(true)).incomplete).to.deep.equal([site.code]);
  }).timeout(60_000);

  it('gives the sums of labels that were counted one by one, and mends those that differ', async () => {
    const { database, services } = service;
    const site = await createSite(database, { customerType: 'MULTI_MERCHANT' });
    const { credentialId } = await site.issue();
    const target = {
      siteId: BigInt(site.siteId),
      credentialId: BigInt(credentialId),
      defaultSubject: 'none',
    };
    const { events, labels } = makePast(200, NOON, 5);
    const others = events.slice(0, 40).map(({ id, at }, i) => ({
      sourceEventId: id,
      outcomeLabel: i % 2 === 0 ? ('CHARGEBACK_CONFIRMED' as const) : ('FALSE_POSITIVE' as const),
      // Half a second more, and before the event: both are rounded.
      labelledAt: at + (i - 3) * 86_400_000 + 500,
    }));
    const evaluators = defaultEvaluators();
    const ids = createIdSource();
    for (const slice of [
      { events, labels: [] },
      ...[...labels, ...others].map((label) => ({ events: [], labels: [label] })),
    ]) {
      await services.orm.em
        .fork()
        .transactional((em) =>
          importBatch(em.getKysely(), { ids, target, evaluators }, slice, NOON),
        );
    }
    const rebuild = (write: boolean): Promise<RebuiltLabelSums> =>
      rebuildLabelSums({ url: database.ownerUrl, write, siteCode: site.code });
    const counted = { labels: labels.length + 40, uncounted: 0, differing: 0, written: 0 };
    expect(await rebuild(false)).to.deep.equal(counted);
    const sums = (): Promise<unknown[]> =>
      database.query('select * from entity_label_day where site_id = $1 order by 2, 3, 4', [
        site.siteId,
      ]);
    const before = await sums();

    await database.query(
      `update entity_label_day set frauds = frauds + 1 where site_id = $1 and entity_kind = 'merchant'`,
      [site.siteId],
    );
    await database.query(
      `delete from entity_label_day where site_id = $1 and entity_kind = 'customer'`,
      [site.siteId],
    );
    await database.query(
      `insert into entity_label_day select site_id, entity_kind, gen_random_uuid(), day, 1, 0, 0, null, null, 0
       from entity_label_day where site_id = $1 limit 1`,
      [site.siteId],
    );
    await database.query('alter table entity_label disable trigger user');
    await database.query(`delete from entity_label where site_id = $1 and entity_kind = 'card'`, [
      site.siteId,
    ]);
    const found = await rebuild(true);
    expect(found.uncounted).to.equal(labels.length + 40);
    expect(found.differing).to.be.greaterThan(20);
    expect(found.written).to.equal(found.uncounted + found.differing);
    expect(await rebuild(false)).to.deep.equal(counted);
    expect(await sums()).to.deep.equal(before);
  }).timeout(60_000);
});
