import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { adminCalls } from '../support/admin-calls.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventOf, merchant, type Merchant } from '../support/merchant.ts';
import { ADMIN_TOKEN, runService, type RunningService } from '../support/running-service.ts';
import type { TestSite } from '../support/site.ts';

/** A publication must be in force everywhere within this time. */
const WITHIN_MS = 2_500;

const LARGE = 77_000_000;

const RULES = {
  rules: [
    {
      id: 'very_large',
      reason: 'AMOUNT',
      points: 95,
      when: 'event.amount_minor >= limit',
      limits: { limit: LARGE },
      message: 'An amount far beyond what this shop sells.',
      cases: [{ event: { amount_minor: LARGE }, answer: 'HIT' }],
    },
  ],
};

interface Shown {
  live_version: number;
  live: { workers: number; following: number } | null;
  workers: { up_to_date: boolean }[];
}

describe('published rules judge on every worker', () => {
  let database: TestDatabase;
  let one: RunningService;
  let other: RunningService;
  let site: TestSite;
  let caller: Merchant;
  let sandbox: Merchant;

  before(async () => {
    database = await createTestDatabase();
    one = await runService({ database });
    other = await runService({ database });
    site = await one.createSite();
    caller = merchant(one.url, (await site.issue()).apiKey);
    sandbox = merchant(other.url, (await site.issue({ environment: 'sandbox' })).apiKey);
  });
  after(async () => {
    await Promise.all([one.stop(), other.stop()]);
    await database.drop();
  });

  const large = (): object => eventOf({ transaction: { amount_minor: LARGE } });
  const decided = async (): Promise<string> => {
    const { body } = await caller.submit(large());
    const { body: done } = await caller.evaluated(String(body.ingestion_id));
    return String(done.risk.decision);
  };
  const simulated = async (): Promise<string> =>
    String((await sandbox.submit(large())).body.decision);

  async function turns(
    ask: () => Promise<string>,
    decision: string,
    deadline: number,
  ): Promise<void> {
    for (;;) {
      const seen = await ask();
      if (seen === decision) return;
      if (performance.now() > deadline) expect.fail(`still ${seen} instead of ${decision}`);
      await sleep(100);
    }
  }

  it('within two seconds, which operators can see, and in the sandbox too; and go as fast', async () => {
    const admin = adminCalls(one.url, ADMIN_TOKEN);
    const { token } = await admin('operators.create', { name: 'author', role: 'operator' });
    const author = adminCalls(other.url, token ?? '');
    const named = { site_code: site.code };
    expect([await decided(), await simulated()]).to.deep.equal(['ALLOW', 'ALLOW']);
    const { version } = await author('rules.save_draft', {
      ...named,
      comment: 'too large',
      content: RULES,
    });
    await admin('rules.publish', { ...named, version, urgent_reason: 'a test' });
    const deadline = performance.now() + WITHIN_MS;
    const shown = async (): Promise<Shown> =>
      (await author('rules.get', named)) as unknown as Shown;
    for (;;) {
      const { live, live_version: current, workers } = await shown();
      expect(current).to.equal(version);
      if (live?.following === 2) {
        expect(live.workers).to.equal(2);
        expect(workers.every(({ up_to_date: is }) => is)).to.equal(true);
        break;
      }
      if (performance.now() > deadline) expect.fail('not followed in time');
      await sleep(50);
    }
    // Whoever of the two takes them.
    const decisions = await Promise.all(Array.from({ length: 12 }, decided));
    expect(new Set(decisions)).to.deep.equal(new Set(['BLOCK_RECOMMENDED']));
    await turns(simulated, 'BLOCK', deadline);

    await author('rules.rollback', { ...named, reason: 'a test' });
    await turns(simulated, 'ALLOW', performance.now() + WITHIN_MS);
    await turns(decided, 'ALLOW', performance.now() + WITHIN_MS);
  }).timeout(30_000);
});
