import { isDeepStrictEqual } from 'node:util';
import type { TransactionEvent } from '../contract/transaction.ts';
import {
  readJudged,
  type JudgedPage,
  type JudgedPeriod,
  type JudgedRow,
} from '../ledger/judged-events.ts';
import type { LedgerPlace } from '../ledger/ledger-place.ts';
import { readForest } from '../ledger/models.ts';
import type { Transaction } from '../ledger/transactions.ts';
import {
  decodeFeatures,
  decodeModel,
  modelNamedBy,
  replay,
  type CompiledRuleSet,
  type Features,
  type Model,
} from '../risk/index.ts';
import type { RulesOf } from './rules-of.ts';

/** What came of judging results again. */
export interface ReplayedResults {
  /** Judged again with the same result, to the last bit and word. */
  readonly same: number;
  /** Judged again with another result. */
  readonly different: readonly bigint[];
  /** Features, body, rules or model are no longer kept, or of another version. */
  readonly unavailable: number;
}

const SLICE = 250;

/** Judges the results of a period again from what is stored, by the rules and models that they name. */
export async function replayResults(
  transaction: Transaction,
  rulesOf: RulesOf,
  period: JudgedPeriod,
): Promise<ReplayedResults> {
  const models = new Map<string, Model | undefined>();
  const modelOf = async (id: string): Promise<Model | undefined> => {
    if (!models.has(id)) {
      const text = await transaction((db) => readForest(db, period.siteId, BigInt(id)));
      models.set(id, text === undefined ? undefined : decodeModel(id, text));
    }
    return models.get(id);
  };
  const counts = { same: 0, unavailable: 0 };
  const different: bigint[] = [];
  let after: LedgerPlace | undefined;
  do {
    const { next, rows }: JudgedPage = await transaction((db) =>
      readJudged(db, period, SLICE, after),
    );
    for (const row of rows) {
      const modelId = modelNamedBy(row.evaluatorVersion);
      const rules = await rulesOf(period.siteId, row.evaluatorVersion);
      const model = modelId === undefined ? undefined : await modelOf(modelId);
      const features = featuresOf(row);
      const isWhole = rules !== undefined && (modelId === undefined) === (model === undefined);
      if (!isWhole || features === undefined || row.body === null) counts.unavailable += 1;
      else if (agrees(row, row.body, features, rules, model)) counts.same += 1;
      else different.push(row.ingestionId);
    }
    after = next;
  } while (after !== undefined);
  return { ...counts, different };
}

function agrees(
  row: JudgedRow,
  body: string,
  features: Features,
  rules: CompiledRuleSet,
  model: Model | undefined,
): boolean {
  const event = JSON.parse(body) as TransactionEvent;
  const { risk } = replay({ ...row, event, features }, rules, model);
  const { decision, evaluatorVersion, level, reasons, ruleScores, score } = row;
  const stored = {
    score,
    level,
    decision,
    reasons,
    rule_scores: ruleScores,
    evaluator_version: evaluatorVersion,
  };
  return isDeepStrictEqual(risk, stored);
}

function featuresOf({ features }: JudgedRow): Features | undefined {
  if (features === null) return undefined;
  try {
    return decodeFeatures(features);
  } catch (error: unknown) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
