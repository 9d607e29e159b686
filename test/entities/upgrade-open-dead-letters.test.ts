import { expect } from 'chai';
import { createOrm } from '../../entities/orm.ts';
import { migrateDatabase } from '../../server/migrate.ts';
import { createTestDatabase } from '../support/database.ts';

describe('an upgrade over dead letters of an earlier version', () => {
  it('takes over those that no redrive has closed, discarded ones as such', async () => {
    const database = await createTestDatabase({ migrated: false });
    const orm = createOrm({
      url: database.ownerUrl,
      poolSize: 1,
      applicationName: 'test',
      statementTimeoutMs: 0,
    });
    try {
      await orm.migrator.up({ to: '0005-operators' });
      await database.query(
        `insert into dead_letter (site_id, ingestion_id, id, cause, attempts, dead_at) overriding system value
         select 1, ingestion_id, id, 'Cause' || id, 6, '2026-03-01T00:00:00Z'
         from (values (10, 1), (20, 2), (30, 3), (40, 4), (40, 5)) as letter (ingestion_id, id)`,
      );
      await database.query(
        `insert into dead_letter_resolution (site_id, ingestion_id, dead_letter_id, kind, reason, resolved_by, resolved_at)
         select 1, ingestion_id, id, kind, 'r', 'ann', '2026-03-02T00:00:00Z'
         from (values (20, 2, 'REDRIVEN'), (30, 3, 'DISCARDED'), (40, 4, 'REDRIVEN')) as resolution (ingestion_id, id, kind)`,
      );
      await migrateDatabase({ ownerUrl: database.ownerUrl, appUrl: database.appUrl });
      const open = await database.query(
        'select ingestion_id::int as id, cause, discarded from open_dead_letter order by 1',
      );
      expect(open).to.deep.equal([
        { id: 10, cause: 'Cause1', discarded: false },
        { id: 30, cause: 'Cause3', discarded: true },
        { id: 40, cause: 'Cause5', discarded: false },
      ]);
    } finally {
      await orm.close(true);
      await database.drop();
    }
  });
});
