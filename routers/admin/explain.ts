import { z } from 'zod';
import type { TransactionEvent } from '../../contract/transaction.ts';
import type { ExplainedIngestion, StoryEntry } from '../../ledger/explain.ts';
import {
  circumstancesOf,
  decodeFeatures,
  FEATURES,
  LISTS,
  MODEL_PROBABILITY,
  replay,
  SINGLE_KINDS,
  type CompiledRuleSet,
  type Features,
} from '../../risk/index.ts';
import { DecimalId, UtcInstant, toIso } from './fields.ts';

const at = { at: UtcInstant };

/** One thing that happened, in the words that operators see. */
export const StoryOut = z.discriminatedUnion('what', [
  z.strictObject({
    what: z.literal('ACCEPTED'),
    ...at,
    credential_id: DecimalId,
    credential_label: z.string().nullable(),
    environment: z.string().nullable(),
  }),
  z.strictObject({
    what: z.literal('ATTEMPT_FAILED'),
    ...at,
    attempt: z.int(),
    error_class: z.string(),
    error_place: z.string(),
  }),
  z.strictObject({
    what: z.literal('DEAD_LETTER'),
    ...at,
    cause: z.string(),
    attempts: z.int(),
  }),
  z.strictObject({
    what: z.enum(['REDRIVEN', 'DISCARDED']),
    ...at,
    by: z.string(),
    reason: z.string(),
  }),
  z.strictObject({
    what: z.literal('EVALUATED'),
    ...at,
    score: z.int(),
    decision: z.string(),
    evaluator_version: z.string(),
  }),
  z.strictObject({
    what: z.literal('LABELLED'),
    ...at,
    outcome_label: z.string(),
    credential_id: DecimalId,
  }),
  z.strictObject({
    what: z.literal('WEBHOOK_EVENT'),
    ...at,
    event_id: z.string(),
    event_type: z.string(),
  }),
  z.strictObject({
    what: z.literal('WEBHOOK_ATTEMPT'),
    ...at,
    event_id: z.string(),
    endpoint_id: DecimalId,
    attempt: z.int(),
    outcome: z.string(),
    http_status: z.int().nullable(),
    error_class: z.string().nullable(),
    duration_ms: z.int(),
  }),
]);

/** One entry of {@link StoryOut}. */
export type StoryOut = z.infer<typeof StoryOut>;

/** The whole story in order: acceptance and evaluation put where they belong among the rest. */
export function tellStory(
  ingestion: ExplainedIngestion,
  entries: readonly StoryEntry[],
): StoryOut[] {
  const { credential, risk } = ingestion;
  const accepted: StoryOut = {
    what: 'ACCEPTED',
    at: toIso(ingestion.receivedAt),
    credential_id: String(credential.id),
    credential_label: credential.label,
    environment: credential.environment,
  };
  const before = entries.filter(
    (entry) => risk === null || happenedBefore(entry, risk.evaluatedAt),
  );
  const story = [accepted, ...before.map(tell)];
  if (risk === null) return story;
  story.push({
    what: 'EVALUATED',
    at: toIso(risk.evaluatedAt),
    score: risk.score,
    decision: risk.decision,
    evaluator_version: risk.evaluatorVersion,
  });
  return [...story, ...entries.slice(before.length).map(tell)];
}

/** What leads to an evaluation comes before it, and what it brings about after it, also within one millisecond. */
function happenedBefore(entry: StoryEntry, evaluatedAt: number): boolean {
  const leadsToIt = entry.what !== 'WEBHOOK_EVENT' && entry.what !== 'WEBHOOK_ATTEMPT';
  return entry.at < evaluatedAt || (leadsToIt && entry.at === evaluatedAt);
}

function tell(entry: StoryEntry): StoryOut {
  const when = { at: toIso(entry.at) };
  if (entry.what === 'ATTEMPT_FAILED') {
    const { what, attempt, errorClass, errorPlace } = entry;
    return { what, ...when, attempt, error_class: errorClass, error_place: errorPlace };
  }
  if (entry.what === 'DEAD_LETTER') {
    return { what: entry.what, ...when, cause: entry.cause, attempts: entry.attempts };
  }
  if (entry.what === 'LABELLED') {
    const { what, label, credentialId } = entry;
    return { what, ...when, outcome_label: label, credential_id: String(credentialId) };
  }
  if (entry.what === 'WEBHOOK_EVENT') {
    return { what: entry.what, ...when, event_id: entry.eventId, event_type: entry.type };
  }
  if (entry.what === 'WEBHOOK_ATTEMPT') {
    return {
      what: entry.what,
      ...when,
      event_id: entry.eventId,
      endpoint_id: String(entry.endpointId),
      attempt: entry.attempt,
      outcome: entry.outcome,
      http_status: entry.httpStatus,
      error_class: entry.errorClass,
      duration_ms: entry.durationMs,
    };
  }
  return { what: entry.what, ...when, by: entry.by, reason: entry.reason };
}

