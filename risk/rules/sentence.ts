import { FEATURES, LABEL_MEASURES, type FeatureDefinition } from '../features/definitions.ts';
import type { NumbersByName } from './expression.ts';

/** A compiled message template. */
export interface Sentence {
  readonly word: (features: NumbersByName, labels: NumbersByName) => string;
  /** Names the template shows. */
  readonly features: readonly string[];
  readonly labels: readonly string[];
}

const DEFINITIONS: ReadonlyMap<string, FeatureDefinition> = new Map(
  FEATURES.map((feature) => [feature.name, feature]),
);
const PLACEHOLDER = /\{([^{}]*)\}/;

/**
 * Compiles a rule's message. Only features, label counts and limits can be shown, and no amount: the sentence is
 * public, and the mean of one earlier payment is that payment.
 *
 * @throws RangeError saying which placeholder is refused
 */
export function compileSentence(
  template: string,
  limits: Readonly<Record<string, number>>,
): Sentence {
  const parts = template.split(PLACEHOLDER);
  const features: string[] = [];
  const labels: string[] = [];
  const shown = parts.map((part, index) => {
    if (index % 2 === 0) {
      if (/[{}]/.test(part)) throw new RangeError('has a brace without its partner');
      return part;
    }
    if (Object.hasOwn(limits, part)) return wordLimit(part, limits[part] as number);
    const [variable = '', name = ''] = part.split('.');
    const definition = DEFINITIONS.get(name);
    const isLabel = definition !== undefined && LABEL_MEASURES.has(definition.measure);
    if (definition === undefined || variable !== (isLabel ? 'labels' : 'features')) {
      throw new RangeError(`may not show {${part}}: it is no feature, label count or limit`);
    }
    if (definition.unit === 'amount') {
      throw new RangeError(`may not show {${part}}: amounts never leave the service`);
    }
    if (definition.unit === 'code') {
      throw new RangeError(`may not show {${part}}: it is a number for models and says nothing`);
    }
    (isLabel ? labels : features).push(name);
    return definition;
  });
  return {
    features,
    labels,
    word: (featureNumbers, labelNumbers) =>
      shown
        .map((part) => {
          if (typeof part === 'string') return part;
          return wordValue(part, featureNumbers[part.name] ?? labelNumbers[part.name]);
        })
        .join(''),
  };
}

function wordLimit(name: string, value: number): string {
  return name.endsWith('seconds') ? wordDuration(value) : String(value);
}

/** A value as people read it. Amounts and codes have no words: asking for one throws. */
export function wordValue({ unit, cap }: FeatureDefinition, value: number | undefined): string {
  if (value === undefined) return 'unknown';
  switch (unit) {
    case 'seconds':
      return wordDuration(value);
    case 'days':
      return wordDuration(value * 86_400);
    case 'ratio':
      return oneDecimal(value);
    case 'count':
    case 'flag':
      return cap !== undefined && value >= cap ? `${cap} or more` : String(value);
    case 'amount':
    case 'code':
      throw new RangeError('an amount or a code is never worded');
    default:
      return unit satisfies never;
  }
}

/** 45 seconds, 12 minutes, 3.5 hours, 2 days. */
function wordDuration(seconds: number): string {
  if (seconds < 60) return plural(Math.floor(seconds), 'second');
  if (seconds < 3600) return plural(Math.floor(seconds / 60), 'minute');
  if (seconds < 172_800) return plural(oneDecimal(seconds / 3600), 'hour');
  return plural(oneDecimal(seconds / 86_400), 'day');
}

function plural(count: number | string, word: string): string {
  return String(count) === '1' ? `${count} ${word}` : `${count} ${word}s`;
}

function oneDecimal(value: number): string {
  return value.toFixed(1).replace(/\.0$/, '');
}
