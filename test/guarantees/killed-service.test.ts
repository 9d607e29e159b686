import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { generateApiKey } from '../../ledger/api-key.ts';
import type { TestDatabase } from '../support/database.ts';
import { eventOf, merchant, type Answer } from '../support/merchant.ts';
import { createSite } from '../support/site.ts';
import { makeTemporaryDirectory } from '../support/temporary.ts';
import { spawnService, untilReady, type WholeService } from '../support/whole-service.ts';

interface Sent {
  readonly event: Record<string, unknown>;
  readonly key: string;
  readonly answer: Answer;
}

describe('a service that is killed without warning under load', () => {
  let dataDir: string;
  let service: WholeService | undefined;

  before(() => {
    dataDir = makeTemporaryDirectory();
  });

  after(async () => {
    await service?.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const start = async (): Promise<WholeService> => {
    service = await spawnService({ DATA_DIR: dataDir });
    await untilReady(service);
    return service;
  };

  /** A session on the embedded database, found as its own files say. */
  const withOwner = async <T>(work: (query: TestDatabase['query']) => Promise<T>): Promise<T> => {
    const pidFile = readFileSync(join(dataDir, 'postgres/data/postmaster.pid'), 'utf8').split('\n');
    const client = new Client({
      host: '127.0.0.1',
      port: Number(pidFile[3]),
      user: 'trk_owner',
      password: readFileSync(join(dataDir, 'postgres/owner-password'), 'utf8').trim(),
      database: 'transaction_risk',
    });
    await client.connect();
    try {
      return await work(
        async (sql, params = []) => (await client.query(sql, [...params])).rows as never,
      );
    } finally {
      await client.end();
    }
  };

  it('has every 202 in its ledger exactly once, evaluates it, and answers repeats with the same id', async function () {
    this.timeout(120_000);
    let running = await start();
    const site = await withOwner((query) => createSite({ query } as TestDatabase));
    const keys = await withOwner((query) => createSiteKeys(query, site.siteId, 30));

    const accepted: Sent[] = [];
    const unanswered: Omit<Sent, 'answer'>[] = [];
    const sending = new AbortController();
    const load = keys.map(async (apiKey) => {
      const caller = merchant(running.url, apiKey);
      while (!sending.signal.aborted) {
        const event = eventOf();
        const key = randomUUID();
        try {
          const answer = await caller.submit(event, key);
          if (answer.status === 202) accepted.push({ event, key, answer });
          // This key has had its 120 requests of the minute.
          if (answer.status === 429) return;
        } catch {
          unanswered.push({ event, key });
          return;
        }
      }
    });
    while (accepted.length < 300) await sleep(5);
    await running.kill();
    sending.abort();
    await Promise.all(load);
    expect(accepted.length).to.be.at.least(300);

    running = await start();
    expect(running.told()).to.match(/still run|adopt|took over|survive/i);
    const rows = await withOwner((query) =>
      query<{ source_event_id: string; id: string }>('select source_event_id, id from ingestion'),
    );
    const byId = new Map(rows.map((row) => [row.source_event_id, row.id]));
    expect(byId.size, 'no event twice').to.equal(rows.length);
    for (const { event, answer } of accepted) {
      expect(`ing_${byId.get(String(event['source_event_id']))}`).to.equal(
        answer.body.ingestion_id,
      );
    }

    // What got no answer may or may not be in the ledger; a repeat with the same key settles it.
    const fresh = await withOwner((query) => createSiteKeys(query, site.siteId, 5));
    const repeats = [...unanswered, ...accepted.slice(0, 100)];
    for (const [index, { event, key }] of repeats.entries()) {
      const caller = merchant(running.url, fresh[index % fresh.length]);
      const repeat = await caller.submit(event, key);
      expect(repeat.status, JSON.stringify(repeat.body)).to.equal(202);
      const known = byId.get(String(event['source_event_id']));
      if (known !== undefined) expect(repeat.body.ingestion_id).to.equal(`ing_${known}`);
    }

    const deadline = performance.now() + 60_000;
    for (;;) {
      const [open] = await withOwner((query) =>
        query<{ open: number; total: number }>(
          `select (select count(*) from ingestion)::int as total,
             (select count(*) from ingestion)::int - (select count(*) from evaluation)::int as open`,
        ),
      );
      if (open?.open === 0) {
        const known = new Set(
          [...accepted, ...unanswered].map(({ event }) => event['source_event_id']),
        );
        expect(open.total, 'nothing that nobody sent').to.equal(known.size);
        break;
      }
      if (performance.now() > deadline) throw new Error(`${open?.open} events are not evaluated`);
      await sleep(200);
    }
  });

  it('stops cleanly on SIGTERM and SIGINT, database and all', async () => {
    expect(await service!.stop('SIGTERM')).to.equal(0);
    const again = await start();
    expect(await again.stop('SIGINT')).to.equal(0);
    expect(again.told()).to.match(/Stopping/);
    service = undefined;
  });
});

async function createSiteKeys(
  query: TestDatabase['query'],
  siteId: string,
  count: number,
): Promise<string[]> {
  const keys = Array.from({ length: count }, () => generateApiKey('production'));
  for (const key of keys) {
    await query(
      `with made as (
         insert into credential (site_id, environment, label, permissions, created_at)
         values ($1, 'production', 'test', array['ingest', 'read', 'label'], now()) returning id
       )
       insert into credential_key (key_hash, credential_id, key_id, created_at) select $2, id, $3, now() from made`,
      [siteId, key.hash, key.keyId],
    );
  }
  return keys.map(({ apiKey }) => apiKey);
}
