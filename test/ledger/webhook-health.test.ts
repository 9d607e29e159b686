import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import {
  createPipelinedTransactions,
  type PipelinedTransactions,
} from '../../ledger/transactions.ts';
import type { EndpointRef } from '../../ledger/webhook-endpoints.ts';
import { lockHealth, lookAtHeld, writeHealth } from '../../ledger/webhook-health.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { createSite } from '../support/site.ts';

describe('the health of an endpoint', () => {
  let database: TestDatabase;
  let pipelined: PipelinedTransactions;
  before(async () => {
    database = await createTestDatabase();
    pipelined = createPipelinedTransactions({
      url: database.appUrl,
      poolSize: 2,
      applicationName: 'test webhook health',
      statementTimeoutMs: 5_000,
    });
  });
  after(async () => {
    await pipelined.close();
    await database.drop();
  });

  async function addEndpoint(): Promise<EndpointRef> {
    const siteId = BigInt((await createSite(database)).siteId);
    const [row] = await database.query<{ id: string }>(
      `insert into webhook_endpoint (site_id, url, description, event_types, state, activated_at, created_by,
         created_at, changed_by, changed_at)
       values ($1, 'https://a.example', '', '{outcome.recorded}', 'ACTIVE', now(), 'test', now(), 'test', now())
       returning id`,
      [siteId],
    );
    return { siteId, endpointId: BigInt(row?.id ?? 0) };
  }

  it('keeps what one worker notes while another writes the very first experience', async () => {
    const endpoint = await addEndpoint();
    const lookAt = Date.now() + 500;
    let noted: Promise<void> = Promise.resolve();
    await pipelined.transaction(async (db) => {
      expect(await lockHealth(db, [endpoint])).to.have.keys([endpoint.endpointId]);
      noted = pipelined.transaction((other) => lookAtHeld(other, [endpoint], lookAt));
      // It waits for this transaction, or has committed by then.
      await Promise.race([noted, sleep(300)]);
      await writeHealth(db, [
        {
          ...endpoint,
          failuresInRow: 0,
          failingSince: undefined,
          breaker: 'CLOSED',
          probeAt: undefined,
          lastSuccessAt: Date.now(),
          lastFailureAt: undefined,
        },
      ]);
    });
    await noted;
    const [row] = await database.query<{ probe_at: Date | null }>(
      'select probe_at from webhook_endpoint_health where endpoint_id = $1',
      [endpoint.endpointId],
    );
    expect(row?.probe_at?.getTime()).to.equal(lookAt);
  });
});
