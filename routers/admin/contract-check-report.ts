import { createHash } from 'node:crypto';
import { TRPCError } from '@trpc/server';
import { z } from 'zod';
import { canonicalJson } from '../../contract/canonical-json.ts';
import { toIso } from './fields.ts';

const HOUR_MS = 3_600_000;

/** How old a report may be when it is recorded, ms: an old one says nothing about what runs now. */
const AGE_MS = 7 * 24 * HOUR_MS;

/** Clocks of two machines may differ by this much, ms. */
const CLOCK_SKEW_MS = 5 * 60_000;

/** The parts that a sandbox key reaches and no proxy stands in the way of; `--skip` must not leave one out. */
const REQUIRED = [
  'document',
  'acceptance',
  'fields',
  'forbidden data',
  'requests',
  'credentials',
] as const;

const Text = z.string().max(4_000);

const Case = z.strictObject({
  group: z.string().max(40),
  operation: z.string().max(200),
  name: z.string().max(400),
  outcome: z.enum(['agrees', 'deviates', 'skipped']),
  milliseconds: z.number().min(0),
  deviations: z.array(z.strictObject({ aspect: Text, expected: Text, came: Text })).max(200),
});

/** What `npm run contract-check -- <base-url> --json` prints (openapi/contract-check/types.ts). */
export const ContractCheckReport = z.strictObject({
  baseUrl: z.string().max(500),
  startedAt: z.iso.datetime(),
  seconds: z.number().min(0),
  requests: z.int().min(0),
  sandboxKeyId: z
    .string()
    .regex(/^[0-9A-Za-z]{8}$/, { error: 'must be the id of an API key' })
    .nullable(),
  cases: z.array(Case).min(1).max(2_000),
  notSeen: z
    .array(
      z.strictObject({
        operation: z.string().max(200),
        status: z.int(),
        code: z.string().max(100).optional(),
      }),
    )
    .max(1_000),
  lost: z.boolean(),
});

/** A report as it came. */
export type CheckedReport = z.infer<typeof ContractCheckReport>;

/** What a gate keeps of a report. The report itself is archived by whoever made it; its hash tells the right one. */
export interface Verdict {
  readonly result: 'PASSED' | 'FAILED';
  readonly evidence: string;
}

/**
 * Judges a report: PASSED when every case agrees, FAILED when one deviates or the gateway fell silent.
 *
 * @param now ms
 * @throws TRPCError PRECONDITION_FAILED for a report that cannot stand for the Site: too old, or parts of it left out
 */
export function judgeReport(report: CheckedReport, now: number): Verdict {
  const startedAt = Date.parse(report.startedAt);
  if (startedAt > now + CLOCK_SKEW_MS || startedAt < now - AGE_MS) {
    throw refusal('it was not made within the last 7 days; run npm run contract-check again');
  }
  const groups = new Set(report.cases.map(({ group }) => group));
  const missing = REQUIRED.filter((group) => !groups.has(group));
  if (missing.length > 0) {
    throw refusal(`it leaves out ${missing.join(', ')}; run it without --skip for these`);
  }
  const count = (outcome: CheckedReport['cases'][number]['outcome']): number =>
    report.cases.filter((item) => item.outcome === outcome).length;
  const passed = !report.lost && count('deviates') === 0 && count('skipped') === 0;
  const hash = createHash('sha256').update(canonicalJson(report)).digest('hex');
  return {
    result: passed ? 'PASSED' : 'FAILED',
    evidence:
      `contract check of ${toIso(startedAt)} with sandbox key ${report.sandboxKeyId}: ${count('agrees')} cases agree, ` +
      `${count('deviates')} deviate, ${count('skipped')} skipped${report.lost ? ', the gateway stopped answering' : ''}; ` +
      `${report.requests} requests; SHA-256 of the report (RFC 8785) ${hash}`,
  };
}

/** A report that is no evidence, with the reason. */
export const refusal = (reason: string): TRPCError =>
  new TRPCError({
    code: 'PRECONDITION_FAILED',
    message: `The report is no evidence for this Site: ${reason}.`,
  });
