import { z } from 'zod';
import type { TransactionEvent } from '../contract/transaction.ts';
import { ingestionIdOf } from '../contract/primitives.ts';
import type { Db } from '../ledger/database.ts';
import {
  countJudged,
  readJudged,
  type JudgedPage,
  type JudgedRow,
} from '../ledger/judged-events.ts';
import type { LedgerPlace } from '../ledger/ledger-place.ts';
import { ALL_SITES, rulesInForce } from '../ledger/rule-sets.ts';
import {
  circumstancesOf,
  composeRuleSets,
  decodeFeatures,
  EventFacts,
  judge,
  type CompiledRuleSet,
  type Features,
  type Judgement,
} from '../risk/index.ts';
import { readRuleSet } from './stored-rules.ts';
import { TaskRefused, type TaskHandler } from './tasks.ts';

/** Events judged between two looks at anything else: some 20 ms of the process's thread. */
const SLICE = 250;

/** Examples of each change of a decision. */
const EXAMPLES = 5;

const Input = z.strictObject({
  all_sites: z.boolean(),
  version: z.int(),
  from: z.number(),
  to: z.number(),
});

const Verdicts = z.object({ events: z.number(), fraud: z.number(), false_positive: z.number() });
type Verdicts = z.infer<typeof Verdicts>;

const Example = z.object({
  ingestion_id: z.string(),
  answered: z.string(),
  proposed: z.string(),
  answered_score: z.number(),
  proposed_score: z.number(),
  label: z.enum(['fraud', 'false positive']).nullable(),
});

/** What has been counted so far; kept with the task, so that a start after a crash goes on from it. */
const Sums = z.object({
  skipped: z.number(),
  all: Verdicts,
  /** By `answered proposed`. */
  decisions: z.record(z.string(), Verdicts),
  rules: z.record(z.string(), Verdicts),
  /** Amounts in minor units, by `currency answered proposed`, where the decision changes. */
  amounts: z.record(z.string(), z.number()),
  examples: z.record(z.string(), z.array(Example)),
});
type Sums = z.infer<typeof Sums>;

const Position = z.object({
  after: z.object({ received_at: z.string(), id: z.string() }),
  sums: Sums,
});

const none = (): Verdicts => ({ events: 0, fraud: 0, false_positive: 0 });

/**
 * The task `rules.backtest`: judges the stored events of a period again by a version of the rules, from the features
 * they were judged by, and counts what would have been different. It changes nothing. What judged besides these rules,
 * lists and the model, is taken as it was then; caps are not applied.
 */
export const backtestTask: TaskHandler = async (task, { progress, signal, transaction }) => {
  const { all_sites: allSites, version, ...wanted } = Input.parse(task.input);
  const period = { siteId: task.siteId, ...wanted };
  const candidate = await transaction((db) => compose(db, task.siteId, allSites, version));
  const known = Position.safeParse(task.position);
  let after: LedgerPlace | undefined = known.success
    ? { receivedAt: known.data.after.received_at, id: BigInt(known.data.after.id) }
    : undefined;
  const sums: Sums = known.success
    ? known.data.sums
    : { skipped: 0, all: none(), decisions: {}, rules: {}, amounts: {}, examples: {} };
  if (!known.success) {
    const total = await transaction((db) => countJudged(db, period));
    await progress({ total });
  }
  do {
    signal.throwIfAborted();
    const { next, rows }: JudgedPage = await transaction((db) =>
      readJudged(db, period, SLICE, after),
    );
    for (const row of rows) count(sums, row, candidate);
    const done = sums.all.events + sums.skipped;
    // After a crash behind the last page that page is read and counted once more, onto the sums from before it.
    await progress(
      next === undefined
        ? { done }
        : {
            done,
            position: { after: { received_at: next.receivedAt, id: String(next.id) }, sums },
          },
    );
    after = next;
  } while (after !== undefined);
  return reportOf(sums, candidate);
};

/** The version in the place of what is live in its scope. @throws TaskRefused where it is gone */
async function compose(
  db: Db,
  siteId: bigint,
  allSites: boolean,
  version: number,
): Promise<CompiledRuleSet> {
  const live = async (scope: bigint): Promise<number> =>
    (await rulesInForce(db, scope)).find(({ role }) => role === 'LIVE')?.version ?? 0;
  const forAll = await readRuleSet(db, ALL_SITES, allSites ? version : await live(ALL_SITES));
  const own = await readRuleSet(db, siteId, allSites ? await live(siteId) : version);
  if (forAll === undefined) throw new TaskRefused('There are no rules for all Sites.');
  return composeRuleSets(forAll, own);
}

