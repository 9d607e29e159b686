import { openDeadLetter } from '../../../../ledger/failed-attempts.ts';
import { eventIdOf, storeEvent } from './store-event.ts';
import type { RouterWalk, Walk } from './walk.ts';

/** An event of the walk's Site that cannot be evaluated. */
async function die(walk: Walk): Promise<void> {
  const { service, code } = walk;
  const letter = { cause: `Error of ${code}`, attempts: 6, deadAt: service.clock.at };
  const db = service.services.orm.em.fork().getKysely();
  await openDeadLetter(db, await storeEvent(walk, 'stopped'), letter);
}

/** Dead letters and their way back. */
export const deadLettersWalk: RouterWalk = {
  steps: [
    {
      path: 'dead_letters.redrive',
      input: ({ code }) => ({ filter: { site_code: code }, reason: `repaired for ${code}` }),
    },
    {
      path: 'dead_letters.discard',
      ofNoSite: true,
      before: die,
      input: (walk) => ({
        ingestion_ids: [`ing_${eventIdOf(walk, 'stopped')}`],
        reason: `given up for ${walk.code}`,
      }),
    },
  ],
  queries: {
    'dead_letters.preview': ({ code }) => ({ filter: { site_code: code } }),
  },
};
