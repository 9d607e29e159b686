import { setTimeout as sleep } from 'node:timers/promises';
import type { EntityManager } from '@mikro-orm/postgresql';
import { TRPCError } from '@trpc/server';
import { z } from 'zod';
import { boundedText } from '../../contract/primitives.ts';
import { SubscribedEventType } from '../../contract/webhook.ts';
import { Site } from '../../entities/site.ts';
import { WebhookEndpointHealth } from '../../entities/webhook-endpoint-health.ts';
import { WebhookEndpoint } from '../../entities/webhook-endpoint.ts';
import { WebhookSecret } from '../../entities/webhook-secret.ts';
import { startChallenge } from '../../ledger/webhook-endpoints.ts';
import { lookAtHeld } from '../../ledger/webhook-health.ts';
import {
  createSecret,
  rewrapSecrets,
  rotateSecret,
  SIGNED_WITHIN_MS,
} from '../../ledger/webhook-secrets.ts';
import { DecimalId, IdCursor, Limit, SiteCode, UtcInstant, pageOf } from './fields.ts';
import { toIso, toIsoOrNull, toPage } from './fields.ts';
import { findSite, lockSite } from './find-site.ts';
import { mutate } from './mutate.ts';
import {
  administratorProcedure,
  administratorProcedureTaking,
  operatorProcedure,
  viewerProcedure,
} from './procedures.ts';
import { EndpointIdIn, EventTypesIn, UrlIn, demandUrl } from './webhook-fields.ts';
import { endpointFacts, lockEndpoint, type KnownEndpoint } from './webhook-fields.ts';

/** Endpoints of a Site at most that are not disabled: every event is stored once, but delivered to each. */
const ENDPOINTS_OF_A_SITE = 20;

const State = z.enum(['PENDING', 'ACTIVE', 'DISABLED']);

const Health = z.strictObject({
  breaker: z.enum(['CLOSED', 'OPEN', 'HALF_OPEN']),
  failures_in_row: z.int(),
  failing_since: UtcInstant.nullable(),
  last_success_at: UtcInstant.nullable(),
  last_failure_at: UtcInstant.nullable(),
});

const EndpointOut = z.strictObject({
  endpoint_id: DecimalId,
  site_code: SiteCode,
  url: z.string(),
  description: z.string(),
  event_types: z.array(SubscribedEventType),
  state: State,
  activated_at: UtcInstant.nullable(),
  disabled_at: UtcInstant.nullable(),
  disabled_reason: z.enum(['OPERATOR', 'GONE', 'FAILING']).nullable(),
  previous_secret_signs_until: UtcInstant.nullable(),
  health: Health.nullable(),
  created_by: z.string(),
  created_at: UtcInstant,
  changed_by: z.string(),
  changed_at: UtcInstant,
});

type EndpointView = z.infer<typeof EndpointOut>;

const healthOf = (row: WebhookEndpointHealth): z.infer<typeof Health> => ({
  breaker: row.breaker,
  failures_in_row: row.failures_in_row,
  failing_since: toIsoOrNull(row.failing_since),
  last_success_at: toIsoOrNull(row.last_success_at),
  last_failure_at: toIsoOrNull(row.last_failure_at),
});

