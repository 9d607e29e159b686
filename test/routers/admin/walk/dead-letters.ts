import type { RouterWalk } from './walk.ts';

/** Dead letters and their way back. */
export const deadLettersWalk: RouterWalk = {
  steps: [
    {
      path: 'dead_letters.redrive',
      input: ({ code }) => ({ filter: { site_code: code }, reason: `repaired for ${code}` }),
    },
  ],
  queries: {
    'dead_letters.preview': ({ code }) => ({ filter: { site_code: code } }),
  },
};
