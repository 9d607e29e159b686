import { z } from 'zod';
import { ingestionIdOf } from '../../contract/primitives.ts';
import type { Db } from '../../ledger/database.ts';
import { listWorkers } from '../../ledger/evaluation-workers.ts';
import {
  ALL_SITES,
  everReleased,
  listReleases,
  listRuleSets,
  type RuleInForce,
} from '../../ledger/rule-sets.ts';
import { readShadowExamples, readShadowSums } from '../../ledger/rule-shadows.ts';
import { DEFAULT_RULE_SET, type RuleSet } from '../../risk/index.ts';
import { cursorOf, Limit, pageOf, toIso, toPage, UtcInstant } from './fields.ts';
import { viewerProcedure } from './procedures.ts';
import { problemsOfRules } from './rule-content.ts';
import {
  contentOf,
  demandVersion,
  inForceOf,
  InForceOut,
  liveForAll,
  setOf,
  toInForce,
  type InForce,
} from './rule-versions.ts';
import { findScope, ScopeIn } from './scope.ts';

/** A release counts as followed once every worker that is alive goes by it. */
const FollowedOut = z.strictObject({
  workers: z.int().meta({ description: 'Evaluation workers that are alive' }),
  following: z.int().meta({ description: 'Those of them that already go by it' }),
});

const State = z.enum(['DRAFT', 'SHADOW', 'LIVE', 'LIVE_AND_SHADOW', 'RETIRED']);

const RuleSetOut = z.strictObject({
  version: z.int(),
  state: State,
  rules: z.int(),
  content_hash: z.string(),
  comment: z.string(),
  created_by: z.string(),
  created_at: UtcInstant,
  /** Of the release that put it in force; null where it is not. */
  followed: FollowedOut.nullable(),
});

function stateOf(
  version: number,
  { LIVE, SHADOW }: InForce,
  everLive: ReadonlySet<number>,
): z.infer<typeof State> {
  if (version === LIVE?.version) return version === SHADOW?.version ? 'LIVE_AND_SHADOW' : 'LIVE';
  if (version === SHADOW?.version) return 'SHADOW';
  return everLive.has(version) ? 'RETIRED' : 'DRAFT';
}

/** How far the workers have followed the releases that are in force. */
async function followedOf(
  db: Db,
  now: number,
): Promise<(release: RuleInForce) => z.infer<typeof FollowedOut>> {
  const workers = await listWorkers(db, now);
  return ({ releaseId }) => ({
    workers: workers.length,
    following: workers.filter((worker) => worker.releaseId >= releaseId).length,
  });
}

export const list = viewerProcedure
  .input(
    z
      .strictObject({
        site_code: ScopeIn,
        cursor: cursorOf(/^[1-9]\d{0,8}$/).optional(),
        limit: Limit,
      })
      .meta({
        description:
          'Lists the versions of the rules of a Site, or of all Sites, newest first, and how many workers follow them.',
      }),
  )
  .output(pageOf(RuleSetOut))
  .query(async ({ ctx, input }) => {
    const em = ctx.services.orm.em.fork();
    const { siteId } = await findScope(em, input.site_code);
    const db = em.getKysely();
    const before = input.cursor === undefined ? undefined : Number(input.cursor);
    const rows = await listRuleSets(db, siteId, { before, limit: input.limit + 1 });
    const inForce = await inForceOf(db, siteId);
    const everLive = await everReleased(db, siteId, 'LIVE');
    const followed = await followedOf(db, ctx.services.clock.now());
    return toPage(
      rows,
      input.limit,
      (row) => {
        const release = [inForce.LIVE, inForce.SHADOW].find(
          (each) => each?.version === row.version,
        );
        return {
          version: row.version,
          state: stateOf(row.version, inForce, everLive),
          rules: contentOf(row).rules.length,
          content_hash: row.contentHash,
          comment: row.comment,
          created_by: row.createdBy,
          created_at: toIso(row.createdAt),
          followed: release === undefined ? null : followed(release),
        };
      },
      ({ version }) => String(version),
    );
  });

/** Differences of a shadow that are shown. */
const EXAMPLES = 20;

