import { type Risk, RiskDecision } from '../../contract/risk.ts';
import { type Pattern, PATTERNS } from './draft.ts';
import type { SentEvent } from './send.ts';
import type { EvaluatedEvent } from './wait.ts';

/** A count out of a total. */
export interface Share {
  readonly count: number;
  readonly of: number;
}

/** How one planted fraud was met. */
export interface PatternTally extends Share {
  readonly pattern: Pattern;
  /** Which of its events was the first to be noticed, 1 = the very first; undefined if none was. */
  readonly firstNoticed: number | undefined;
}

/** A reason and how often it was given. */
export interface ReasonTally {
  /** One of the sentences, as an example: the numbers in it differ from event to event. */
  readonly example: string;
  readonly count: number;
}

/** What the judgements amount to. */
export interface Tally {
  readonly decisions: readonly { readonly decision: RiskDecision; readonly count: number }[];
  /** Most frequent first; of events that were noticed. */
  readonly reasons: readonly ReasonTally[];
  readonly patterns: readonly PatternTally[];
  readonly falseAlarms: Share;
  /** From acceptance to result (evaluated_at - received_at), ms. */
  readonly resultMs: Percentiles;
}

/** Of some durations, ms; NaN where there were none. */
export interface Percentiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

/** Anything but ALLOW: somebody would look at it. */
export function isNoticed(risk: Pick<Risk, 'decision'>): boolean {
  return risk.decision !== 'ALLOW';
}

/** Compares the judgements with the truth. */
export function tally(evaluated: readonly EvaluatedEvent[]): Tally {
  const ordinary = evaluated.filter(({ planned }) => planned.truth.kind === 'ordinary');
  return {
    decisions: RiskDecision.options.map((decision) => ({
      decision,
      count: evaluated.filter(({ risk }) => risk.decision === decision).length,
    })),
    reasons: tallyReasons(evaluated.filter(({ risk }) => isNoticed(risk))),
    patterns: PATTERNS.map((pattern) => tallyPattern(pattern, evaluated)),
    falseAlarms: {
      count: ordinary.filter(({ risk }) => isNoticed(risk)).length,
      of: ordinary.length,
    },
    resultMs: percentiles(
      evaluated.map(
        ({ risk, receivedAt }) => Date.parse(risk.evaluated_at) - Date.parse(receivedAt),
      ),
    ),
  };
}

function tallyPattern(pattern: Pattern, evaluated: readonly EvaluatedEvent[]): PatternTally {
  const planted = evaluated.filter(
    ({ planned: { truth } }) => truth.kind === 'fraud' && truth.pattern === pattern,
  );
  const first = planted.findIndex(({ risk }) => isNoticed(risk));
  return {
    pattern,
    count: planted.filter(({ risk }) => isNoticed(risk)).length,
    of: planted.length,
    firstNoticed: first === -1 ? undefined : first + 1,
  };
}

/** Reasons that differ only in their numbers are one. */
function tallyReasons(noticed: readonly EvaluatedEvent[]): ReasonTally[] {
  const found = new Map<string, { example: string; count: number }>();
  for (const { risk } of noticed) {
    for (const reason of risk.reasons) {
      const key = reason.replaceAll(/\d[\d.,]*/g, '#');
      const known = found.get(key);
      if (known === undefined) found.set(key, { example: reason, count: 1 });
      else known.count += 1;
    }
  }
  return [...found.values()].sort((a, b) => b.count - a.count);
}

/** Percentiles by nearest rank. */
export function percentiles(durations: readonly number[]): Percentiles {
  const sorted = durations.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

/** How long the service took to accept. */
export const acceptMs = (sent: readonly SentEvent[]): Percentiles =>
  percentiles(sent.map(({ milliseconds }) => milliseconds));
