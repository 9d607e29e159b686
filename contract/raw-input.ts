import { findForbidden, forbiddenProblems } from './forbidden-data.ts';
import { findJsonProblem } from './json-limits.ts';
import type { Problem } from './problem.ts';

/**
 * What makes a parsed but unvalidated input unfit to be stored, logged or worded: limits of JSON, then forbidden data.
 * Comes before any schema, because schemas drop what they do not know and their errors may name it.
 */
export function rawInputProblems(raw: unknown): Problem[] {
  const problem = findJsonProblem(raw);
  return problem === undefined ? forbiddenProblems(findForbidden(raw)) : [problem];
}
