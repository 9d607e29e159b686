import { soundReport } from '../contract-check-report.ts';
import type { RouterWalk } from './walk.ts';

/** A gate recorded from a contract check that was made with the Site's sandbox key. */
export const gatesWalk: RouterWalk = {
  steps: [
    {
      path: 'gates.record_contract_check',
      input: async ({ code, service }) => {
        const { api_key: key } = await service
          .as('administrator')
          .credentials.issue({ site_code: code, environment: 'sandbox', label: `check ${code}` });
        return { site_code: code, report: soundReport(key, service.clock.at) };
      },
    },
  ],
};