/** How one rule answered. `points` count only where `counted`: of a group's hits only the strongest does. */
const RuleOut = z.strictObject({
  rule: z.string(),
  reason: z.string(),
  answer: z.enum(['HIT', 'NO_HIT', 'INSUFFICIENT_HISTORY', 'NOT_APPLICABLE', 'ERROR']),
  points: z.number(),
  counted: z.boolean(),
  thresholds: z.record(z.string(), z.number()),
});

/** Why a result is what it is. */
export const EvaluationOut = z.strictObject({
  score: z.int(),
  level: z.string(),
  decision: z.string(),
  reasons: z.array(z.string()),
  evaluator_version: z.string(),
  evaluated_at: UtcInstant,
  /**
   * The features that were present, by name, but for those that only repeat a field of the event. Null once they were
   * dropped, or where another version wrote them.
   */
  features: z.record(z.string(), z.number()).nullable(),
  /**
   * AGREES: judged again by the rules that the result names, from stored features and event, with the same score,
   * decision and points. DIFFERS: not so. UNAVAILABLE: rules, features or event are no longer there, so that only the
   * rules that counted are listed.
   */
  replay: z.enum(['AGREES', 'DIFFERS', 'UNAVAILABLE']),
  rules: z.array(RuleOut),
  /** The model's probability of fraud, 0 to 1; null where no model judged. */
  model: z.strictObject({ probability: z.number() }).nullable(),
  /** The lists that its entities were on. */
  lists: z.array(z.strictObject({ list: z.enum(LISTS), entity: z.enum(SINGLE_KINDS) })),
  /** Rules that a cap kept from blocking it. */
  capped: z.array(z.string()),
});

/** The evaluation of an ingestion with what it was made from; null before it. */
export function explainEvaluation(
  ingestion: ExplainedIngestion,
  rules: CompiledRuleSet | undefined,
): z.infer<typeof EvaluationOut> | null {
  const { risk } = ingestion;
  if (risk === null) return null;
  const probability = risk.ruleScores[MODEL_PROBABILITY];
  const { capped = [], listed = [] } = circumstancesOf(risk.ruleScores, risk.evaluatorVersion);
  const features = ingestion.features === null ? undefined : readFeatures(ingestion.features);
  return {
    score: risk.score,
    level: risk.level,
    decision: risk.decision,
    reasons: risk.reasons,
    evaluator_version: risk.evaluatorVersion,
    evaluated_at: toIso(risk.evaluatedAt),
    features: features === undefined ? null : byName(features),
    ...judgeAgain(ingestion, features, rules),
    model: probability === undefined ? null : { probability },
    lists: listed.map(({ kind, list }) => ({ list, entity: kind })),
    capped: [...capped],
  };
}

/** What rule_scores holds besides rules. */
const NO_RULE = /^(?:model|list|cap)_/;

/** The rules' answers, found by judging again; where that cannot be done, those that counted. */
function judgeAgain(
  { body, occurredAt, receivedAt, risk }: ExplainedIngestion,
  features: Features | undefined,
  rules: CompiledRuleSet | undefined,
): Pick<z.infer<typeof EvaluationOut>, 'replay' | 'rules'> {
  const scores = risk?.ruleScores ?? {};
  if (features === undefined || rules === undefined || body === null || risk === null) {
    const counted = Object.entries(scores).filter(([name]) => !NO_RULE.test(name));
    return {
      replay: 'UNAVAILABLE',
      rules: counted.map(([rule, points]) => ({
        rule,
        reason: rule,
        answer: 'HIT',
        points,
        counted: true,
        thresholds: {},
      })),
    };
  }
  const { answers, risk: again } = replay(
    {
      event: JSON.parse(body) as TransactionEvent,
      at: Math.min(occurredAt, receivedAt),
      features,
      ruleScores: scores,
      evaluatorVersion: risk.evaluatorVersion,
    },
    rules,
  );
  const agrees =
    again.score === risk.score &&
    again.level === risk.level &&
    again.decision === risk.decision &&
    Object.keys(scores).length === Object.keys(again.rule_scores).length &&
    Object.entries(scores).every(([name, each]) => again.rule_scores[name] === each);
  return {
    replay: agrees ? 'AGREES' : 'DIFFERS',
    rules: rules.rules.map(({ rule }, index) => ({
      rule: rule.id,
      reason: rule.reason,
      answer: answers[index] ?? 'ERROR',
      points: rule.points,
      counted: scores[rule.id] !== undefined,
      thresholds: { ...rule.limits },
    })),
  };
}

/** @returns undefined where another version of the features wrote them */
function readFeatures(text: string): Features | undefined {
  try {
    return decodeFeatures(text);
  } catch (error: unknown) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** A feature of an entity that the event itself states; those without an entity are all the event's own. */
const REPEATED = new Set(['account_age_days']);

const byName = ({ values }: Features): Record<string, number> =>
  Object.fromEntries(
    FEATURES.flatMap(({ name, entity }, index) => {
      const value = values[index];
      const absent = value === undefined || Number.isNaN(value);
      return absent || entity === undefined || REPEATED.has(name) ? [] : [[name, value]];
    }),
  );
