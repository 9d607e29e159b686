import type { RouterWalk } from './walk.ts';

/** A credential from its first key to its end. */
export const credentialsWalk: RouterWalk = {
  steps: [
    {
      path: 'credentials.issue',
      input: ({ code }) => ({
        site_code: code,
        environment: 'production',
        label: `label of ${code}`,
      }),
    },
    {
      path: 'credentials.rotate',
      input: (walk) => ({
        credential_id: walk.answer('credentials.issue')['credential_id'],
        overlap_seconds: 60,
      }),
    },
    {
      path: 'credentials.revoke',
      input: (walk) => ({ credential_id: walk.answer('credentials.issue')['credential_id'] }),
    },
  ],
};
