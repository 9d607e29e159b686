import { compileRuleSet, type CompiledRuleSet } from './compile.ts';
import { AMOUNT_RULES } from './default/amounts.ts';
import { CONFIRMED_RULES } from './default/confirmed.ts';
import { DECLINE_RULES } from './default/declines.ts';
import { GEOGRAPHY_RULES } from './default/geography.ts';
import { RETURN_RULES } from './default/returns.ts';
import { SHARING_RULES } from './default/sharing.ts';
import { VELOCITY_RULES } from './default/velocity.ts';
import type { RuleSet } from './rule.ts';

/** The rules every Site starts with. Raise the version with every change: results name it. */
export const DEFAULT_RULE_SET: RuleSet = {
  id: 'default',
  version: 2,
  rules: [
    ...CONFIRMED_RULES,
    ...DECLINE_RULES,
    ...VELOCITY_RULES,
    ...SHARING_RULES,
    ...AMOUNT_RULES,
    ...RETURN_RULES,
    ...GEOGRAPHY_RULES,
  ],
};

/** {@link DEFAULT_RULE_SET}, compiled once for the process. */
export const DEFAULT_RULES: CompiledRuleSet = compileRuleSet(DEFAULT_RULE_SET);
