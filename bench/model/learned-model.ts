import { insertModel, readForest, releaseModel } from '../../ledger/models.ts';
import { createPipelinedTransactions } from '../../ledger/transactions.ts';
import { decodeModel, FEATURES_VERSION } from '../../risk/index.ts';
import { modelHash } from '../../risk/model/model.ts';
import type { BenchDatabase } from '../cluster.ts';
import type { LoadCredential } from '../load/protocol.ts';
import { importPast } from './import-past.ts';
import { trainSite } from './train.ts';

const DAY_MS = 86_400_000;

/** Days that a Site's model learns from, and days that their labels take. */
const HISTORY_DAYS = 28;
const LABEL_DELAY_DAYS = 7;

/** A model that was learned, at hand for other databases. */
export interface LearnedModel {
  /** As the ledger stores it. */
  readonly text: string;
  readonly trees: number;
  readonly nodes: number;
  /** Different features that its trees ask for. */
  readonly features: number;
  readonly rows: number;
  readonly frauds: number;
  readonly averagePrecision: number;
}

/** What a training's result says of its model. */
interface TrainingResult {
  readonly model_id: string | null;
  readonly reason?: string;
  readonly metrics?: {
    readonly rows: number;
    readonly frauds: number;
    readonly average_precision: number;
  };
}

/** The days that a model ordered now learns from, ms since 1970 UTC. */
export function learnedDays(now: number): { readonly from: number; readonly to: number } {
  const to = now - LABEL_DELAY_DAYS * DAY_MS;
  return { from: to - HISTORY_DAYS * DAY_MS, to };
}

/** Learns a model by the service's own trainer from a labelled past of so many payments. */
export async function learnModel(
  database: BenchDatabase,
  credential: LoadCredential,
  payments: number,
  tell: (line: string) => void,
): Promise<LearnedModel> {
  const now = Date.now();
  let told = 0;
  const past = { seed: 7, payments, ...learnedDays(now), until: now };
  await importPast(database, credential, past, (events) => {
    if (events - told < 20_000) return;
    told = events;
    tell(`past for the model: ${events} events`);
  });
  const siteId = BigInt(credential.siteId);
  const result = (await trainSite({
    appUrl: database.appUrl,
    siteId,
    clock: { now: () => now },
    onTraining: () => undefined,
  })) as unknown as TrainingResult;
  const { model_id: id, metrics } = result;
  if (id === null || metrics === undefined)
    throw new Error(result.reason ?? 'no model was learned');
  const text = await onDatabase(database, (transaction) =>
    transaction((db) => readForest(db, siteId, BigInt(id))),
  );
  const { forest } = decodeModel(id, text ?? '');
  return {
    text: text ?? '',
    trees: forest.roots.length,
    nodes: forest.features.length,
    features: new Set(forest.features.filter((feature) => feature >= 0)).size,
    rows: metrics.rows,
    frauds: metrics.frauds,
    averagePrecision: metrics.average_precision,
  };
}

/** Stores a model for each of the Sites and releases it there: what `models.publish` writes. */
export async function publishForAll(
  database: BenchDatabase,
  siteIds: readonly string[],
  { text }: LearnedModel,
): Promise<void> {
  const at = Date.now();
  await onDatabase(database, (transaction) =>
    transaction(async (db) => {
      for (const siteId of siteIds.map(BigInt)) {
        const modelId = await insertModel(db, {
          siteId,
          featuresVersion: FEATURES_VERSION,
          settings: {},
          metrics: {},
          forest: text,
          contentHash: modelHash(text),
          by: 'bench',
          at,
        });
        await releaseModel(db, {
          siteId,
          role: 'LIVE',
          modelId,
          kind: 'PUBLISH',
          by: 'bench',
          at,
        });
      }
    }),
  );
}

async function onDatabase<Result>(
  { appUrl }: BenchDatabase,
  work: (
    transaction: ReturnType<typeof createPipelinedTransactions>['transaction'],
  ) => Promise<Result>,
): Promise<Result> {
  const pipelined = createPipelinedTransactions({
    url: appUrl,
    poolSize: 1,
    applicationName: 'bench',
    statementTimeoutMs: 60_000,
  });
  try {
    return await work(pipelined.transaction);
  } finally {
    await pipelined.close();
  }
}
