import { setTimeout as sleep } from 'node:timers/promises';
import { expectBody, expectError } from '../support/bodies.ts';
import { eventOf, merchant } from '../support/merchant.ts';
import { runService, type RunningService } from '../support/running-service.ts';

describe('a flood of wrong keys from one address', () => {
  let service: RunningService;

  before(async () => {
    service = await runService();
  });

  after(() => service.stop());

  it('is refused with 429 and locks out no key that was good before, not even when keys change', async () => {
    const site = await service.createSite();
    const good = merchant(service.url, (await site.issue()).apiKey);
    expectBody(await good.usage(), 200, 'ProductionUsage');

    const wrong = (i: number) =>
      merchant(service.url, `trk_prod_${'a'.repeat(8)}_${String(i).padStart(43, 'b')}`).usage();
    for (const answer of await Promise.all(Array.from({ length: 120 }, (_, i) => wrong(i)))) {
      expectError(answer, 'UNAUTHORIZED');
    }
    expectError(await wrong(121), 'RATE_LIMITED');
    expectBody(await good.submit(eventOf()), 202, 'AcceptedIngestion');

    // A credential of anybody's is issued: every process forgets what it knew of keys.
    const fresh = merchant(service.url, (await site.issue()).apiKey);
    await sleep(600);
    expectBody(await good.usage(), 200, 'ProductionUsage');
    expectError(await fresh.usage(), 'RATE_LIMITED');
  });
});
