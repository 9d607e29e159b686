import { TRPCError } from '@trpc/server';
import { ZodError } from 'zod';
import { problemsOfZodError, wordProblems, type Problem } from '../../contract/problem.ts';
import { findJsonProblem } from '../../contract/json-limits.ts';
import { rawInputProblems } from '../../contract/raw-input.ts';
import { failureKind } from '../../ledger/failures.ts';
import { adminProcedure, type Role } from '../procedure.ts';

/**
 * The base of every procedure here: the role, then the raw input checked for what must not be stored or worded, and every
 * failure in words: a wrong input names its fields (never a value), a lost database is no fault of ours.
 *
 * @param unscanned a field that the procedure never stores, words or logs: it may hold what is forbidden elsewhere
 */
const forRole = (role: Role, unscanned?: string) =>
  adminProcedure(role).use(async ({ getRawInput, next }) => {
    const raw: unknown = await getRawInput();
    const problems = inputProblems(raw, unscanned);
    if (problems.length > 0) throw badInput(wordProblems(problems));
    const result = await next();
    if (result.ok) return result;
    const { error } = result;
    if (error.code === 'BAD_REQUEST' && error.cause instanceof ZodError) {
      throw badInput(wordProblems(problemsOfZodError(error.cause, raw)));
    }
    if (error.code === 'INTERNAL_SERVER_ERROR') {
      const kind = failureKind(error.cause);
      if (kind === 'unavailable' || kind === 'retryable') throw unavailable(error.cause);
    }
    return result;
  });

function inputProblems(raw: unknown, unscanned: string | undefined): Problem[] {
  if (unscanned === undefined || typeof raw !== 'object' || raw === null) {
    return rawInputProblems(raw);
  }
  const problem = findJsonProblem(raw);
  if (problem !== undefined) return [problem];
  return rawInputProblems(
    Object.fromEntries(Object.entries(raw).filter(([name]) => name !== unscanned)),
  );
}

const badInput = (problems: readonly string[]): TRPCError =>
  new TRPCError({ code: 'BAD_REQUEST', message: `The input is wrong: ${problems.join('; ')}.` });

const unavailable = (cause: unknown): TRPCError =>
  new TRPCError({
    code: 'SERVICE_UNAVAILABLE',
    message: 'The database cannot answer at the moment; try again in a few seconds.',
    cause,
  });

/** For who may look: changes nothing. */
export const viewerProcedure = forRole('viewer');

/** For who acts on traffic: redrives and the like. */
export const operatorProcedure = forRole('operator');

/** For who decides about Sites, contracts, credentials and operators. */
export const administratorProcedure = forRole('administrator');

/** For who may look, by a field that may hold what is forbidden elsewhere, such as an address. */
export const viewerProcedureTaking = (unscanned: string) => forRole('viewer', unscanned);

/** For who decides, with a document of which only a summary is kept. */
export const administratorProcedureTaking = (unscanned: string) =>
  forRole('administrator', unscanned);
