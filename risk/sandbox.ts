import { parseInstant } from '../contract/instant.ts';
import type { RiskDecision } from '../contract/risk.ts';
import type { TransactionEvent } from '../contract/transaction.ts';
import { judge, type Circumstances } from './evaluate.ts';
import { readEvent, type RiskEvent } from './event.ts';
import { computeFeatures } from './features/compute.ts';
import type { CompiledRuleSet } from './rules/compile.ts';

/** What a sandbox answer says about risk (contract, section 2.6). */
export interface Simulation {
  /** Integer 0..100. */
  readonly risk_score: number;
  readonly decision: 'ALLOW' | 'REVIEW' | 'BLOCK';
  readonly reasons: readonly string[];
}

/** Values of payment_method.token that force a decision, with a score inside its band. */
const FORCED: ReadonlyMap<unknown, Simulation> = new Map<unknown, Simulation>([
  [
    'tok_sandbox_allow',
    { risk_score: 5, decision: 'ALLOW', reasons: ['The sandbox token forces ALLOW.'] },
  ],
  [
    'tok_sandbox_review',
    { risk_score: 50, decision: 'REVIEW', reasons: ['The sandbox token forces REVIEW.'] },
  ],
  [
    'tok_sandbox_block',
    { risk_score: 95, decision: 'BLOCK', reasons: ['The sandbox token forces BLOCK.'] },
  ],
]);

/** The contract gives the sandbox three decisions: a recommendation to hold is one to look, not one to refuse. */
const SIMULATED: Record<RiskDecision, Simulation['decision']> = {
  ALLOW: 'ALLOW',
  REVIEW: 'REVIEW',
  HOLD_RECOMMENDED: 'REVIEW',
  BLOCK_RECOMMENDED: 'BLOCK',
};

/** What judges a Site now besides a model. */
export interface RulesNow {
  readonly rules: CompiledRuleSet;
  circumstances(event: RiskEvent): Circumstances;
}

/**
 * The sandbox's evaluation: forced by token, otherwise the real judgement with no history and no labels. Nothing is
 * kept, so whether an original transaction is known cannot be told and is not judged. Calling twice gives the same.
 *
 * @param site  the rules and lists of the Site; absent: the rules that came with the service
 */
export function simulate(event: TransactionEvent, site?: RulesNow): Simulation {
  const forced = FORCED.get(event.payment_method?.token);
  if (forced !== undefined) return forced;
  const at = parseInstant(event.transaction.occurred_at) ?? 0;
  const read = readEvent({
    ingestionId: 'sandbox',
    event,
    merchantSubject: event.merchant_external_id ?? 'sandbox',
    occurredAt: at,
    receivedAt: at,
    originalKnown: null,
  });
  const features = computeFeatures(
    read,
    () => undefined,
    () => undefined,
  );
  const { score, decision, reasons } = judge(
    read,
    features,
    site?.rules,
    undefined,
    site?.circumstances(read),
  ).risk;
  return { risk_score: score, decision: SIMULATED[decision], reasons };
}
