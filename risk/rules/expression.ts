import { Environment, type ASTNode } from '@marcbachmann/cel-js';
import { FEATURES, LABEL_MEASURES } from '../features/definitions.ts';
import { EventFacts, FACT_TYPES } from '../facts.ts';

/** What an expression reads: names by variable. */
export interface References {
  readonly event: ReadonlySet<string>;
  readonly features: ReadonlySet<string>;
  readonly labels: ReadonlySet<string>;
}

/** A compiled expression; throws where it fails, and answers whatever it yields. */
export interface Expression {
  readonly run: (context: ExpressionContext) => unknown;
  /** Names that it reads without asking `has()` about them anywhere: they must be present. */
  readonly required: References;
  /** Read anywhere. */
  readonly all: References;
}

/** The numbers an expression sees as `features` or `labels`; undefined where one is absent. */
export class NumbersByName {
  [name: string]: number | undefined;
}

/** The variables of an expression; `event` is set before each run. */
export interface ExpressionContext {
  event: EventFacts | undefined;
  readonly features: NumbersByName;
  readonly labels: NumbersByName;
}

/** An expression that cannot be used; offsets point into its text. */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError';
  readonly start: number | undefined;
  readonly end: number | undefined;

  constructor(message: string, range?: { readonly start: number; readonly end: number }) {
    super(message);
    this.start = range?.start;
    this.end = range?.end;
  }
}

/**
 * Functions an expression may call. No `matches`: its regular expressions can backtrack for ever. No macro that loops:
 * an expression's cost is bounded by its length.
 */
const FUNCTIONS = new Set(['has', 'min', 'max', 'abs']);
const OPERATORS = new Set(
  '&& || == != < <= > >= + - * / ?: . in list value id call !_ -_'.split(' '),
);

class FeatureNumbers extends NumbersByName {}
class LabelNumbers extends NumbersByName {}

const FIELDS = { event: FACT_TYPES, ...numberFields() };

const BASE = new Environment({ limits: { maxAstNodes: 200, maxDepth: 30, maxListElements: 50 } })
  .registerType('Event', { ctor: EventFacts, fields: { ...FACT_TYPES } })
  .registerType('Features', { ctor: FeatureNumbers, fields: FIELDS.features })
  .registerType('Labels', { ctor: LabelNumbers, fields: FIELDS.labels })
  .registerVariable('event', 'Event')
  .registerVariable('features', 'Features')
  .registerVariable('labels', 'Labels')
  .registerFunction('min(double, double): double', (a: number, b: number) => Math.min(a, b))
  .registerFunction('max(double, double): double', (a: number, b: number) => Math.max(a, b))
  .registerFunction('abs(double): double', (a: number) => Math.abs(a));

/** A fresh context with the given names in it, all absent; `event` is set for each run. */
export function emptyContext(
  featureNames: Iterable<string>,
  labelNames: Iterable<string>,
): ExpressionContext {
  const features = new FeatureNumbers();
  for (const name of featureNames) features[name] = undefined;
  const labels = new LabelNumbers();
  for (const name of labelNames) labels[name] = undefined;
  return { event: undefined, features, labels };
}

/**
 * Compiles an expression that must yield a bool.
 *
 * @param limits  constants it may name
 * @throws ExpressionError where it does not parse, names an unknown field, mixes types or uses what is not allowed
 */
export function compileExpression(
  text: string,
  limits: Readonly<Record<string, number>>,
): Expression {
  const environment = BASE.clone();
  let parsed;
  let checked;
  try {
    for (const [name, value] of Object.entries(limits)) {
      environment.registerConstant(name, 'double', value);
    }
    parsed = environment.parse(text);
    checked = parsed.check();
  } catch (error: unknown) {
    throw asExpressionError(error);
  }
  if (checked.error !== undefined) throw asExpressionError(checked.error);
  if (checked.type !== 'bool') {
    throw new ExpressionError(`must be true or false, but is of type ${checked.type}`);
  }
  const all = noNames();
  const asked = noNames();
  collect(parsed.ast, false, all, asked);
  const required = {
    event: all.event.difference(asked.event),
    features: all.features.difference(asked.features),
    labels: all.labels.difference(asked.labels),
  };
  return { run: parsed, required, all };
}

type Names = Record<keyof References, Set<string>>;

function noNames(): Names {
  return { event: new Set(), features: new Set(), labels: new Set() };
}

/** Notes every field that is read, and refuses what an expression has no business to use. */
function collect(node: ASTNode, isAsking: boolean, all: Names, asked: Names): void {
  if (!OPERATORS.has(node.op)) {
    throw new ExpressionError('uses an operator that is not allowed', node.range);
  }
  if (node.op === 'value' || node.op === 'id') return;
  if (node.op === '.') {
    const [object, field] = node.args;
    if (object.op !== 'id' || !Object.hasOwn(FIELDS, object.args)) {
      throw new ExpressionError('may read fields of event, features and labels only', node.range);
    }
    const variable = object.args as keyof References;
    all[variable].add(field);
    if (isAsking) asked[variable].add(field);
    return;
  }
  if (node.op === 'call') {
    const [name, args] = node.args;
    if (!FUNCTIONS.has(name)) {
      throw new ExpressionError(`calls ${name}(), which is not allowed`, node.range);
    }
    for (const argument of args) collect(argument, name === 'has', all, asked);
    return;
  }
  for (const part of [node.args].flat() as ASTNode[]) collect(part, false, all, asked);
}

function asExpressionError(error: unknown): ExpressionError {
  if (!(error instanceof Error)) return new ExpressionError('is not readable');
  const { summary, range } = error as { summary?: string; range?: { start: number; end: number } };
  return new ExpressionError(summary ?? error.message, range);
}

function numberFields(): Record<'features' | 'labels', Record<string, string>> {
  const features: Record<string, string> = {};
  const labels: Record<string, string> = {};
  for (const { name, measure } of FEATURES) {
    (LABEL_MEASURES.has(measure) ? labels : features)[name] = 'double';
  }
  return { features, labels };
}
