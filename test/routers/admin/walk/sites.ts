import type { RouterWalk } from './walk.ts';

/** A Site's way into production, out of it and back. */
export const sitesWalk: RouterWalk = {
  steps: [
    {
      path: 'sites.create',
      input: ({ code }) => ({ code, name: `Name of ${code}`, customer_type: 'SINGLE_COMPANY' }),
    },
    ...(['QUALITY', 'SECURITY'] as const).map((gate) => ({
      path: 'gates.record',
      input: ({ code }: { readonly code: string }) => ({
        site_code: code,
        gate,
        result: 'PASSED',
        evidence: `report of ${code}`,
      }),
    })),
    {
      path: 'contracts.create',
      input: ({ code }) => ({
        site_code: code,
        capacity_limit: 5,
        starts_at: '2026-03-01T00:00:00Z',
        ends_at: '2026-04-01T00:00:00Z',
      }),
    },
    { path: 'sites.approve', input: ({ code }) => ({ site_code: code }) },
    {
      path: 'contracts.end',
      input: (walk) => ({
        contract_id: walk.answer('contracts.create')['contract_id'],
        ends_at: '2026-05-01T00:00:00Z',
      }),
    },
    {
      path: 'contracts.change_capacity',
      input: (walk) => ({
        contract_id: walk.answer('contracts.create')['contract_id'],
        capacity_limit: 9,
        reason: `more for ${walk.code}`,
      }),
    },
    {
      path: 'sites.suspend',
      input: ({ code }) => ({ site_code: code, reason: `suspended ${code}` }),
    },
    {
      path: 'sites.set_retention',
      input: ({ code }) => ({ site_code: code, payload_retention_days: 90 }),
    },
    { path: 'sites.resume', input: ({ code }) => ({ site_code: code, reason: `resumed ${code}` }) },
  ],
};
