import { TRPCError } from '@trpc/server';
import { z } from 'zod';
import type { Db } from '../../ledger/database.ts';
import { readObjectives } from '../../ledger/reports/objectives.ts';
import {
  readBacklog,
  readHours,
  readSites,
  type Activity,
  type Backlog,
} from '../../ledger/reports/overview.ts';
import type { ReportPeriod } from '../../ledger/reports/period.ts';
import { readCohorts, readRuleDays, readScores } from '../../ledger/reports/quality.ts';
import { forgetSums, readProgress } from '../../ledger/reports/roll-up.ts';
import { bandOf } from '../../risk/decision.ts';
import { router } from '../procedure.ts';
import { SiteCode, UtcInstant, instantField, instantMs, statement } from './fields.ts';
import { toIso, toIsoOrNull } from './fields.ts';
import { findSite } from './find-site.ts';
import { mutate, type AdminContext } from './mutate.ts';
import { administratorProcedure, viewerProcedure } from './procedures.ts';
import { COHORTS, ratio, ruleQuality } from './rule-quality.ts';
import { objectivesOf, ObjectivesOut } from './objectives.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** The longest period of the hourly report, ms: what it reads grows with the hours and the Sites. */
const LONGEST_OVERVIEW_MS = 31 * DAY_MS;
const LONGEST_DAILY_MS = 400 * DAY_MS;

const Count = z.int().min(0);
const Ratio = z.number().min(0).max(1).nullable();

const Site = SiteCode.optional().meta({ description: 'The Site; the whole service when left out' });
const From = (fallback: string) => instantField(`First instant; ${fallback} when left out`);
const To = instantField('First instant no longer in it; now when left out').optional();

const completeTo = { complete_to: UtcInstant.nullable() };

const ActivityOut = {
  accepted: Count,
  evaluated: Count,
  allow: Count,
  review: Count,
  hold: Count,
  block: Count,
  failed_attempts: Count,
  dead_letters: Count,
  refused_requests: Count,
  failed_requests: Count,
};

const BacklogOut = z.strictObject({
  waiting: Count,
  running: Count,
  retrying: Count,
  overdue: Count,
  oldest_queued_at: UtcInstant.nullable(),
  counted_at: UtcInstant.nullable(),
});

const toActivity = (row: Activity) => ({
  accepted: row.accepted,
  evaluated: row.evaluated,
  allow: row.allowed,
  review: row.reviewed,
  hold: row.held,
  block: row.blocked,
  failed_attempts: row.failedAttempts,
  dead_letters: row.deadLetters,
  refused_requests: row.refused,
  failed_requests: row.failed,
});

const toBacklog = (backlog: Backlog): z.infer<typeof BacklogOut> => ({
  waiting: backlog.waiting,
  running: backlog.running,
  retrying: backlog.retrying,
  overdue: backlog.overdue,
  oldest_queued_at: toIsoOrNull(backlog.oldestAt),
  counted_at: backlog.countedAt === 0 ? null : toIso(backlog.countedAt),
});

