import { hash } from 'node:crypto';
import { LockMode, type EntityManager } from '@mikro-orm/postgresql';
import { TRPCError } from '@trpc/server';
import { z } from 'zod';
import { SubscribedEventType } from '../../contract/webhook.ts';
import { MAX_URL_LENGTH, readWebhookUrl } from '../../contract/webhook-url.ts';
import { Site } from '../../entities/site.ts';
import { WebhookEndpoint } from '../../entities/webhook-endpoint.ts';
import { DecimalId } from './fields.ts';

/** The `endpoint_id` of an input. */
export const EndpointIdIn = DecimalId.meta({ description: 'Id from webhooks.list' });

/** The `url` of an input; {@link demandUrl} reads it. */
export const UrlIn = z.string().min(1).max(MAX_URL_LENGTH).meta({
  description: 'Where to deliver: https, on the public internet, without a user name or fragment',
  example: 'https://shop.example.com/webhooks/risk',
});

/** The `event_types` of an input. */
export const EventTypesIn = z
  .array(SubscribedEventType)
  .min(1)
  .refine((types) => new Set(types).size === types.length, {
    error: 'must not name a type twice',
  })
  .meta({ description: 'What is delivered' });

/** The URL in its normal form. @throws TRPCError BAD_REQUEST saying what is wrong, without quoting it */
export function demandUrl(text: string, allowPrivate: boolean): string {
  const read = readWebhookUrl(text, allowPrivate);
  if ('url' in read) return read.url.href;
  throw new TRPCError({
    code: 'BAD_REQUEST',
    message: `The input is wrong: url: ${read.problem}.`,
  });
}

/** What the audit keeps of a URL: whose it is and whether it changed. Its path may be what keeps strangers out. */
export function urlFacts(url: string): { url_host: string; url_hash: string } {
  return { url_host: new URL(url).host, url_hash: hash('sha256', url, 'hex').slice(0, 16) };
}

/** An endpoint with the code of its Site. */
export interface KnownEndpoint {
  readonly endpoint: WebhookEndpoint;
  readonly site: Site;
}

/** The endpoint of an id. @throws TRPCError NOT_FOUND */
export async function findEndpoint(em: EntityManager, id: string): Promise<KnownEndpoint> {
  return knownEndpoint(em, id, await em.findOne(WebhookEndpoint, { id: BigInt(id) }));
}

/**
 * The endpoint of an id, locked until the transaction ends: whatever changes its state, URL or secret takes this lock
 * first, so two of them come one after the other.
 *
 * @throws TRPCError NOT_FOUND
 */
export async function lockEndpoint(em: EntityManager, id: string): Promise<KnownEndpoint> {
  const options = { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true };
  return knownEndpoint(em, id, await em.findOne(WebhookEndpoint, { id: BigInt(id) }, options));
}

async function knownEndpoint(
  em: EntityManager,
  id: string,
  endpoint: WebhookEndpoint | null,
): Promise<KnownEndpoint> {
  if (endpoint === null) {
    throw new TRPCError({
      code: 'NOT_FOUND',
      message: `There is no webhook endpoint ${id}; webhooks.list shows all.`,
    });
  }
  return { endpoint, site: await em.findOneOrFail(Site, { id: endpoint.site_id }) };
}

/** What the audit keeps of an endpoint. */
export const endpointFacts = (endpoint: WebhookEndpoint): Record<string, unknown> => ({
  endpoint_id: String(endpoint.id),
  ...urlFacts(endpoint.url),
  description: endpoint.description,
  event_types: endpoint.event_types,
  state: endpoint.state,
});
