import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { withClient } from '../cluster.ts';

/** Between two looks at the server's counters, ms. */
const LOOK_MS = 500;

/**
 * Forces a checkpoint and resolves when the server has begun the next one of its own accord: a full cycle, in which every
 * page that is changed has been written to the WAL as a whole once.
 */
export async function checkpointCycle(ownerUrl: string, signal: AbortSignal): Promise<void> {
  await withClient(ownerUrl, async (client) => {
    await client.query('checkpoint');
    const forced = await begunCheckpoints(client);
    while (!signal.aborted && (await begunCheckpoints(client)) === forced) {
      await sleep(LOOK_MS, undefined, { signal }).catch(() => undefined);
    }
  });
}

async function begunCheckpoints(client: Client): Promise<number> {
  await client.query('select pg_stat_clear_snapshot()');
  const { rows } = await client.query<{ begun: string }>(
    'select num_timed + num_requested as begun from pg_stat_checkpointer',
  );
  return Number(rows[0]?.begun);
}
