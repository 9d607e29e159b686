import type { Risk } from '../../contract/risk.ts';
import type { StoredRisk } from '../../ledger/status.ts';

/** The public form of a stored result; null before evaluation. */
export function riskAnswer(risk: StoredRisk | null): Risk | null {
  if (risk === null) return null;
  return {
    score: risk.score,
    // Written by our own evaluation only; the output schema checks both again.
    level: risk.level as Risk['level'],
    decision: risk.decision as Risk['decision'],
    reasons: risk.reasons,
    rule_scores: risk.ruleScores,
    evaluator_version: risk.evaluatorVersion,
    evaluated_at: new Date(risk.evaluatedAt).toISOString(),
  };
}
