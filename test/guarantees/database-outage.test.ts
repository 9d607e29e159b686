import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from '../../server/embedded-postgres/index.ts';
import { eventOf, merchant, type Answer } from '../support/merchant.ts';
import { createSite } from '../support/site.ts';
import { makeTemporaryDirectory } from '../support/temporary.ts';
import { spawnService, untilReady, type WholeService } from '../support/whole-service.ts';

describe('a database that is away', () => {
  let dataDir: string;
  let server: EmbeddedPostgres | undefined;
  let service: WholeService | undefined;

  before(async () => {
    dataDir = makeTemporaryDirectory();
    server = await startEmbeddedPostgres({ dataDir, log: () => undefined });
  });

  after(async () => {
    await service?.stop();
    await server?.stop();
  });

  const expectUnavailable = (answer: Answer): void => {
    expect(answer.status, JSON.stringify(answer.body)).to.equal(503);
    expect(answer.body.error.code).to.equal('INGESTION_UNAVAILABLE');
    expect(answer.body.request_id).to.equal(answer.headers.get('x-request-id'));
    expect(Number(answer.headers.get('retry-after'))).to.be.at.least(1);
  };

  it('may be down at the start and go down later: 503 meanwhile, and no restart is needed', async () => {
    const { appUrl, ownerUrl } = server!;
    await server!.stop();
    service = await spawnService({ DATABASE_URL: appUrl, MIGRATION_DATABASE_URL: ownerUrl });
    const anybody = `trk_prod_${'a'.repeat(8)}_${'b'.repeat(43)}`;
    let early: Answer | undefined;
    for (let tries = 0; early === undefined && tries < 100; tries += 1) {
      early = await merchant(service.url, anybody)
        .usage()
        .catch(() => undefined);
      if (early === undefined) await sleep(50);
    }
    expectUnavailable(early!);
    expect((await fetch(`${service.url}/healthz`)).status).to.equal(200);
    expect((await fetch(`${service.url}/readyz`)).status).to.equal(503);

    server = await startEmbeddedPostgres({ dataDir, log: () => undefined });
    expect(server.appUrl, 'the same port again').to.equal(appUrl);
    await untilReady(service);
    const { apiKey } = await (
      await createSite({
        query: (sql: string, params?: readonly unknown[]) => ask(ownerUrl, sql, params),
      } as never)
    ).issue();
    const caller = merchant(service.url, apiKey);
    const event = eventOf();
    const key = randomUUID();
    const accepted = await caller.submit(event, key);
    expect(accepted.status, JSON.stringify(accepted.body)).to.equal(202);

    await server.stop();
    expectUnavailable(await caller.submit(eventOf()));
    expectUnavailable(await caller.ingestion(accepted.body.ingestion_id));
    expectUnavailable(await caller.usage());
    expectUnavailable(await merchant(service.url, anybody).usage());

    server = await startEmbeddedPostgres({ dataDir, log: () => undefined });
    await untilReady(service);
    const replay = await caller.submit(event, key);
    expect(replay.status, JSON.stringify(replay.body)).to.equal(202);
    expect(replay.body.ingestion_id).to.equal(accepted.body.ingestion_id);
    await caller.evaluated(accepted.body.ingestion_id, 20_000);
  });
});

/** One statement with parameters in a session of its own. */
async function ask(url: string, sql: string, params: readonly unknown[] = []): Promise<unknown[]> {
  const { Client } = await import('pg');
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql, [...params])).rows;
  } finally {
    await client.end();
  }
}
