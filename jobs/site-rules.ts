import { randomUUID } from 'node:crypto';
import type { Clock } from '../ledger/clock.ts';
import type { Db } from '../ledger/database.ts';
import { removeWorker, saveWorker } from '../ledger/evaluation-workers.ts';
import { forgetEntries } from '../ledger/lists.ts';
import { raiseOperatorEvent } from '../ledger/operator-events.ts';
import {
  ALL_SITES,
  readMarks,
  rulesInForce,
  type RuleMarks,
  type RuleRole,
} from '../ledger/rule-sets.ts';
import { recordShadowAnswers } from '../ledger/rule-shadows.ts';
import type { Transaction } from '../ledger/transactions.ts';
import {
  circumstancesOf,
  composeRuleSets,
  judge,
  type Circumstances,
  type CompiledRuleSet,
  type Judgement,
  type RiskEvent,
} from '../risk/index.ts';
import { BlockCaps } from './block-caps.ts';
import type { JudgedEvent } from './evaluate-batch.ts';
import { Loop } from './loop.ts';
import { ListSource, type SiteLists } from './site-lists.ts';
import { keepShippedRules, readRuleSet } from './stored-rules.ts';

/** How old the knowledge of releases and lists may be, ms: both reach every worker within about this. */
const FRESH_MS = 1_000;

/** How often a worker follows, says so, and shares its counts, ms. */
const FOLLOW_MS = 1_000;

/** A worker that follows nothing new says so every so many times. */
const QUIET_BEATS = 4;

/** About once an hour what decides nothing any more is removed. */
const BEATS_TO_FORGET = 3_600;

/** A rule set in the shadow, composed for one Site. */
interface Shadow {
  readonly setSiteId: bigint;
  readonly version: number;
  readonly rules: CompiledRuleSet;
}

/** What judges a Site besides its model. */
interface SiteRules {
  readonly live: CompiledRuleSet;
  readonly shadows: readonly Shadow[];
}

/** A Site's rules for one batch. */
export interface RulesOfBatch {
  readonly rules: CompiledRuleSet;
  /** What else the judgement of an event depends on; asked event by event. */
  circumstances(event: RiskEvent): Circumstances;
  /** Counts a judgement for the events behind it. */
  note(judgement: Judgement): void;
}

/** What rules are read with. */
export interface RuleSourceOptions {
  readonly transaction: Transaction;
  readonly clock: Clock;
  readonly onFault?: (error: unknown) => void;
}

type Versions = Readonly<Partial<Record<RuleRole, number>>>;

/**
 * Knows which rules and lists judge each Site. Releases and lists are looked at once a second at most, and a version is
 * compiled once. While it is started, it tells operators what it follows, and shares the counts of the caps.
 */
export class RuleSource {
  readonly #options: RuleSourceOptions;
  readonly #lists = new ListSource();
  readonly #caps = new BlockCaps();
  readonly #loop: Loop;
  readonly #worker = { id: randomUUID(), startedAt: 0 };
  #marks: RuleMarks = { releaseId: -1n, listVersion: -1n };
  #lookedAt = -Infinity;
  #looking: Promise<void> | undefined;
  #inForce = new Map<bigint, Versions>();
  readonly #sites = new Map<string, Promise<CompiledRuleSet>>();
  #said: RuleMarks | undefined;
  #beats = 0;

