import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { withClient } from '../../bench/cluster.ts';
import { runLoad } from '../../bench/load/index.ts';
import { startService } from '../../bench/service-process.ts';
import { seedSites } from '../../bench/sites.ts';
import { createTestDatabase } from '../support/database.ts';

const WITHOUT = pathToFileURL(
  join(import.meta.dirname, '../../bench/rate-limit/without-limit.ts'),
).href;

describe('share of the rate limit in the bench', () => {
  it('the service without the limit accepts as usual and asks no window', async () => {
    const database = await createTestDatabase();
    try {
      const credentials = await withClient(database.ownerUrl, (owner) =>
        seedSites(owner, { sites: 2, credentials: 4 }),
      );
      const service = await startService({
        ownerUrl: database.ownerUrl,
        appUrl: database.appUrl,
        role: 'api',
        nodeOptions: [`--import=${WITHOUT}`],
      });
      try {
        const result = await runLoad({
          target: { kind: 'http', port: service.port },
          traffic: { kind: 'ingest', first: 0 },
          pace: { kind: 'closed', connections: 8 },
          credentials,
          sites: 2,
          seed: 3,
          warmUpSeconds: 0,
          seconds: 1,
        });
        // Even where the load gets past 120 requests for each of the four credentials.
        expect(Object.keys(result.statuses)).to.deep.equal(['202']);
      } finally {
        await service.stop();
      }
      const [row] = await database.query('select count(*)::int as windows from rate_window');
      expect(row).to.deep.equal({ windows: 0 });
    } finally {
      await database.drop();
    }
  }).timeout(60_000);
});
