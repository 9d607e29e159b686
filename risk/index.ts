/** What other rooms may use of risk/; README.md shows how. */
export {
  ENTITY_KINDS,
  entitiesOf,
  entityKey,
  SINGLE_KINDS,
  type EntityKind,
  type EntityRef,
  type SingleKind,
} from './entities.ts';
export { LISTS, type Listing, type ListName } from './decision.ts';
export { readEvent, type AcceptedEvent, type RiskEvent } from './event.ts';
export { EventFacts, FACT_TYPES } from './facts.ts';
export { NO_LABELS, type EntityLabels, type LabelDay } from './labels.ts';
export { absorb } from './features/absorb.ts';
export { decodeState, encodeState } from './features/codec.ts';
export { computeFeatures } from './features/compute.ts';
export {
  featurePosition,
  FEATURES,
  FEATURES_VERSION,
  type FeatureDefinition,
} from './features/definitions.ts';
export type { EntityState } from './features/state.ts';
export {
  decodeFeatures,
  decodeFeaturesInto,
  encodeFeatures,
  featureValue,
  type Features,
} from './features/vector.ts';
export { compileRuleSet, composeRuleSets, type CompiledRuleSet } from './rules/compile.ts';
export { DEFAULT_RULE_SET, DEFAULT_RULES } from './rules/default-rules.ts';
export type {
  BlockCap,
  Rule,
  RuleAnswer,
  RuleCase,
  RuleProblem,
  RuleSet,
  Thresholds,
} from './rules/rule.ts';
export { runCases, type FailedCase } from './rules/run-cases.ts';
export {
  circumstancesOf,
  evaluatorVersion,
  judge,
  MODEL_PROBABILITY,
  type Circumstances,
  type Judgement,
} from './evaluate.ts';
export { decodeModel, probabilityOf, type Model } from './model/model.ts';
export { modelNamedBy, replay, type StoredJudgement } from './replay.ts';
export { simulate, type RulesNow, type Simulation } from './sandbox.ts';