export const get = viewerProcedure
  .input(
    z
      .strictObject({
        site_code: ScopeIn,
        version: z
          .int()
          .min(0)
          .max(2_000_000_000)
          .optional()
          .meta({ description: 'Left out: the live one; 0: what came with the service' }),
      })
      .meta({
        description:
          'Shows one version: its rules, its releases, which workers go by it, and what it said in the shadow.',
      }),
  )
  .output(
    InForceOut.extend({
      version: z.int(),
      content: z.json(),
      content_hash: z.string().nullable(),
      comment: z.string().nullable(),
      created_by: z.string().nullable(),
      problems: z.array(z.string()).meta({ description: 'Why it could not be published now' }),
      live: FollowedOut.nullable(),
      shadow: FollowedOut.nullable(),
      shadow_decisions: z
        .array(z.strictObject({ answered: z.string(), proposed: z.string(), events: z.int() }))
        .meta({ description: 'Events by what was answered and what it would have answered' }),
      shadow_examples: z.array(
        z.strictObject({
          ingestion_id: z.string(),
          answered: z.string(),
          proposed: z.string(),
          answered_score: z.int(),
          proposed_score: z.int(),
        }),
      ),
      releases: z.array(
        z.strictObject({
          kind: z.enum(['PUBLISH', 'ROLLBACK', 'SHADOW', 'STOP_SHADOW']),
          version: z.int(),
          reason: z.string().nullable(),
          released_by: z.string(),
          released_at: UtcInstant,
        }),
      ),
      workers: z.array(
        z.strictObject({
          worker_id: z.string(),
          started_at: UtcInstant,
          seen_at: UtcInstant,
          up_to_date: z
            .boolean()
            .meta({ description: 'Goes by every release of these rules up to now' }),
        }),
      ),
    }),
  )
  .query(async ({ ctx, input }) => {
    const em = ctx.services.orm.em.fork();
    const { siteCode, siteId } = await findScope(em, input.site_code);
    const db = em.getKysely();
    const now = ctx.services.clock.now();
    const inForce = await inForceOf(db, siteId);
    const version = input.version ?? inForce.LIVE?.version ?? 0;
    const stored = version === 0 ? undefined : await demandVersion(db, { siteId }, version);
    const forAll = siteId === ALL_SITES ? undefined : await liveForAll(db);
    const set = stored === undefined ? shippedFor(siteId) : setOf(stored);
    const { id: _id, version: _version, ...content } = set;
    const releases = await listReleases(db, siteId);
    const followed = await followedOf(db, now);
    const examples = await readShadowExamples(db, siteId, version, EXAMPLES);
    return {
      ...toInForce(siteCode, inForce),
      version,
      content: JSON.parse(JSON.stringify(content)) as z.infer<ReturnType<typeof z.json>>,
      content_hash: stored?.contentHash ?? null,
      comment: stored?.comment ?? null,
      created_by: stored?.createdBy ?? null,
      problems: stored === undefined ? [] : problemsOfRules(set, forAll),
      live: inForce.LIVE?.version === version ? followed(inForce.LIVE) : null,
      shadow: inForce.SHADOW?.version === version ? followed(inForce.SHADOW) : null,
      shadow_decisions: await readShadowSums(db, siteId, version),
      shadow_examples: examples.map((example) => ({
        ingestion_id: ingestionIdOf(example.ingestionId),
        answered: example.answered,
        proposed: example.proposed,
        answered_score: example.answeredScore,
        proposed_score: example.proposedScore,
      })),
      releases: releases.map((each) => ({
        kind: each.kind,
        version: each.version,
        reason: each.reason,
        released_by: each.by,
        released_at: toIso(each.at),
      })),
      workers: (await listWorkers(db, now)).map((worker) => ({
        worker_id: worker.id,
        started_at: toIso(worker.startedAt),
        seen_at: toIso(worker.seenAt),
        up_to_date: worker.releaseId >= (releases[0]?.id ?? 0n),
      })),
    };
  });

const shippedFor = (siteId: bigint): RuleSet =>
  siteId === ALL_SITES ? DEFAULT_RULE_SET : { id: 'site', version: 0, rules: [] };