/** Endpoints as they are answered, with what is known beside them. */
async function viewsOf(
  em: EntityManager,
  rows: readonly WebhookEndpoint[],
  now: number,
): Promise<Map<bigint, EndpointView>> {
  const ids = rows.map(({ id }) => id);
  const sites = await em.find(Site, { id: { $in: rows.map((row) => row.site_id) } });
  const healths = await em.find(WebhookEndpointHealth, {
    site_id: { $in: sites.map(({ id }) => id) },
    endpoint_id: { $in: ids },
  });
  const previous = await em.find(WebhookSecret, {
    endpoint_id: { $in: ids },
    signs_until: { $gt: new Date(now) },
  });
  const codeOf = new Map(sites.map(({ id, code }) => [id, code]));
  const healthById = new Map(healths.map((row) => [row.endpoint_id, row]));
  const untilById = new Map(previous.map((row) => [row.endpoint_id, row.signs_until]));
  return new Map(
    rows.map((row) => {
      const health = healthById.get(row.id);
      const view = {
        endpoint_id: String(row.id),
        site_code: codeOf.get(row.site_id) ?? '',
        url: row.url,
        description: row.description,
        // Written by us, from the same list.
        event_types: row.event_types as SubscribedEventType[],
        state: row.state,
        activated_at: toIsoOrNull(row.activated_at),
        disabled_at: toIsoOrNull(row.disabled_at),
        disabled_reason: row.disabled_reason ?? null,
        previous_secret_signs_until: toIsoOrNull(untilById.get(row.id)),
        health: health === undefined ? null : healthOf(health),
        created_by: row.created_by,
        created_at: toIso(row.created_at),
        changed_by: row.changed_by,
        changed_at: toIso(row.changed_at),
      };
      return [row.id, view];
    }),
  );
}

async function viewOf(em: EntityManager, row: WebhookEndpoint, now: number): Promise<EndpointView> {
  await em.flush();
  // Read again: a challenge changes it beside the entity manager.
  const stored = await em.findOneOrFail(WebhookEndpoint, { id: row.id }, { refresh: true });
  const view = (await viewsOf(em, [stored], now)).get(row.id);
  if (view === undefined) throw new Error('an endpoint without its view');
  return view;
}

export const register = administratorProcedureTaking('url')
  .input(
    z
      .strictObject({
        site_code: SiteCode,
        url: UrlIn,
        event_types: EventTypesIn,
        description: boundedText(0, 200)
          .optional()
          .meta({ description: 'What it is for, for people' }),
      })
      .meta({
        description:
          'Registers where a Site wants events delivered, and shows the signing secret, once; webhooks.activate comes next.',
      }),
  )
  .output(z.strictObject({ endpoint_id: DecimalId, signing_secret: z.string(), state: State }))
  .mutation(async ({ ctx, input, path }) =>
    mutate(ctx, path, async (em, now) => {
      const { services, operator } = ctx;
      const url = demandUrl(input.url, services.webhooks.allowPrivateNetworks);
      // Locked, so that two at once cannot pass the limit together.
      const site = await lockSite(em, input.site_code);
      await refuseTooMany(em, site);
      const endpoint = em.create(WebhookEndpoint, {
        site_id: site.id,
        url,
        url_version: 1,
        description: input.description ?? '',
        event_types: input.event_types,
        state: 'PENDING',
        created_by: operator.name,
        created_at: new Date(now),
        changed_by: operator.name,
        changed_at: new Date(now),
      });
      await em.flush();
      const ref = { siteId: site.id, endpointId: endpoint.id };
      const secret = await createSecret(em.getKysely(), services.secretBox, ref, now);
      return {
        result: {
          endpoint_id: String(endpoint.id),
          signing_secret: secret,
          state: endpoint.state,
        },
        siteCode: site.code,
        after: endpointFacts(endpoint),
      };
    }),
  );

/** @throws TRPCError CONFLICT */
async function refuseTooMany(em: EntityManager, site: Site): Promise<void> {
  const count = await em.count(WebhookEndpoint, { site_id: site.id, state: { $ne: 'DISABLED' } });
  if (count < ENDPOINTS_OF_A_SITE) return;
  throw new TRPCError({
    code: 'CONFLICT',
    message: `Site ${site.code} has ${count} endpoints, the most there may be; disable one with webhooks.disable first.`,
  });
}

