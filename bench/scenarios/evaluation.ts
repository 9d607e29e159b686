import { withClient, type BenchDatabase } from '../cluster.ts';
import { learnModel, publishForAll, type LearnedModel } from '../model/learned-model.ts';
import { shown, withSpread, ratio } from '../report.ts';
import { median } from '../statistics.ts';
import { drainBacklog, prepareBacklog, type Drain } from './backlog.ts';
import { withDatabase, type Bench, type Scenario } from './scenario.ts';

/** Payments that the model of the bench is learned from. */
const PAYMENTS = 100_000;
const QUICK_PAYMENTS = 12_000;

/** What judges beside the rules, and how its rounds went. */
interface JudgedBy {
  readonly name: string;
  readonly model: LearnedModel | undefined;
  readonly rounds: Drain[];
  /** Payments that were judged, and those of them with a probability by the live model. */
  payments: number;
  withProbability: number;
}

/** How fast one worker process drains a backlog when nothing else runs: by the rules alone, and with a live model. */
export const evaluation: Scenario = async (bench) => {
  const { rounds, quick } = bench.options;
  const [first] = bench.cluster.credentials;
  if (first === undefined) throw new Error('The bench has no credential.');
  const model = await withDatabase(bench, (database) =>
    learnModel(database, first, quick ? QUICK_PAYMENTS : PAYMENTS, bench.tell),
  );
  bench.tell(`model: ${model.trees} trees, ${model.features} features`);
  const alone = judgedBy('service, ROLE=worker, rules alone');
  const live = judgedBy('service, ROLE=worker, a live model', model);
  for (let round = 1; round <= rounds; round += 1) {
    for (const way of round % 2 === 1 ? [alone, live] : [live, alone]) {
      const drain = await withDatabase(bench, (database) => drainJudged(bench, database, way));
      way.rounds.push(drain);
      bench.tell(`round ${round}/${rounds}  ${way.name}: ${Math.round(drain.perSecond)}/s`);
    }
  }
  return [
    {
      title: 'Evaluation of a prepared backlog, one worker process, nothing else running',
      head: [
        'way',
        'events/s, median (range)',
        'events per round',
        'worker CPU s/1000',
        'database CPU s/1000',
        'worker RSS MB',
        'payments judged',
        'by the model too',
        'other CPU, cores',
      ],
      rows: [alone, live].map(rowOf),
      notes: [
        `With the model to without: ${ratio(rateOf(live), rateOf(alone))}; worker CPU ${ratio(workerCpuOf(live), workerCpuOf(alone))}.`,
        `The model was learned in this run by the service's own trainer, from ${shown(model.rows)} payments with ${shown(model.frauds)} frauds that its history import had judged: ${model.trees} trees of ${shown(model.nodes)} nodes that ask for ${model.features} features, average precision ${shown(model.averagePrecision, 2)} on its validation. Each of the ${bench.cluster.sites} Sites has it as a model of its own.`,
        'Payments judged and those with a model_probability of the live model are counted in the database after each round, all rounds together; other events (captures, refunds, profiles) no model judges.',
        'Measured from the first results to the last, so without the start of the process; its compilers warm up meanwhile.',
      ],
    },
  ];
};

const judgedBy = (name: string, model?: LearnedModel): JudgedBy => ({
  name,
  model,
  rounds: [],
  payments: 0,
  withProbability: 0,
});

const rateOf = ({ rounds }: JudgedBy): number => median(rounds.map(({ perSecond }) => perSecond));
const workerCpuOf = ({ rounds }: JudgedBy): number =>
  median(rounds.map(({ workerCpu }) => workerCpu));

/** @throws Error where a payment was not judged by what it should have been judged by */
async function drainJudged(bench: Bench, database: BenchDatabase, way: JudgedBy): Promise<Drain> {
  const { quick, seconds } = bench.options;
  if (way.model !== undefined) {
    const sites = new Set(bench.cluster.credentials.map(({ siteId }) => siteId));
    await publishForAll(database, [...sites], way.model);
  }
  const drain = await drainBacklog(
    bench,
    database,
    await prepareBacklog(bench, database, quick ? 1 : seconds),
  );
  const { payments, withProbability } = await countJudged(database);
  if (withProbability !== (way.model === undefined ? 0 : payments)) {
    throw new Error(`${withProbability} of ${payments} payments were judged by a model.`);
  }
  way.payments += payments;
  way.withProbability += withProbability;
  return drain;
}

/** Evaluated payments, and those of them whose result names a live model and holds its probability. */
async function countJudged(
  database: BenchDatabase,
): Promise<{ payments: number; withProbability: number }> {
  return withClient(database.ownerUrl, async (owner) => {
    const { rows } = await owner.query<{ payments: number; with_probability: number }>(
      `select count(*)::int as payments,
         count(*) filter (where result.rule_scores ? 'model_probability'
           and result.evaluator_version not like '%model.none')::int as with_probability
       from ingestion event
       join evaluation result on result.site_id = event.site_id and result.ingestion_id = event.id
       where event.event_type = 'PAYMENT_AUTH'`,
    );
    return {
      payments: rows[0]?.payments ?? 0,
      withProbability: rows[0]?.with_probability ?? 0,
    };
  });
}

function rowOf({ name, rounds, payments, withProbability }: JudgedBy): string[] {
  const middle = (of: (drain: Drain) => number): number => median(rounds.map(of));
  return [
    name,
    withSpread(rounds.map(({ perSecond }) => perSecond)),
    shown(middle(({ evaluated }) => evaluated)),
    shown(
      middle(({ workerCpu }) => workerCpu),
      3,
    ),
    shown(
      middle(({ databaseCpu }) => databaseCpu),
      3,
    ),
    shown(Math.max(...rounds.map(({ residentMegabytes }) => residentMegabytes))),
    shown(payments),
    shown(withProbability),
    shown(
      middle(({ otherCores }) => otherCores),
      2,
    ),
  ];
}