function count(sums: Sums, row: JudgedRow, rules: CompiledRuleSet): void {
  const judgement = judgeAgain(row, rules);
  if (judgement === undefined) {
    sums.skipped += 1;
    return;
  }
  const { decision: proposed, score } = judgement.risk;
  const change = `${row.decision} ${proposed}`;
  add(sums.all, row);
  add((sums.decisions[change] ??= none()), row);
  for (const [index, answer] of judgement.answers.entries()) {
    const id = rules.rules[index]?.rule.id;
    if (answer === 'HIT' && id !== undefined) add((sums.rules[id] ??= none()), row);
  }
  if (row.decision === proposed) return;
  const money = `${row.currency} ${change}`;
  sums.amounts[money] = (sums.amounts[money] ?? 0) + row.amountMinor;
  const examples = (sums.examples[change] ??= []);
  if (examples.length >= EXAMPLES) return;
  examples.push({
    ingestion_id: ingestionIdOf(row.ingestionId),
    answered: row.decision,
    proposed,
    answered_score: row.score,
    proposed_score: score,
    label: row.isFraud === null ? null : row.isFraud ? 'fraud' : 'false positive',
  });
}

/** Undefined where features or body were dropped, or another version of the features was stored. */
function judgeAgain(row: JudgedRow, rules: CompiledRuleSet): Judgement | undefined {
  if (row.body === null || row.features === null) return undefined;
  let features: Features;
  try {
    features = decodeFeatures(row.features);
  } catch (error: unknown) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
  const { capped: _capped, ...then } = circumstancesOf(row.ruleScores, row.evaluatorVersion);
  // Validated when it was accepted, and stored by us.
  const facts = new EventFacts(JSON.parse(row.body) as TransactionEvent, row.at);
  return judge({ facts }, features, rules, undefined, then);
}

function add(verdicts: Verdicts, { isFraud }: JudgedRow): void {
  verdicts.events += 1;
  if (isFraud === true) verdicts.fraud += 1;
  if (isFraud === false) verdicts.false_positive += 1;
}

const STOPPED = new Set(['HOLD_RECOMMENDED', 'BLOCK_RECOMMENDED']);
const FLAGGED = new Set(['REVIEW', ...STOPPED]);
const BLOCKED = new Set(['BLOCK_RECOMMENDED']);

const share = (part: number, whole: number): number | null => (whole === 0 ? null : part / whole);

function reportOf(sums: Sums, rules: CompiledRuleSet) {
  const changes = Object.entries(sums.decisions).map(([change, verdicts]) => {
    const [answered = '', proposed = ''] = change.split(' ');
    return { answered, proposed, ...verdicts };
  });
  const quality = (of: 'answered' | 'proposed', decisions: ReadonlySet<string>) => {
    const verdicts = none();
    for (const each of changes.filter((change) => decisions.has(change[of]))) {
      verdicts.events += each.events;
      verdicts.fraud += each.fraud;
      verdicts.false_positive += each.false_positive;
    }
    return {
      ...verdicts,
      // Of what has a label.
      precision: share(verdicts.fraud, verdicts.fraud + verdicts.false_positive),
      recall: share(verdicts.fraud, sums.all.fraud),
    };
  };
  const compared = (decisions: ReadonlySet<string>) => ({
    answered: quality('answered', decisions),
    proposed: quality('proposed', decisions),
  });
  return {
    rules: rules.name,
    ...sums.all,
    skipped: sums.skipped,
    changed: changes
      .filter(({ answered, proposed }) => answered !== proposed)
      .reduce((sum, { events }) => sum + events, 0),
    decisions: changes,
    flagged: compared(FLAGGED),
    stopped: compared(STOPPED),
    blocked: compared(BLOCKED),
    hits: Object.entries(sums.rules)
      .map(([rule, verdicts]) => ({
        rule,
        ...verdicts,
        precision: share(verdicts.fraud, verdicts.fraud + verdicts.false_positive),
        recall: share(verdicts.fraud, sums.all.fraud),
      }))
      .toSorted((a, b) => b.events - a.events || (a.rule < b.rule ? -1 : 1)),
    amounts_changed: Object.entries(sums.amounts).map(([money, amountMinor]) => {
      const [currency = '', answered = '', proposed = ''] = money.split(' ');
      return { currency, answered, proposed, amount_minor: amountMinor };
    }),
    examples: Object.values(sums.examples).flat(),
  };
}
