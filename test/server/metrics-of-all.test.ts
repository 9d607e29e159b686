import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventOf, merchant } from '../support/merchant.ts';
import { ADMIN_TOKEN } from '../support/running-service.ts';
import { createSite } from '../support/site.ts';
import { spawnService, untilReady, type WholeService } from '../support/whole-service.ts';

describe('/metrics of a service with several processes', () => {
  let database: TestDatabase;
  let service: WholeService;

  before(async () => {
    database = await createTestDatabase();
    service = await spawnService({
      DATABASE_URL: database.appUrl,
      MIGRATION_DATABASE_URL: database.ownerUrl,
      PROCESSES: '2',
    });
    await untilReady(service);
  });

  after(async () => {
    await service.stop();
    await database.drop();
  });

  /** Sums of all samples of a name whose labels hold a text. A connection of its own: another process may answer. */
  async function read(name: string, labels = ''): Promise<number> {
    const response = await fetch(`${service.url}/metrics`, {
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, connection: 'close' },
    });
    expect(response.status).to.equal(200);
    const lines = (await response.text()).split('\n');
    return lines
      .filter((line) => line.startsWith(`transaction_risk_${name}`) && line.includes(labels))
      .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  }

  const accepted = (): Promise<number> =>
    read('requests_total', 'operation="submitTransaction",status="202"');

  it('answers for all of them, whichever is asked, and counts on when one dies', async () => {
    const site = await createSite(database);
    const { apiKey } = await site.issue();
    // A new connection each: both processes get some. One that is still starting asks to be called again.
    const accept = async (key: string): Promise<void> => {
      const { status } = await merchant(service.url, apiKey).call('POST', '/v1/transactions', {
        headers: {
          'content-type': 'application/json',
          'idempotency-key': key,
          connection: 'close',
        },
        body: JSON.stringify(eventOf()),
      });
      if (status === 503) {
        await sleep(100);
        await accept(key);
        return;
      }
      expect(status).to.equal(202);
    };
    for (let sent = 0; sent < 12; sent += 1) await accept(`several-${sent}`);
    for (let scrape = 0; scrape < 4; scrape += 1) expect(await accepted()).to.equal(12);
    // Counted in the first process, where the worker is, which no scrape ever reaches.
    const deadline = performance.now() + 30_000;
    while ((await read('evaluations_total', 'outcome="succeeded"')) < 12) {
      if (performance.now() > deadline) throw new Error('evaluations are missing from the scrape');
      await sleep(50);
    }
    expect(await read('accept_to_result_seconds_count')).to.equal(12);
    expect(await read('database_up'), 'said by each, meant once').to.equal(1);

    const pid = service.process.pid ?? 0;
    const children = (): string[] =>
      readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
    for (const victim of children()) process.kill(Number(victim), 'SIGKILL');
    await sleep(500);
    await untilReady(service, 20_000);
    expect(await accepted()).to.equal(12);
    await accept('several-last');
    expect(await accepted()).to.equal(13);
  });
});
