import type { RouterWalk } from './walk.ts';

/** An operator from the first token to the end. */
export const operatorsWalk: RouterWalk = {
  steps: [
    {
      path: 'operators.create',
      input: ({ code }) => ({ name: `robot of ${code}`, role: 'viewer' }),
      ofNoSite: true,
    },
    {
      path: 'operators.rotate',
      input: (walk) => ({ operator_id: walk.answer('operators.create')['operator_id'] }),
      ofNoSite: true,
    },
    {
      path: 'operators.revoke',
      input: (walk) => ({ operator_id: walk.answer('operators.create')['operator_id'] }),
      ofNoSite: true,
    },
  ],
};
