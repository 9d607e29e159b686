import type { RouterWalk } from './walk.ts';

/** The sums of the reports, made anew. */
export const reportsWalk: RouterWalk = {
  steps: [
    {
      path: 'reports.rebuild',
      input: ({ code }) => ({ reason: `old events of ${code} were imported` }),
      ofNoSite: true,
    },
  ],
};