interface PeriodInput {
  readonly site_code?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/**
 * The Site, and a period cut at whole hours or days so that it means whole sums. It lies between 1970 and the present:
 * there are no sums elsewhere, and far years would be more than the database can hold.
 *
 * @throws TRPCError
 */
async function periodOf(
  { services }: Pick<AdminContext, 'services'>,
  input: PeriodInput,
  unit: { readonly ms: number; readonly fallbackMs: number; readonly longestMs: number },
): Promise<ReportPeriod & { readonly db: Db }> {
  const em = services.orm.em.fork();
  const site = input.site_code === undefined ? undefined : await findSite(em, input.site_code);
  // The present hour or day belongs to it, also in its very first millisecond.
  const present = services.clock.now() + 1;
  const end = input.to === undefined ? present : Math.min(instantMs(input.to), present);
  const to = Math.ceil(end / unit.ms) * unit.ms;
  const begin = input.from === undefined ? to - unit.fallbackMs : instantMs(input.from);
  const from = Math.max(Math.floor(begin / unit.ms) * unit.ms, 0);
  if (from >= to) {
    throw new TRPCError({
      code: 'BAD_REQUEST',
      message: 'from must be before to, and both between 1970 and now.',
    });
  }
  if (to - from > unit.longestMs) {
    throw new TRPCError({
      code: 'BAD_REQUEST',
      message: `The period must not be longer than ${unit.longestMs / DAY_MS} days; ask for a part of it.`,
    });
  }
  return { siteId: site?.id, from, to, db: em.getKysely() };
}

const hourly = { ms: HOUR_MS, fallbackMs: DAY_MS, longestMs: LONGEST_OVERVIEW_MS };
const daily = { ms: DAY_MS, fallbackMs: 30 * DAY_MS, longestMs: LONGEST_DAILY_MS };

const readCompleteTo = async (db: Db): Promise<string | null> =>
  toIsoOrNull((await readProgress(db)) ?? null);

const overview = viewerProcedure
  .input(
    z
      .strictObject({
        site_code: Site,
        from: From('24 hours before the end').optional(),
        to: To,
        sites: z
          .int()
          .min(0)
          .max(500)
          .default(20)
          .meta({ description: 'How many Sites to list, those with most events first' }),
      })
      .meta({
        description: 'Shows traffic, decisions, backlog and errors by Site and hour (UTC).',
      }),
  )
  .output(
    z.strictObject({
      from: UtcInstant,
      to: UtcInstant,
      ...completeTo,
      backlog: BacklogOut,
      totals: z.strictObject(ActivityOut),
      sites: z.array(z.strictObject({ site_code: SiteCode, ...ActivityOut, backlog: Count })),
      hours: z.array(z.strictObject({ hour: UtcInstant, ...ActivityOut })),
    }),
  )
  .query(async ({ ctx, input }) => {
    const { db, ...period } = await periodOf(ctx, input, hourly);
    const [hours, sites, backlog, complete] = await Promise.all([
      readHours(db, period),
      // One Site needs no list of Sites.
      input.site_code === undefined ? readSites(db, period, input.sites) : [],
      readBacklog(db, period.siteId),
      readCompleteTo(db),
    ]);
    const rows = hours.map(({ hour, ...activity }) => ({
      hour: toIso(hour),
      ...toActivity(activity),
    }));
    return {
      from: toIso(period.from),
      to: toIso(period.to),
      complete_to: complete,
      backlog: toBacklog(backlog),
      totals: totalOf(rows),
      sites: sites.map(({ siteCode, backlog: waiting, ...activity }) => ({
        site_code: siteCode,
        ...toActivity(activity),
        backlog: waiting,
      })),
      hours: rows,
    };
  });

function totalOf(rows: readonly ReturnType<typeof toActivity>[]): ReturnType<typeof toActivity> {
  const total = {
    accepted: 0,
    evaluated: 0,
    allow: 0,
    review: 0,
    hold: 0,
    block: 0,
    failed_attempts: 0,
    dead_letters: 0,
    refused_requests: 0,
    failed_requests: 0,
  };
  for (const row of rows) {
    for (const name of Object.keys(total) as (keyof typeof total)[]) total[name] += row[name];
  }
  return total;
}

const LabelCounts = { fraud: Count, false_positive: Count };
const QualityOut = { hits: Count, ...LabelCounts, precision: Ratio, recall: Ratio };

const rule_quality = viewerProcedure
  .input(
    z
      .strictObject({ site_code: Site, from: From('30 days before the end').optional(), to: To })
      .meta({
        description:
          'Shows how often each rule hit, and its precision and recall by labels and age.',
      }),
  )
  .output(
    z.strictObject({
      from: UtcInstant,
      to: UtcInstant,
      ...completeTo,
      cohorts: z.array(
        z.strictObject({ age: z.enum(COHORTS), events: Count, ...LabelCounts, labelled: Ratio }),
      ),
      rules: z.array(z.strictObject({ rule_id: z.string(), ...QualityOut })),
      rules_by_age: z.array(
        z.strictObject({ rule_id: z.string(), age: z.enum(COHORTS), ...QualityOut }),
      ),
    }),
  )
  .query(async ({ ctx, input }) => {
    const { db, ...period } = await periodOf(ctx, input, daily);
    const [cohorts, rules, complete] = await Promise.all([
      readCohorts(db, period),
      readRuleDays(db, period),
      readCompleteTo(db),
    ]);
    return {
      from: toIso(period.from),
      to: toIso(period.to),
      complete_to: complete,
      ...ruleQuality(cohorts, rules, ctx.services.clock.now()),
    };
  });

const score_distribution = viewerProcedure
  .input(
    z
      .strictObject({
        site_code: Site,
        from: From('30 days before the end').optional(),
        to: To,
        width: z
          .union([z.literal(1), z.literal(5), z.literal(10)])
          .default(5)
          .meta({ description: 'Scores of one row: 1, 5 or 10' }),
      })
      .meta({ description: 'Shows how many events had which score, and how many were fraud.' }),
  )
  .output(
    z.strictObject({
      from: UtcInstant,
      to: UtcInstant,
      ...completeTo,
      events: Count,
      scores: z.array(
        z.strictObject({
          from_score: z.int(),
          to_score: z.int(),
          level: z.enum(['low', 'medium', 'high', 'critical']),
          events: Count,
          share: Ratio,
          ...LabelCounts,
        }),
      ),
    }),
  )
  .query(async ({ ctx, input }) => {
    const { db, ...period } = await periodOf(ctx, input, daily);
    const [scores, complete] = await Promise.all([readScores(db, period), readCompleteTo(db)]);
    const events = scores.reduce((total, row) => total + row.events, 0);
    const buckets = Array.from({ length: Math.ceil(100 / input.width) }, (_, index) => {
      const fromScore = index * input.width;
      // 100 belongs to the last bucket, as the closed end of the scale.
      const toScore = fromScore + input.width >= 100 ? 100 : fromScore + input.width - 1;
      const inside = scores.filter(({ score }) => score >= fromScore && score <= toScore);
      const sum = (value: (row: (typeof scores)[number]) => number): number =>
        inside.reduce((total, row) => total + value(row), 0);
      return {
        from_score: fromScore,
        to_score: toScore,
        level: bandOf(fromScore).level,
        events: sum((row) => row.events),
        share: ratio(
          sum((row) => row.events),
          events,
        ),
        fraud: sum((row) => row.fraud),
        false_positive: sum((row) => row.falsePositive),
      };
    });
    return {
      from: toIso(period.from),
      to: toIso(period.to),
      complete_to: complete,
      events,
      scores: buckets,
    };
  });

const slo = viewerProcedure
  .input(
    z
      .strictObject({
        site_code: Site,
        month: z
          .string()
          .regex(/^\d{4}-(0[1-9]|1[0-2])$/, { error: 'must be such as 2026-03' })
          .optional()
          .meta({ description: 'UTC month such as 2026-03; the present one when left out' }),
      })
      .meta({
        description: 'Shows the service objectives of a month, and the error budget that is left.',
      }),
  )
  .output(ObjectivesOut)
  .query(async ({ ctx, input }) => {
    const em = ctx.services.orm.em.fork();
    const site = input.site_code === undefined ? undefined : await findSite(em, input.site_code);
    const db = em.getKysely();
    const now = ctx.services.clock.now();
    const month = input.month ?? toIso(now).slice(0, 7);
    const from = Date.parse(`${month}-01T00:00:00Z`);
    if (from < 0 || from > now) {
      throw new TRPCError({
        code: 'BAD_REQUEST',
        message: 'month must not be before 1970-01 or after the present one.',
      });
    }
    const start = new Date(from);
    const to = Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1, 1);
    const present = from <= now && now < to;
    const backlog = present ? await readBacklog(db, site?.id) : undefined;
    const counts = await readObjectives(db, { siteId: site?.id, from, to }, backlog?.overdue ?? 0);
    return { month, complete_to: await readCompleteTo(db), ...objectivesOf(counts) };
  });

const rebuild = administratorProcedure
  .input(
    z.strictObject({ reason: statement(200).meta({ description: 'Why, for the audit' }) }).meta({
      description: 'Makes the sums of the reports anew from the ledger, in the background.',
    }),
  )
  .output(z.strictObject({ rebuilding: z.literal(true) }))
  .mutation(async ({ ctx, input, path }) =>
    mutate(ctx, path, async (em) => {
      await forgetSums(em.getKysely());
      return {
        result: { rebuilding: true as const },
        siteCode: null,
        after: { reason: input.reason },
      };
    }),
  );

/** What happened and how well it was judged; read from sums, so that none of it scans the ledger. */
export const reports = router({ overview, rule_quality, score_distribution, slo, rebuild });