export const update = administratorProcedureTaking('url')
  .input(
    z
      .strictObject({
        endpoint_id: EndpointIdIn,
        url: UrlIn.optional(),
        event_types: EventTypesIn.optional(),
        description: boundedText(0, 200)
          .optional()
          .meta({ description: 'What it is for, for people' }),
      })
      .meta({
        description:
          'Changes an endpoint. A changed URL is challenged; until it answers, deliveries wait.',
      }),
  )
  .output(EndpointOut)
  .mutation(async ({ ctx, input, path }) =>
    mutate(ctx, path, async (em, now) => {
      const { services, operator } = ctx;
      const { endpoint, site } = await lockEndpoint(em, input.endpoint_id);
      const before = endpointFacts(endpoint);
      const url =
        input.url === undefined
          ? endpoint.url
          : demandUrl(input.url, services.webhooks.allowPrivateNetworks);
      const moved = url !== endpoint.url;
      if (moved) {
        endpoint.url = url;
        endpoint.url_version += 1;
      }
      if (input.event_types !== undefined) endpoint.event_types = input.event_types;
      if (input.description !== undefined) endpoint.description = input.description;
      endpoint.changed_by = operator.name;
      endpoint.changed_at = new Date(now);
      await em.flush();
      // One that is off stays off; activating it challenges the new URL anyway.
      if (moved && endpoint.state !== 'DISABLED') {
        const { enqueue } = services.webhooks;
        await startChallenge(em.getKysely(), refOf({ endpoint, site }), now, enqueue);
      }
      const result = await viewOf(em, endpoint, now);
      return { result, siteCode: site.code, before, after: endpointFacts(endpoint) };
    }),
  );

const refOf = ({ endpoint, site }: KnownEndpoint) => ({
  siteId: site.id,
  endpointId: endpoint.id,
});

export const activate = operatorProcedure
  .input(
    z.strictObject({ endpoint_id: EndpointIdIn }).meta({
      description:
        'Sends webhook.challenge to an endpoint; a 2xx answer activates it. Earlier challenges are void.',
    }),
  )
  .output(EndpointOut)
  .mutation(async ({ ctx, input, path }) =>
    mutate(ctx, path, async (em, now) => {
      const known = await lockEndpoint(em, input.endpoint_id);
      const { endpoint, site } = known;
      if (endpoint.state === 'ACTIVE') {
        throw new TRPCError({
          code: 'CONFLICT',
          message: `Endpoint ${endpoint.id} is active already; there is nothing to do.`,
        });
      }
      const before = { endpoint_id: String(endpoint.id), state: endpoint.state };
      if (endpoint.state === 'DISABLED') await refuseTooMany(em, site);
      endpoint.changed_by = ctx.operator.name;
      endpoint.changed_at = new Date(now);
      await em.flush();
      await startChallenge(em.getKysely(), refOf(known), now, ctx.services.webhooks.enqueue);
      const result = await viewOf(em, endpoint, now);
      return {
        result,
        siteCode: site.code,
        before,
        after: { endpoint_id: String(endpoint.id), state: endpoint.state },
      };
    }),
  );

export const rotate = administratorProcedure
  .input(
    z
      .strictObject({
        endpoint_id: EndpointIdIn,
        force: z.boolean().optional().meta({
          description:
            'Also within 24 hours of the last time; breaks receivers that the refusal names',
        }),
      })
      .meta({
        description:
          'Gives an endpoint a new signing secret, shown once; the present one signs too for 24 hours.',
      }),
  )
  .output(
    z.strictObject({
      endpoint_id: DecimalId,
      signing_secret: z.string(),
      previous_secret_signs_until: UtcInstant,
    }),
  )
  .mutation(async ({ ctx, input, path }) => {
    const rotated = await mutate(ctx, path, async (em, now) => {
      const known = await lockEndpoint(em, input.endpoint_id);
      const { endpoint, site } = known;
      const force = input.force === true;
      const rotation = await rotateSecret(em.getKysely(), ctx.services.secretBox, refOf(known), {
        now,
        force,
      });
      if (!rotation.done) {
        throw new TRPCError({
          code: 'CONFLICT',
          message: `The secret of endpoint ${endpoint.id} was replaced at ${toIso(rotation.replacedAt)}, and the one before still signs until ${toIso(rotation.previousSignsUntil)}. Another replacement now breaks every receiver at ${new URL(endpoint.url).host} that has not taken up the secret issued then: it would refuse all deliveries. Wait until that time, or make sure of the receivers and set force.`,
        });
      }
      endpoint.changed_by = ctx.operator.name;
      endpoint.changed_at = new Date(now);
      const until = toIso(rotation.previousSignsUntil);
      const id = String(endpoint.id);
      return {
        result: {
          endpoint_id: id,
          signing_secret: rotation.secret,
          previous_secret_signs_until: until,
        },
        siteCode: site.code,
        after: { endpoint_id: id, previous_secret_signs_until: until, force },
      };
    });
    // Whoever takes the new secret up at once must not be sent what only the former one has signed.
    await sleep(SIGNED_WITHIN_MS);
    return rotated;
  });

