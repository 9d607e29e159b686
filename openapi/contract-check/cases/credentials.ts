import { randomBytes } from 'node:crypto';
import { writeOf } from '../events.ts';
import type { Credential } from '../probe.ts';
import type { Call } from '../types.ts';
import { casesOf, SUBMIT, USAGE, type Bench, type Case } from './case.ts';

/** Who may call: keys that are missing, malformed, unknown, or lack a permission. */
export function credentialCases(bench: Bench): Case[] {
  const { probe, events, restricted } = bench;
  const label = (id: string): Call => ({
    method: 'POST',
    path: `/v1/transactions/${id}/outcomes`,
    ...writeOf({ outcome_label: 'FALSE_POSITIVE' }),
  });
  const calls: Record<string, () => Call> = {
    submitTransaction: () => ({ ...SUBMIT, ...writeOf(events.event()) }),
    getIngestion: () => ({ method: 'GET', path: '/v1/ingestions/ing_1' }),
    getTransactionRisk: () => ({
      method: 'GET',
      path: `/v1/transactions/${events.newId()}/risk`,
    }),
    appendTransactionOutcome: () => label(events.newId()),
    getApiUsage: () => USAGE,
  };
  const unauthorized = async (operation: string, key?: string): Promise<void> => {
    const call: Call = calls[operation]?.() ?? USAGE;
    const headers = { ...call.headers, ...(key === undefined ? {} : { 'x-api-key': key }) };
    await probe.call(
      operation,
      undefined,
      { ...call, headers },
      { status: 401, code: 'UNAUTHORIZED', ...(key === undefined ? {} : { secrets: [key] }) },
    );
  };
  const forbidden = async (operation: string, call: Call, by: Credential): Promise<void> => {
    await probe.call(operation, by, call, { status: 403, code: 'FORBIDDEN' });
  };
  const cases = Object.keys(calls).map((operation) =>
    casesOf('credentials', operation)('a missing key is refused', () => unauthorized(operation)),
  );
  const make = casesOf('credentials', 'getApiUsage');
  const unknown = `trk_prod_${randomBytes(4).toString('hex')}_${randomBytes(21).toString('hex')}x`;
  cases.push(
    make('a malformed key is refused', () => unauthorized('getApiUsage', 'contract-check-no-key')),
    make('an unknown key of the right form is refused', () => unauthorized('getApiUsage', unknown)),
  );
  if (restricted !== undefined) {
    cases.push(
      casesOf('credentials', 'submitTransaction')('a key without ingest is forbidden', () =>
        forbidden('submitTransaction', { ...SUBMIT, ...writeOf(events.event()) }, restricted),
      ),
      casesOf('credentials', 'appendTransactionOutcome')('a key without label is forbidden', () =>
        forbidden('appendTransactionOutcome', label(events.newId()), restricted),
      ),
    );
  }
  return cases;
}
