import {
  DEFAULT_RULES,
  judge,
  type CompiledRuleSet,
  type Features,
  type Judgement,
  type Model,
  type RiskEvent,
} from '../risk/index.ts';
import type { ModelSource } from './site-models.ts';
import type { RulesOfBatch, RuleSource } from './site-rules.ts';

/** An event with the features that its judgement sees. */
export interface FeaturedEvent {
  readonly event: RiskEvent;
  readonly features: Features;
}

/** Judges the events of one Site: rules, lists and model as they were in force when the batch began. */
export interface Evaluator {
  /**
   * The judgements of a batch's events of this Site, in their order; an event that cannot be judged has its error in
   * its place, so that it fails alone. May be asynchronous. Whatever it throws fails the batch, whose events are then
   * judged one by one.
   */
  judge(
    events: readonly FeaturedEvent[],
  ): readonly (Judgement | Error)[] | Promise<readonly (Judgement | Error)[]>;
}

/** Knows what judges each Site now. */
export interface EvaluatorSource {
  /** Asked once for each Site of a batch; whoever reads from the database keeps what was read. */
  of(siteId: bigint): Evaluator | Promise<Evaluator>;
}

/** Judges by rules, and by a model where one is live; `site` adds lists and caps. */
export function evaluatorOf(
  rules: CompiledRuleSet,
  model?: Model,
  site?: Pick<RulesOfBatch, 'circumstances' | 'note'>,
): Evaluator {
  return {
    judge: (events) =>
      events.map(({ event, features }) => {
        try {
          const judgement = judge(event, features, rules, model, site?.circumstances(event));
          site?.note(judgement);
          return judgement;
        } catch (error: unknown) {
          return error instanceof Error ? error : new Error('judgement failed');
        }
      }),
  };
}

/** The rules, lists and live model of each Site; without `rules` those that came with the service, and no list. */
export function siteEvaluators(models: ModelSource, rules?: RuleSource): EvaluatorSource {
  const byRules = evaluatorOf(DEFAULT_RULES);
  return {
    async of(siteId) {
      const [{ live }, site] = await Promise.all([models.of(siteId), rules?.of(siteId)]);
      if (site !== undefined) return evaluatorOf(site.rules, live, site);
      return live === undefined ? byRules : evaluatorOf(DEFAULT_RULES, live);
    },
  };
}

/** The default rules alone for every Site, without looking at any release. */
export function defaultEvaluators(): EvaluatorSource {
  const byRules = evaluatorOf(DEFAULT_RULES);
  return { of: () => byRules };
}
