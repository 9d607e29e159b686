import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { eventOf, merchant, type Answer } from '../support/merchant.ts';
import { runService, type RunningService } from '../support/running-service.ts';
import type { TestSite } from '../support/site.ts';

/** Past what may wait, from credentials that the rate limit lets send that many. */
const SENDERS = 14;
const EACH = 100;

/** What the queue takes. */
const QUEUED = 1_024;

describe('past what it can take', () => {
  let service: RunningService;
  let site: TestSite;

  before(async () => {
    service = await runService({ role: 'api' });
    site = await service.createSite();
  });

  after(() => service.stop());

  it('new events are refused at once with 503 and Retry-After; those that wait are accepted when the cause is gone', async () => {
    const senders = await Promise.all(
      Array.from({ length: SENDERS }, async () =>
        merchant(service.url, (await site.issue()).apiKey),
      ),
    );
    const blocker = new Client({ connectionString: service.database.ownerUrl });
    await blocker.connect();
    const started = performance.now();
    const refused: Answer[] = [];
    try {
      await blocker.query('begin; lock table usage_counter in exclusive mode');
      const answers = senders.flatMap((sender) =>
        Array.from({ length: EACH }, async () => {
          const answer = await sender.submit(eventOf());
          if (answer.status === 503) refused.push(answer);
          return answer;
        }),
      );
      while (refused.length < SENDERS * EACH - QUEUED) {
        expect(performance.now() - started, 'milliseconds to refuse').to.be.below(8_000);
        await sleep(20);
      }
      await blocker.query('rollback');
      const all = await Promise.all(answers);
      const accepted = all.filter(({ status }) => status === 202);
      expect(accepted.length + refused.length).to.equal(all.length);
      for (const { headers, body } of refused) {
        expect(Number(headers.get('retry-after'))).to.be.at.least(1);
        expect(body.error.code).to.equal('INGESTION_UNAVAILABLE');
        expect(body.request_id).to.equal(headers.get('x-request-id'));
      }
      const [row] = await service.database.query<{ rows: number }>(
        'select count(*)::int as rows from ingestion',
      );
      expect(row?.rows).to.equal(accepted.length);
    } finally {
      await blocker.end();
    }
  });
});
