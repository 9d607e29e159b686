import type { Clock } from '../ledger/clock.ts';
import type { Db } from '../ledger/database.ts';
import {
  latestRelease,
  modelsInForce,
  readForest,
  recordShadowScores,
  type ModelRole,
} from '../ledger/models.ts';
import { raiseOperatorEvent } from '../ledger/operator-events.ts';
import type { Transaction } from '../ledger/transactions.ts';
import { decodeModel, MODEL_PROBABILITY, probabilityOf, type Model } from '../risk/index.ts';
import type { JudgedEvent } from './evaluate-batch.ts';

/** How old the knowledge of releases may be, ms: a release reaches every worker within about this. */
const FRESH_MS = 1_000;

/** The models of one Site that are in force. */
export interface SiteModels {
  readonly live: Model | undefined;
  readonly shadow: Model | undefined;
}

const NONE: SiteModels = { live: undefined, shadow: undefined };

/** What the models are read with. */
export interface SiteModelsOptions {
  readonly transaction: Transaction;
  readonly clock: Clock;
}

/**
 * Knows which models judge each Site. Releases are looked at once a second at most, and a model is read once. A model
 * that cannot be used (it was learned from other features) is told to operators once, and the Site is judged by rules
 * alone.
 */
export class ModelSource {
  readonly #options: SiteModelsOptions;
  #release: bigint | undefined;
  #lookedAt = -Infinity;
  #looking: Promise<void> | undefined;
  #inForce = new Map<bigint, Partial<Record<ModelRole, bigint>>>();
  #models = new Map<string, Promise<Model | undefined>>();

  constructor(options: SiteModelsOptions) {
    this.#options = options;
  }

  /** The models of a Site now. @throws what the database throws */
  async of(siteId: bigint): Promise<SiteModels> {
    if (performance.now() - this.#lookedAt > FRESH_MS) {
      this.#looking ??= this.#look().finally(() => (this.#looking = undefined));
      await this.#looking;
    }
    const ids = this.#inForce.get(siteId);
    if (ids === undefined) return NONE;
    const [live, shadow] = await Promise.all([
      this.#model(siteId, ids.LIVE),
      this.#model(siteId, ids.SHADOW),
    ]);
    return { live, shadow };
  }

  /**
   * Appends what models in the shadow say of events just judged, in the transaction of their results. Sent as one
   * statement; Sites without a shadow cost nothing.
   */
  async recordShadows(db: Db, judged: readonly JudgedEvent[], now: number): Promise<void> {
    const sites = new Map<bigint, SiteModels>();
    for (const siteId of new Set(judged.map(({ row }) => row.siteId))) {
      if (this.#inForce.get(siteId)?.SHADOW === undefined) continue;
      sites.set(siteId, await this.of(siteId));
    }
    if (sites.size === 0) return;
    const scores = judged.flatMap(({ row, event, features, judgement }) => {
      const shadow = sites.get(row.siteId)?.shadow;
      if (shadow === undefined || !event.facts.is_payment) return [];
      return [
        {
          siteId: row.siteId,
          ingestionId: row.ingestionId,
          modelId: BigInt(shadow.id),
          probability: probabilityOf(shadow, features),
          liveProbability: judgement.risk.rule_scores[MODEL_PROBABILITY] ?? null,
        },
      ];
    });
    await recordShadowScores(db, scores, now);
  }

  async #look(): Promise<void> {
    const lookedAt = performance.now();
    const { release, inForce } = await this.#options.transaction(async (db) => {
      const latest = await latestRelease(db);
      return {
        release: latest,
        inForce: latest === this.#release ? undefined : await modelsInForce(db),
      };
    });
    if (inForce !== undefined) {
      const sites = new Map<bigint, Partial<Record<ModelRole, bigint>>>();
      for (const { siteId, role, modelId } of inForce) {
        sites.set(siteId, { ...sites.get(siteId), [role]: modelId });
      }
      this.#inForce = sites;
      const used = new Set(inForce.map(({ siteId, modelId }) => `${siteId}/${modelId}`));
      for (const name of this.#models.keys()) if (!used.has(name)) this.#models.delete(name);
    }
    this.#release = release;
    this.#lookedAt = lookedAt;
  }

  #model(siteId: bigint, id: bigint | undefined): Promise<Model | undefined> {
    if (id === undefined) return Promise.resolve(undefined);
    const name = `${siteId}/${id}`;
    let model = this.#models.get(name);
    if (model === undefined) {
      model = this.#read(siteId, id);
      this.#models.set(name, model);
      // A failed read is tried again, a model that cannot be used is not.
      model.catch(() => this.#models.delete(name));
    }
    return model;
  }

  #read(siteId: bigint, id: bigint): Promise<Model | undefined> {
    const { clock, transaction } = this.#options;
    return transaction(async (db) => {
      const text = await readForest(db, siteId, id);
      try {
        return text === undefined ? undefined : decodeModel(String(id), text);
      } catch (error: unknown) {
        if (!(error instanceof RangeError || error instanceof SyntaxError)) throw error;
        await raiseOperatorEvent(db, {
          siteId,
          kind: 'model_unusable',
          subject: `model ${id}`,
          detail: { reason: error.message, instead: 'the rules alone' },
          at: clock.now(),
        });
        return undefined;
      }
    });
  }
}
