import type { EventFacts } from '../facts.ts';

/** What a rule answers for one event. */
export type RuleAnswer = 'HIT' | 'NO_HIT' | 'INSUFFICIENT_HISTORY' | 'NOT_APPLICABLE' | 'ERROR';

/** A rule: data that a person can read, store and change, never code. */
export interface Rule {
  /** Lower-case words joined by underscores, at most 64; unique in its set; the key in rule_scores. */
  readonly id: string;
  /** What the rule is about, for reports: several rules may share a code. */
  readonly reason: string;
  /** 1..100: how far a hit alone raises the score. */
  readonly points: number;
  /** Rules of one group look at the same thing: of their hits only the one with most points counts. */
  readonly group?: string;
  /** CEL, bool: where it is false, the rule is NOT_APPLICABLE. Absent: always applicable. */
  readonly applies?: string;
  /**
   * Least values of features; a feature that is absent or below makes INSUFFICIENT_HISTORY. A feature that `when`
   * reads outside `has()` must be present even if it is not listed.
   */
  readonly needs?: Readonly<Record<string, number>>;
  /** CEL, bool, over `event`, `features`, `labels` and the names in `limits`: true is a HIT. */
  readonly when: string;
  /** Numbers with a name, so that a threshold is written once for the expression and for the sentence. */
  readonly limits?: Readonly<Record<string, number>>;
  /**
   * The public sentence. `{features.name}`, `{labels.name}` and `{limit}` are replaced; features that are amounts, and
   * anything of the event, are refused. A limit whose name ends in `seconds` is shown as a duration.
   */
  readonly message: string;
  /** Fixed cases, run before a rule set may be used. */
  readonly cases?: readonly RuleCase[];
}

/** One example of a rule's answer. */
export interface RuleCase {
  /** Facts that differ from an approved e-commerce payment of 10,000 minor units. */
  readonly event?: Partial<EventFacts>;
  /**
   * Values of features and labels by name. An entity that any of them belongs to is named by the event; its other
   * features are those of an entity without history.
   */
  readonly features?: Readonly<Record<string, number>>;
  readonly answer: RuleAnswer;
}

/** Least scores of the decisions; below `review` is ALLOW. Integers, 1 <= review <= hold <= block <= 101. */
export interface Thresholds {
  readonly review: number;
  readonly hold: number;
  /** 101: nothing is ever recommended to be blocked. */
  readonly block: number;
}

/** How much of a Site's traffic one rule may block within an hour. */
export interface BlockCap {
  /** Share of the events judged in the hour, above 0 and at most 1; 1 = no cap. */
  readonly share: number;
  /** So many it may block whatever their share; integer >= 0. */
  readonly least: number;
}

/** A versioned list of rules, and what is made of their score. */
export interface RuleSet {
  readonly id: string;
  readonly version: number;
  readonly rules: readonly Rule[];
  /** Only in the set of a Site: ids of rules for all Sites that are not asked there. */
  readonly without?: readonly string[];
  readonly thresholds?: Thresholds;
  readonly block_cap?: BlockCap;
}

/** Why a rule, or the set, cannot be used; `start` and `end` are offsets in the text of `where`. */
export interface RuleProblem {
  /** Its id; empty where the set itself is wrong. */
  readonly rule: string;
  readonly where:
    | 'id'
    | 'points'
    | 'applies'
    | 'needs'
    | 'when'
    | 'limits'
    | 'message'
    | 'cases'
    | 'thresholds'
    | 'block_cap';
  readonly message: string;
  readonly start?: number;
  readonly end?: number;
}
