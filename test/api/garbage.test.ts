/**
 * Broken and hostile input, generated from a seed (test/support/garbage.ts). The short form runs with every test run;
 * the long one, or one seed again:
 *
 *     GARBAGE_REQUESTS=50000 npm test --silent -- test/api/garbage.test.ts
 *     GARBAGE_SEED=17 npm test --silent -- test/api/garbage.test.ts
 */
import { randomUUID } from 'node:crypto';
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { errorBodyProblems } from '../support/bodies.ts';
import { Draw } from '../support/draw.ts';
import { garbageRequest, goodEvent } from '../support/garbage.ts';
import { issueKeys } from '../support/keys.ts';
import type { Answer } from '../support/merchant.ts';
import { sendRaw, type RawRequest } from '../support/raw-http.ts';
import { runService, type RunningService } from '../support/running-service.ts';
import type { TestSite } from '../support/site.ts';

const REQUESTS = Number(process.env['GARBAGE_REQUESTS'] ?? 3_000);
const SEED = Number(process.env['GARBAGE_SEED'] ?? 20_260_301);
const TOGETHER = 48;

/** Statuses that a caller's input can lead to. */
const DOCUMENTED = new Set([400, 401, 404, 405, 408, 409, 417, 429, 431]);

describe(`generated garbage (seed ${SEED})`, () => {
  let service: RunningService;
  let site: TestSite;
  const agent = new Agent({ keepAlive: true, maxSockets: TOGETHER });

  before(async () => {
    service = await runService();
    site = await service.createSite();
  });

  after(async () => {
    agent.destroy();
    await service.stop();
  });

  /** What is wrong with an answer; empty when it is one that the contract knows. */
  const problemsOf = ({ method }: RawRequest, answer: Answer): string[] => {
    if (!/^req_[0-9a-f]{32}$/.test(answer.headers.get('x-request-id') ?? ''))
      return ['no x-request-id'];
    if (answer.status === 200 || answer.status === 202) return [];
    if (!DOCUMENTED.has(answer.status)) return [`status ${answer.status}`];
    return method === 'HEAD' ? [] : errorBodyProblems(answer);
  };

  // First, because the wrong keys among the many requests below get their address refused for a minute.
  it('good events in one burst with bad ones are accepted, every one of them', async () => {
    const bursts = 12;
    const keys = await issueKeys(service.database, site, bursts * 96);
    const draw = new Draw(SEED);
    const good: string[] = [];
    for (let burst = 0; burst < bursts; burst++) {
      const sent = Array.from({ length: 96 }, async (_, i): Promise<void> => {
        const index = burst * 96 + i;
        const apiKey = keys[index % keys.length] ?? '';
        if (i % 4 !== 0) {
          await sendRaw(service.port, garbageRequest(SEED + 1, index, apiKey), agent);
          return;
        }
        const event = goodEvent(draw);
        good.push(String(event['source_event_id']));
        const answer = await sendRaw(
          service.port,
          {
            method: 'POST',
            path: '/v1/transactions',
            headers: [
              'x-api-key',
              apiKey,
              'idempotency-key',
              randomUUID(),
              'content-type',
              'application/json',
            ],
            body: JSON.stringify(event),
          },
          agent,
        );
        expect(answer.status, JSON.stringify([answer.body, event])).to.equal(202);
      });
      await Promise.all(sent);
    }
    const [row] = await service.database.query<{ rows: string }>(
      'select count(*) as rows from ingestion where source_event_id = any($1)',
      [good],
    );
    expect(Number(row?.rows)).to.equal(good.length);
  });

  it(`${REQUESTS} requests are each answered with 200, 202 or a documented 4xx and its exact body`, async function () {
    this.timeout(20_000 + REQUESTS * 20);
    const keys = await issueKeys(service.database, site, REQUESTS);
    const statuses = new Map<number, number>();
    const wrong: string[] = [];
    let next = 0;
    const caller = async (): Promise<void> => {
      while (next < REQUESTS && wrong.length < 5) {
        const index = next++;
        const request = garbageRequest(SEED, index, keys[index % keys.length] ?? '');
        try {
          const answer = await sendRaw(service.port, request, agent);
          statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
          const problems = problemsOf(request, answer);
          if (problems.length > 0) {
            wrong.push(
              `seed ${SEED}, request ${index}: ${problems.join('; ')} ${JSON.stringify(answer.body)}`,
            );
          }
        } catch (error: unknown) {
          wrong.push(`seed ${SEED}, request ${index}: no answer (${String(error)})`);
        }
      }
    };
    await Promise.all(Array.from({ length: TOGETHER }, caller));
    expect(wrong.join('\n')).to.equal('');
    // The generator is worth something only while it reaches all of these.
    expect([...statuses.keys()]).to.include.members([200, 202, 400, 401, 404, 405, 409]);
    expect((statuses.get(202) ?? 0) / REQUESTS).to.be.within(0.1, 0.6);
  });

  it('whatever was accepted is evaluated, and nothing unforeseen was logged', async function () {
    const patience = 20_000 + REQUESTS * 10;
    this.timeout(patience + 1_000);
    const deadline = performance.now() + patience;
    for (;;) {
      const [row] = await service.database.query<{ open: string; dead: string }>(
        `select (select count(*) from ingestion) - (select count(*) from evaluation) as open,
                (select count(*) from dead_letter) as dead`,
      );
      expect(row?.dead, 'dead letters').to.equal('0');
      if (row?.open === '0') break;
      expect(performance.now(), `${row?.open} are not evaluated`).to.be.below(deadline);
      await sleep(200);
    }
    const faults = service.logLines.filter((line) => line.includes('"msg":"fault"'));
    expect(faults.slice(0, 3)).to.deep.equal([]);
  });
});
