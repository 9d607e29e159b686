import type { RouterWalk, Walk } from './walk.ts';

const saved = (walk: Walk) => ({
  site_code: walk.code,
  version: walk.answer('rules.save_draft')['version'],
});

/** Rules from a draft to live traffic and back. */
export const rulesWalk: RouterWalk = {
  steps: [
    {
      path: 'rules.save_draft',
      input: ({ code }) => ({
        site_code: code,
        comment: `first rules of ${code}`,
        content: {
          rules: [
            {
              id: 'large_amount',
              reason: 'AMOUNT',
              points: 40,
              when: 'event.amount_minor > limit',
              limits: { limit: 1_000_000 },
              message: `More than usual at ${code}.`,
              cases: [{ event: { amount_minor: 1_000_001 }, answer: 'HIT' }],
            },
          ],
        },
      }),
    },
    { path: 'rules.test', input: saved },
    {
      path: 'rules.backtest',
      input: (walk) => ({
        ...saved(walk),
        from: '2026-03-01T00:00:00Z',
        to: '2026-03-10T00:00:00Z',
      }),
    },
    { path: 'rules.shadow', input: saved },
    { path: 'rules.stop_shadow', input: ({ code }) => ({ site_code: code }) },
    { path: 'rules.publish', input: saved },
    {
      path: 'rules.rollback',
      input: ({ code }) => ({ site_code: code, reason: `too strict for ${code}` }),
    },
  ],
};

/** A card on a list of the walk's Site. */
export const listsWalk: RouterWalk = {
  steps: [
    {
      path: 'lists.put',
      input: ({ code }) => ({
        site_code: code,
        list: 'block',
        entity: 'card',
        values: [`tok-first-of-${code}`, `tok-second-of-${code}`],
        reason: `seen by ${code}`,
      }),
    },
    {
      path: 'lists.remove',
      input: ({ code }) => ({
        site_code: code,
        list: 'block',
        entity: 'card',
        values: [`tok-second-of-${code}`],
        reason: `mistaken by ${code}`,
      }),
    },
  ],
};
