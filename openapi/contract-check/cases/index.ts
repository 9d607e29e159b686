import type { Bench, Case, Group } from './case.ts';
import { credentialCases } from './credentials.ts';
import { httpCases } from './http.ts';
import { lifecycleCases } from './lifecycle.ts';
import { productionCases } from './production.ts';
import { rateLimitCases } from './rate-limit.ts';
import { requestCases } from './requests.ts';
import { acceptanceCases, documentCases, fieldCases, forbiddenCases } from './sandbox.ts';

/**
 * All cases that the given keys allow, in their order. The rate limit comes when most of its calls are spent anyway, so
 * one pause serves both its proof and the pacing.
 */
export function allCases(bench: Bench, skipped: ReadonlySet<Group>): Case[] {
  const { production } = bench;
  return [
    ...documentCases(bench),
    ...acceptanceCases(bench),
    ...fieldCases(bench),
    ...(production === undefined ? [] : productionCases(bench, production)),
    ...(production === undefined ? [] : lifecycleCases(bench, production)),
    ...credentialCases(bench),
    ...rateLimitCases(bench),
    ...forbiddenCases(bench),
    ...requestCases(bench),
    ...httpCases(bench),
  ].filter(({ group }) => !skipped.has(group));
}
