import { TRPCError } from '@trpc/server';
import { z } from 'zod';
import { IngestionId, ingestionIdOf } from '../../contract/primitives.ts';
import {
  DELIVERY_ID,
  DeliveryId,
  deliveryIdOf,
  parseDeliveryId,
  WebhookEventId,
  webhookEventIdOf,
} from '../../contract/webhook.ts';
import {
  listAttempts,
  listDeliveries,
  lockDelivery,
  rescheduleDeliveries,
  type AttemptView,
  type DeliveryView,
} from '../../ledger/webhook-deliveries.ts';
import { createdAtOf } from '../../ledger/webhook-ids.ts';
import { DecimalId, Limit, UtcInstant, cursorOf, instantField, instantMs } from './fields.ts';
import { pageOf, toIso, toIsoOrNull, toPage } from './fields.ts';
import { mutate } from './mutate.ts';
import { operatorProcedure, viewerProcedure } from './procedures.ts';
import { EndpointIdIn, findEndpoint, type KnownEndpoint } from './webhook-fields.ts';

/** Recovered deliveries that fall due in a second unless asked otherwise: a receiver is coming back. */
const PER_SECOND = 20;

const State = z.enum(['PENDING', 'DELIVERED', 'FAILED']);
const Failure = z.enum(['EXHAUSTED', 'GONE', 'ENDPOINT_DISABLED', 'CHALLENGE_VOID']);

const AttemptOut = z.strictObject({
  attempt: z.int(),
  attempted_at: UtcInstant,
  outcome: z.enum(['DELIVERED', 'RETRY', 'FAILED']),
  duration_ms: z.int(),
  http_status: z.int().nullable(),
  error_class: z.string().nullable(),
  address: z.string().nullable().meta({ description: 'What was dialled' }),
  answer: z.string().nullable().meta({ description: 'The beginning of the answer' }),
  next_attempt_at: UtcInstant.nullable(),
});

const DeliveryOut = z.strictObject({
  delivery_id: DeliveryId,
  event_id: WebhookEventId,
  event_type: z.string(),
  ingestion_id: IngestionId.nullable(),
  created_at: UtcInstant,
  state: State,
  failure: Failure.nullable(),
  attempts: z.int(),
  next_attempt_at: UtcInstant.nullable(),
  settled_at: UtcInstant.nullable(),
  last_attempt: AttemptOut.nullable(),
});

const toAttempt = (view: AttemptView): z.infer<typeof AttemptOut> => ({
  attempt: view.attempt,
  attempted_at: toIso(view.attemptedAt),
  outcome: view.outcome,
  duration_ms: view.durationMs,
  http_status: view.httpStatus,
  error_class: view.errorClass,
  address: view.address,
  answer: view.answer,
  next_attempt_at: toIsoOrNull(view.nextAttemptAt),
});

const toDelivery = (view: DeliveryView): z.infer<typeof DeliveryOut> => ({
  delivery_id: deliveryIdOf(view.endpointId, view.eventId),
  event_id: webhookEventIdOf(view.eventId),
  event_type: view.eventType,
  ingestion_id: view.ingestionId === null ? null : ingestionIdOf(view.ingestionId),
  created_at: toIso(createdAtOf(view.eventId)),
  state: view.state,
  // Written by us, from the same list.
  failure: view.failure as z.infer<typeof Failure> | null,
  attempts: view.attempts,
  next_attempt_at: toIsoOrNull(view.nextAttemptAt),
  settled_at: toIsoOrNull(view.settledAt),
  last_attempt: view.last === null ? null : toAttempt(view.last),
});

const refOf = ({ endpoint, site }: KnownEndpoint) => ({
  siteId: site.id,
  endpointId: endpoint.id,
});

const DeliveryIdIn = DeliveryId.meta({ description: 'Id from webhooks.deliveries' });

export const deliveries = viewerProcedure
  .input(
    z
      .strictObject({
        endpoint_id: EndpointIdIn,
        state: State.optional().meta({ description: 'Where it stands' }),
        cursor: cursorOf(DELIVERY_ID).optional(),
        limit: Limit,
      })
      .meta({ description: 'Lists the deliveries to an endpoint, newest event first.' }),
  )
  .output(pageOf(DeliveryOut))
  .query(async ({ ctx, input: { endpoint_id: endpointId, state, cursor, limit } }) => {
    const em = ctx.services.orm.em.fork();
    const rows = await listDeliveries(em.getKysely(), refOf(await findEndpoint(em, endpointId)), {
      state,
      before: cursor === undefined ? undefined : parseDeliveryId(cursor).eventId,
      limit: limit + 1,
    });
    return toPage(rows, limit, toDelivery, (row) => deliveryIdOf(row.endpointId, row.eventId));
  });

