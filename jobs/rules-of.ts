import { DEFAULT_RULES, evaluatorVersion, type CompiledRuleSet } from '../risk/index.ts';

const NAMED_RULES = /\+rules\.([^+]+)/;

/** The default rules where an evaluator_version names them, whatever model judged beside them; undefined for others. */
export function defaultRulesOf(version: string): CompiledRuleSet | undefined {
  const ours = evaluatorVersion(DEFAULT_RULES);
  return NAMED_RULES.exec(version)?.[1] === NAMED_RULES.exec(ours)?.[1] ? DEFAULT_RULES : undefined;
}
