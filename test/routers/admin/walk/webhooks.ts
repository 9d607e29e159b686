import { activateByChallenge } from '../../../../ledger/webhook-endpoints.ts';
import { outcomeRecorded } from '../../../../ledger/webhook-causes.ts';
import { deliveryIdOf } from '../../../../contract/webhook.ts';
import type { RouterWalk, Walk } from './walk.ts';

const endpointOf = (walk: Walk): string => String(walk.answer('webhooks.register')['endpoint_id']);

/** The challenge is answered, and something happens that the endpoint is told. */
async function answerChallenge(walk: Walk): Promise<void> {
  const { service } = walk;
  const [endpoint] = await service.database.query<{ site_id: string; challenge: string }>(
    'select site_id, challenge_event_id as challenge from webhook_endpoint where id = $1',
    [endpointOf(walk)],
  );
  const siteId = BigInt(endpoint?.site_id ?? 0);
  const ref = { siteId, endpointId: BigInt(endpointOf(walk)) };
  const event = { siteId, ingestionId: 7_000_001n, sourceEventId: `event-of-${walk.code}` };
  await service.services.orm.em.fork().transactional(async (em) => {
    const db = em.getKysely();
    await activateByChallenge(db, ref, endpoint?.challenge ?? '', service.clock.at);
    const { record } = service.services.webhooks;
    await record(db, [outcomeRecorded(event, 'FRAUD_CONFIRMED')], service.clock.at);
  });
}

const deliveryOf = async (walk: Walk): Promise<string> => {
  const [row] = await walk.service.database.query<{ event_id: string }>(
    `select event_id from webhook_delivery where endpoint_id = $1 and event_type = 'outcome.recorded'`,
    [endpointOf(walk)],
  );
  return deliveryIdOf(BigInt(endpointOf(walk)), row?.event_id ?? '');
};

/** An endpoint from its registration to its end. */
export const webhooksWalk: RouterWalk = {
  steps: [
    {
      path: 'webhooks.register',
      input: ({ code }) => ({
        site_code: code,
        url: `https://${code}.example.com/hook`,
        event_types: ['outcome.recorded'],
        description: `endpoint of ${code}`,
      }),
    },
    {
      path: 'webhooks.update',
      input: (walk) => ({ endpoint_id: endpointOf(walk), description: `better for ${walk.code}` }),
    },
    { path: 'webhooks.activate', input: (walk) => ({ endpoint_id: endpointOf(walk) }) },
    {
      path: 'webhooks.resend',
      before: answerChallenge,
      input: async (walk) => ({ delivery_id: await deliveryOf(walk) }),
    },
    {
      path: 'webhooks.recover',
      input: (walk) => ({ endpoint_id: endpointOf(walk), since: '2026-03-01T00:00:00Z' }),
    },
    { path: 'webhooks.rotate_secret', input: (walk) => ({ endpoint_id: endpointOf(walk) }) },
    { path: 'webhooks.disable', input: (walk) => ({ endpoint_id: endpointOf(walk) }) },
    { path: 'webhooks.rewrap', input: () => ({}), ofNoSite: true },
  ],
  queries: {
    'webhooks.deliveries': (walk) => ({ endpoint_id: endpointOf(walk) }),
    'webhooks.attempts': async (walk: Walk) => ({ delivery_id: await deliveryOf(walk) }),
  },
};