export const disable = operatorProcedure
  .input(
    z.strictObject({ endpoint_id: EndpointIdIn }).meta({
      description:
        'Stops deliveries to an endpoint. Its events are kept for 30 days; webhooks.recover sends them later.',
    }),
  )
  .output(EndpointOut)
  .mutation(async ({ ctx, input, path }) =>
    mutate(ctx, path, async (em, now) => {
      const known = await lockEndpoint(em, input.endpoint_id);
      const { endpoint, site } = known;
      if (endpoint.state === 'DISABLED') {
        throw new TRPCError({
          code: 'CONFLICT',
          message: `Endpoint ${endpoint.id} is disabled already; webhooks.activate brings it back.`,
        });
      }
      const before = { endpoint_id: String(endpoint.id), state: endpoint.state };
      endpoint.state = 'DISABLED';
      endpoint.disabled_at = new Date(now);
      endpoint.disabled_reason = 'OPERATOR';
      endpoint.challenge_event_id = null;
      endpoint.changed_by = ctx.operator.name;
      endpoint.changed_at = new Date(now);
      await em.flush();
      // What is held is failed now; what is queued, as its turn comes.
      await lookAtHeld(em.getKysely(), [refOf(known)], now);
      const result = await viewOf(em, endpoint, now);
      return {
        result,
        siteCode: site.code,
        before,
        after: { endpoint_id: String(endpoint.id), state: endpoint.state },
      };
    }),
  );

export const list = viewerProcedure
  .input(
    z
      .strictObject({
        site_code: SiteCode.optional(),
        state: State.optional().meta({ description: 'Where it stands' }),
        cursor: IdCursor.optional(),
        limit: Limit,
      })
      .meta({ description: 'Lists webhook endpoints, newest first; never a secret.' }),
  )
  .output(pageOf(EndpointOut))
  .query(async ({ ctx, input: { site_code: siteCode, state, cursor, limit } }) => {
    const em = ctx.services.orm.em.fork();
    const rows = await em.find(
      WebhookEndpoint,
      {
        ...(siteCode === undefined ? {} : { site_id: (await findSite(em, siteCode)).id }),
        ...(state === undefined ? {} : { state }),
        ...(cursor === undefined ? {} : { id: { $lt: BigInt(cursor) } }),
      },
      { orderBy: { id: 'desc' }, limit: limit + 1 },
    );
    const views = await viewsOf(em, rows, ctx.services.clock.now());
    const found = rows.flatMap((row) => views.get(row.id) ?? []);
    return toPage(
      found,
      limit,
      (view) => view,
      (view) => view.endpoint_id,
    );
  });

export const rewrap = administratorProcedure
  .input(
    z.strictObject({}).meta({
      description:
        'Encrypts all stored signing secrets with the first key of SECRETS_KEY; the others can then be taken out.',
    }),
  )
  .output(
    z.strictObject({
      key: z.string().meta({ description: 'Name of the key that all are encrypted with now' }),
      rewrapped: z.int().meta({ description: 'How many were encrypted with another one' }),
    }),
  )
  .mutation(async ({ ctx, path }) =>
    mutate(ctx, path, async (em) => {
      const { secretBox } = ctx.services;
      const rewrapped = await rewrapSecrets(em.getKysely(), secretBox);
      const result = { key: secretBox.currentKeyId, rewrapped };
      return { result, siteCode: null, after: result };
    }),
  );
