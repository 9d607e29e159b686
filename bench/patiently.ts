import { setTimeout as sleep } from 'node:timers/promises';

const ATTEMPTS = 5;
const WAIT_MS = 1_000;

/**
 * Does what changes nothing when it is done twice, again where it failed: on a machine that does much else a transaction
 * may wait until the database ends it.
 *
 * @throws what the last of five attempts threw
 */
export async function patiently<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error: unknown) {
      if (attempt === ATTEMPTS) throw error;
      await sleep(WAIT_MS);
    }
  }
}
