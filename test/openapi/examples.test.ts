import { expect } from 'chai';
import { Risk } from '../../contract/risk.ts';
import type { TransactionEvent } from '../../contract/transaction.ts';
import { WEBHOOK_BODIES } from '../../contract/webhook.ts';
import { EXAMPLES } from '../../openapi/examples.ts';
import { eventOf, merchant, type Merchant } from '../support/merchant.ts';
import { runService, type RunningService } from '../support/running-service.ts';

const MINUTE = 60_000;

type Answered = Record<string, unknown> & { evaluator_version: string; evaluated_at: string };

/** Without what no example can know: when it was, and the digests of the rules. */
const lasting = ({ evaluated_at: _at, evaluator_version: version, ...risk }: Answered) => ({
  ...risk,
  evaluator_version: version.replaceAll(/\.[0-9a-f]{8}\b/g, '.DIGEST'),
});

describe('the examples of a result', () => {
  let service: RunningService;
  let shop: Merchant;

  before(async () => {
    service = await runService();
    const site = await service.createSite({ customerType: 'MULTI_MERCHANT' });
    shop = merchant(service.url, (await site.issue()).apiKey);
  });

  after(() => service.stop());

  const evaluate = async (event: unknown): Promise<Answered> => {
    const { body, status } = await shop.submit(event);
    expect(status, JSON.stringify(body)).to.equal(202);
    return (await shop.evaluated(body.ingestion_id)).body.risk;
  };

  it('are what the service answers: without anything odd', async () => {
    const real = lasting(await evaluate(eventOf({ merchant_external_id: 'merchant-1' })));
    const schema = Risk.meta()?.['example'] as Answered;
    expect(lasting(schema)).to.deep.equal(real);
    const webhook = WEBHOOK_BODIES['transaction.evaluated'].meta()?.['example'] as {
      data: { risk: Answered };
    };
    expect(lasting(webhook.data.risk)).to.deep.equal(real);
  });

  it('are what the service answers: after nine attempts with the card, the last three declined', async () => {
    const event: TransactionEvent = EXAMPLES.TransactionEvent.authorisation.value;
    const at = Date.parse(event.occurred_at);
    for (let before = 9; before >= 1; before -= 1) {
      const id = `before-${before}`;
      const instant = new Date(at - before * 5 * MINUTE).toISOString();
      await evaluate({
        ...event,
        source_event_id: id,
        occurred_at: instant,
        sent_at: instant,
        transaction: {
          ...event.transaction,
          source_event_id: id,
          occurred_at: instant,
          status: before <= 3 ? 'DECLINED' : 'APPROVED',
        },
      });
    }
    const real = lasting(await evaluate(event));
    const shown = (EXAMPLES.TransactionRiskStatus.evaluated.value as { risk: Answered }).risk;
    expect(lasting(shown)).to.deep.equal(real);
  }).timeout(40_000);
});