export const attempts = viewerProcedure
  .input(
    z
      .strictObject({
        delivery_id: DeliveryIdIn,
        cursor: cursorOf(/^[1-9]\d{0,8}$/).optional(),
        limit: Limit,
      })
      .meta({ description: 'Lists the attempts of one delivery, newest first.' }),
  )
  .output(pageOf(AttemptOut))
  .query(async ({ ctx, input: { delivery_id: deliveryId, cursor, limit } }) => {
    const em = ctx.services.orm.em.fork();
    const { endpointId, eventId } = parseDeliveryId(deliveryId);
    const known = await findEndpoint(em, String(endpointId));
    const rows = await listAttempts(
      em.getKysely(),
      { ...refOf(known), eventId },
      { before: cursor === undefined ? undefined : Number(cursor), limit: limit + 1 },
    );
    return toPage(rows, limit, toAttempt, (row) => String(row.attempt));
  });

/** @throws TRPCError CONFLICT: what is sent to an endpoint that is not active would only fail */
function demandActive({ endpoint }: KnownEndpoint): void {
  if (endpoint.state === 'ACTIVE') return;
  throw new TRPCError({
    code: 'CONFLICT',
    message: `Endpoint ${endpoint.id} is ${endpoint.state}; activate it with webhooks.activate first.`,
  });
}

export const resend = operatorProcedure
  .input(
    z.strictObject({ delivery_id: DeliveryIdIn }).meta({
      description:
        'Delivers one event again, whatever became of it; the receiver sees the same event id.',
    }),
  )
  .output(z.strictObject({ delivery_id: DeliveryId, state: State }))
  .mutation(async ({ ctx, input, path }) =>
    mutate(ctx, path, async (em, now) => {
      const db = em.getKysely();
      const { endpointId, eventId } = parseDeliveryId(input.delivery_id);
      const known = await findEndpoint(em, String(endpointId));
      const ref = { ...refOf(known), eventId };
      const delivery = await lockDelivery(db, ref);
      if (delivery === undefined) {
        throw new TRPCError({
          code: 'NOT_FOUND',
          message: `There is no delivery ${input.delivery_id}; webhooks.deliveries shows those of an endpoint.`,
        });
      }
      if (delivery.eventType === 'webhook.challenge') {
        throw new TRPCError({
          code: 'CONFLICT',
          message: 'A challenge is not sent again; webhooks.activate sends a new one.',
        });
      }
      demandActive(known);
      await rescheduleDeliveries(db, [{ ...ref, at: now }]);
      await ctx.services.webhooks.requeue(db, [ref]);
      const facts = { delivery_id: input.delivery_id, state: delivery.state };
      return {
        result: { delivery_id: input.delivery_id, state: 'PENDING' as const },
        siteCode: known.site.code,
        before: facts,
        after: { ...facts, state: 'PENDING' },
      };
    }),
  );

export const recover = operatorProcedure
  .input(
    z
      .strictObject({
        endpoint_id: EndpointIdIn,
        since: instantField('Events that happened at or after'),
        per_second: z.int().min(1).max(500).default(PER_SECOND).meta({
          description: 'Deliveries that fall due in a second, so that no receiver is flooded',
        }),
      })
      .meta({
        description:
          'Delivers every event since a moment that an endpoint has not got: failed, waiting after a failure, or never sent. tasks.status shows how far it is.',
      }),
  )
  .output(z.strictObject({ task_id: DecimalId }))
  .mutation(async ({ ctx, input, path }) =>
    mutate(ctx, path, async (em, now) => {
      const known = await findEndpoint(em, input.endpoint_id);
      demandActive(known);
      const since = instantMs(input.since);
      if (since > now) {
        throw new TRPCError({
          code: 'BAD_REQUEST',
          message: 'since must not be in the future.',
        });
      }
      const facts = {
        endpoint_id: input.endpoint_id,
        since: toIso(since),
        per_second: input.per_second,
      };
      const id = await ctx.services.startTask(em.getKysely(), {
        kind: 'webhooks.recover',
        siteId: known.site.id,
        input: facts,
        by: ctx.operator.name,
        at: now,
      });
      const result = { task_id: String(id) };
      return { result, siteCode: known.site.code, after: { ...facts, ...result } };
    }),
  );
