import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Waits without keeping the process alive: inside a service that is told to stop (npm start -- --demo) a demo that
 * waits for its next try must not hold it up.
 */
export const pause = (milliseconds: number): Promise<void> =>
  sleep(milliseconds, undefined, { ref: false });
