import type { CheckReport } from '../../../openapi/contract-check/types.ts';

const GROUPS = ['document', 'acceptance', 'fields', 'forbidden data', 'requests', 'credentials'];

/** A report as `npm run contract-check -- --json` prints it, in which everything agrees. */
export function soundReport(apiKey: string, at: number): CheckReport {
  return {
    // A full address, which no other procedure takes.
    baseUrl: 'http://127.0.0.1:8080/',
    startedAt: new Date(at).toISOString(),
    seconds: 70.1,
    requests: 240,
    sandboxKeyId: apiKey.split('_')[2] ?? null,
    cases: GROUPS.map((group) => ({
      group,
      operation: 'submitTransaction',
      name: `a case of ${group}`,
      outcome: 'agrees',
      milliseconds: 12,
      deviations: [],
    })),
    notSeen: [{ operation: 'getApiUsage', status: 503, code: 'INGESTION_UNAVAILABLE' }],
    lost: false,
  };
}
