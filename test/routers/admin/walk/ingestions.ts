import { eventIdOf, storeEvent } from './store-event.ts';
import type { RouterWalk, Walk } from './walk.ts';

const stored = (walk: Walk): string => `ing_${eventIdOf(walk, 'stored')}`;

/** The ledger: one event of the walk's Site is found, explained and looked into. */
export const ingestionsWalk: RouterWalk = {
  steps: [
    {
      path: 'ingestions.payload',
      before: async (walk) => void (await storeEvent(walk, 'stored')),
      input: (walk) => ({ ingestion_id: stored(walk), reason: `asked by ${walk.code}` }),
    },
  ],
  queries: {
    'ingestions.explain': (walk) => ({ ingestion_id: stored(walk) }),
  },
};