  constructor(options: RuleSourceOptions) {
    this.#options = options;
    this.#loop = new Loop({
      everyMs: FOLLOW_MS,
      work: () => this.#beat(),
      onFault: (error) => options.onFault?.(error),
    });
  }

  /** Begins to say what it follows. */
  start(): void {
    this.#worker.startedAt = this.#options.clock.now();
    this.#loop.start();
  }

  /** Says no more; operators see the worker gone. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    if (this.#said !== undefined) {
      // A database that is away forgets the worker by itself.
      await this.#options
        .transaction((db) => removeWorker(db, this.#worker.id))
        .catch(() => undefined);
    }
  }

  /** The rules of a Site for a batch that begins now. @throws what the database throws */
  async of(siteId: bigint): Promise<RulesOfBatch> {
    await this.#refresh();
    const { live } = await this.#rulesOf(siteId);
    const { listVersion } = this.#marks;
    if (this.#lists.isBehind(siteId, listVersion)) {
      await this.#options.transaction((db) => this.#lists.follow(db, siteId, listVersion));
    }
    return this.#batchOf(siteId, live, this.#lists.of(siteId));
  }

  /** Counts results and appends what sets in the shadow would have answered, in the transaction of the results. */
  async record(db: Db, judged: readonly JudgedEvent[], now: number): Promise<void> {
    const sites = new Map<bigint, readonly Shadow[]>();
    for (const siteId of new Set(judged.map(({ row }) => row.siteId))) {
      sites.set(siteId, (await this.#rulesOf(siteId)).shadows);
    }
    const answers = judged.flatMap(({ row, event, features, judgement }) => {
      this.#caps.count(row.siteId, judgement, now);
      const { decision, evaluator_version: version, rule_scores: scores, score } = judgement.risk;
      return (sites.get(row.siteId) ?? []).map(({ setSiteId, rules, version: proposedVersion }) => {
        const { capped: _capped, ...circumstances } = circumstancesOf(scores, version);
        const { risk } = judge(event, features, rules, undefined, circumstances);
        return {
          siteId: row.siteId,
          ingestionId: row.ingestionId,
          setSiteId,
          version: proposedVersion,
          answered: decision,
          proposed: risk.decision,
          answeredScore: score,
          proposedScore: risk.score,
        };
      });
    });
    await recordShadowAnswers(db, answers, now);
  }

  /** Shares what rules have blocked with the other workers; done once a second while it is started. */
  shareCounts(): Promise<void> {
    return this.#caps.share(this.#options.transaction, this.#options.clock.now());
  }

  #batchOf(siteId: bigint, rules: CompiledRuleSet, lists: SiteLists | undefined): RulesOfBatch {
    const now = this.#options.clock.now();
    const caps = this.#caps.begin(siteId, rules.blockCap, now);
    return {
      rules,
      circumstances(event) {
        const capped = caps.capped();
        return lists === undefined
          ? { capped }
          : { capped, listed: lists.listed(event.entities, now), listsVersion: lists.version };
      },
      note: (judgement) => caps.note(judgement),
    };
  }

  async #refresh(): Promise<void> {
    if (performance.now() - this.#lookedAt <= FRESH_MS) return;
    this.#looking ??= this.#look().finally(() => (this.#looking = undefined));
    await this.#looking;
  }

  async #look(): Promise<void> {
    const lookedAt = performance.now();
    const { marks, inForce } = await this.#options.transaction(async (db) => {
      const found = await readMarks(db);
      const isNew = found.releaseId !== this.#marks.releaseId;
      return { marks: found, inForce: isNew ? await rulesInForce(db) : undefined };
    });
    if (inForce !== undefined) {
      const versions = new Map<bigint, Versions>();
      for (const { siteId, role, version } of inForce) {
        versions.set(siteId, { ...versions.get(siteId), [role]: version });
      }
      this.#inForce = versions;
      const used = this.#namesInUse();
      for (const name of this.#sites.keys()) if (!used.has(name)) this.#sites.delete(name);
    }
    this.#marks = marks;
    this.#lookedAt = lookedAt;
  }

  /** What is compiled stays as long as any Site goes by it: versions never change. */
  #namesInUse(): Set<string> {
    const all = this.#inForce.get(ALL_SITES) ?? {};
    const forAll = [all.LIVE ?? 0, ...(all.SHADOW === undefined ? [] : [all.SHADOW])];
    const names = new Set(forAll.map(String));
    for (const [siteId, own] of this.#inForce) {
      if (siteId === ALL_SITES) continue;
      for (const version of [own.LIVE, own.SHADOW]) {
        for (const each of forAll) names.add(nameOf(siteId, each, version ?? 0));
      }
    }
    return names;
  }

  /** Sites with the same versions share what is compiled. */
  async #rulesOf(siteId: bigint): Promise<SiteRules> {
    const all = this.#inForce.get(ALL_SITES) ?? {};
    const own = this.#inForce.get(siteId) ?? {};
    const live = await this.#compiled(siteId, all.LIVE ?? 0, own.LIVE ?? 0);
    const shadows: Shadow[] = [];
    if (all.SHADOW !== undefined) {
      const rules = await this.#compiled(siteId, all.SHADOW, own.LIVE ?? 0);
      shadows.push({ setSiteId: ALL_SITES, version: all.SHADOW, rules });
    }
    if (own.SHADOW !== undefined) {
      const rules = await this.#compiled(siteId, all.LIVE ?? 0, own.SHADOW);
      shadows.push({ setSiteId: siteId, version: own.SHADOW, rules });
    }
    return { live, shadows };
  }

  #compiled(siteId: bigint, all: number, own: number): Promise<CompiledRuleSet> {
    const name = nameOf(siteId, all, own);
    const sites = this.#sites;
    let compiled = sites.get(name);
    if (compiled === undefined) {
      compiled = this.#compile(siteId, all, own);
      sites.set(name, compiled);
      compiled.catch(() => sites.delete(name));
    }
    return compiled;
  }

  #compile(siteId: bigint, all: number, own: number): Promise<CompiledRuleSet> {
    const { clock, transaction } = this.#options;
    return transaction(async (db) => {
      const forAll = await readRuleSet(db, ALL_SITES, all);
      if (forAll === undefined) throw new RangeError('There are no rules for all Sites.');
      const rules = composeRuleSets(forAll, await readRuleSet(db, siteId, own));
      if (rules.problems.length > 0) {
        // They were sound when they were saved: a feature that they read is gone.
        await raiseOperatorEvent(db, {
          siteId: own === 0 ? ALL_SITES : siteId,
          kind: 'rules_unusable',
          subject: rules.name,
          detail: { rules: [...new Set(rules.problems.map(({ rule }) => rule))] },
          at: clock.now(),
        });
      }
      return rules;
    });
  }

  async #beat(): Promise<void> {
    const { clock, transaction } = this.#options;
    await this.#refresh();
    const marks = this.#marks;
    const isNew =
      marks.releaseId !== this.#said?.releaseId || marks.listVersion !== this.#said.listVersion;
    if (isNew || this.#beats % QUIET_BEATS === 0) {
      await transaction(async (db) => {
        if (this.#said === undefined) await keepShippedRules(db, clock.now());
        await saveWorker(db, { ...this.#worker, ...marks }, clock.now());
        if (this.#beats % BEATS_TO_FORGET === 0) {
          await this.#caps.forget(db, clock.now());
          await forgetEntries(db, clock.now());
        }
      });
      this.#said = marks;
    }
    this.#beats += 1;
    await this.shareCounts();
  }
}

/** Names what is composed of a version for all Sites and one of a Site. */
const nameOf = (siteId: bigint, all: number, own: number): string =>
  own === 0 ? String(all) : `${all}/${siteId}/${own}`;
