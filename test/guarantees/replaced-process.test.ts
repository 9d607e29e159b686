import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { proxyDatabase, type DatabaseProxy } from '../support/database-proxy.ts';
import { merchant } from '../support/merchant.ts';
import { spawnService, untilReady, type WholeService } from '../support/whole-service.ts';

/** Requests under way at any time; each on a connection of its own, so that every process gets some. */
const CALLERS = 4;

describe('several processes at one port', () => {
  let database: TestDatabase;
  let proxy: DatabaseProxy;
  let service: WholeService;

  before(async function () {
    this.timeout(150_000);
    database = await createTestDatabase();
    proxy = await proxyDatabase(database);
  });

  after(async () => {
    await service?.stop();
    await proxy.close();
    await database.drop();
  });

  const children = (): number[] => {
    const pid = service.process.pid ?? 0;
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    return text === '' ? [] : text.split(' ').map(Number);
  };
  const successors = (): number => service.told().match(/new API process listens/g)?.length ?? 0;
  const readyStatus = (): Promise<number | undefined> =>
    fetch(`${service.url}/readyz`, {
      headers: { connection: 'close' },
      // A connection just handed to a process that was killed is answered by nobody.
      signal: AbortSignal.timeout(2_000),
    }).then(
      async (response) => (await response.arrayBuffer(), response.status),
      () => undefined,
    );
  const until = async (what: string, isSo: () => boolean | Promise<boolean>): Promise<void> => {
    const deadline = performance.now() + 60_000;
    while (!(await isSo())) {
      if (performance.now() > deadline) throw new Error(`never came about: ${what}`);
      await sleep(25);
    }
  };

  /** It greets when all listen; connections go to them in turn, so twenty good answers in a row are ten of each. */
  const bothReady = async (): Promise<boolean> => {
    if (!service.told().includes('ready in')) return false;
    for (let asked = 0; asked < 20; asked += 1) if ((await readyStatus()) !== 200) return false;
    return true;
  };

  it('answer 503 while the database is away at the start, and serve when it is there', async function () {
    this.timeout(150_000);
    await proxy.cut();
    service = await spawnService({
      DATABASE_URL: proxy.database.appUrl,
      MIGRATION_DATABASE_URL: proxy.database.ownerUrl,
      PROCESSES: '2',
    });
    await until('an answer without the database', async () => (await readyStatus()) === 503);
    await proxy.restore();
    await untilReady(service);
  });

  it('that die one after the other under load are replaced without a single 503', async function () {
    this.timeout(150_000);
    await until('two processes that are ready', bothReady);
    // Without a key a process that is ready refuses, by itself, whatever the database and the machine are at.
    const nobody = merchant(service.url);
    const statuses = new Map<number | 'cut', number>();
    const done = new AbortController();
    const callers = Array.from({ length: CALLERS }, async () => {
      while (!done.signal.aborted) {
        const status = await nobody
          .call('GET', '/v1/usage', {
            headers: { connection: 'close' },
            signal: AbortSignal.timeout(3_000),
          })
          .then(
            (answer) => answer.status,
            () => 'cut' as const,
          );
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        await sleep(status === 'cut' ? 50 : 20);
      }
    });
    try {
      for (const [index, victim] of children().entries()) {
        process.kill(victim, 'SIGKILL');
        // Whoever goes next leaves everything to this one's successor.
        await until('a successor', () => successors() === index + 1);
      }
      expect(children()).to.have.length(2);
      await sleep(500);
    } finally {
      done.abort();
      await Promise.all(callers);
    }
    // A killed process takes along what it was answering, and what was just handed to it.
    expect(statuses.get('cut') ?? 0).to.be.at.most(4 * CALLERS);
    statuses.delete('cut');
    expect(statuses.get(401)).to.be.greaterThan(50);
    // 429: too many failures of one address.
    expect([...statuses.keys()].filter((status) => status !== 401 && status !== 429)).to.deep.equal(
      [],
    );
  });

  it('answer 503, not nothing, when all of them are replaced while the database is away', async function () {
    this.timeout(150_000);
    await until('two processes', () => children().length === 2);
    await proxy.cut();
    for (const child of children()) process.kill(child, 'SIGKILL');
    await sleep(200);
    await until('an answer of a successor', async () => (await readyStatus()) === 503);
    await proxy.restore();
    await untilReady(service);
  });
});
