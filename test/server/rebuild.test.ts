import { expect } from 'chai';
import { siteEvaluators } from '../../jobs/evaluators.ts';
import { importBatch } from '../../jobs/import-batch.ts';
import { ModelSource } from '../../jobs/site-models.ts';
import type { Db } from '../../ledger/database.ts';
import { createIdSource } from '../../ledger/ids.ts';
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
});
