import { createBoss } from '../../jobs/queues.ts';
import { Deliverer } from '../../jobs/webhooks/deliverer.ts';
import { createAddressGuard } from '../../jobs/webhooks/guard.ts';
import { ATTEMPT_LIMITS, createConnector } from '../../jobs/webhooks/line.ts';
import { createReleaseLoop } from '../../jobs/webhooks/release.ts';
import { systemClock } from '../../ledger/clock.ts';
import { createSecretBox } from '../../ledger/secret-box.ts';
import { createPipelinedTransactions } from '../../ledger/transactions.ts';

/**
 * A process that delivers webhooks and nothing else, for tests that kill it. Arguments: the application's database URL
 * and the key of the test's secrets.
 */
const [url = '', key = ''] = process.argv.slice(2);
const boss = createBoss({
  url,
  backend: 'postgres',
  applicationName: 'test webhook worker queue',
  supervise: false,
  migrate: false,
  onError: () => undefined,
});
const { transaction } = createPipelinedTransactions({
  url,
  poolSize: 3,
  applicationName: 'test webhook worker',
  statementTimeoutMs: 10_000,
});
const onFault = (error: unknown): void => {
  throw error instanceof Error ? error : new Error('fault');
};
await boss.start();
const deliverer = new Deliverer({
  boss,
  transaction,
  clock: systemClock,
  box: createSecretBox([{ id: 'test', key: Buffer.from(key, 'base64') }]),
  connect: createConnector(createAddressGuard({ allowPrivate: true }), ATTEMPT_LIMITS),
  waits: [1, 1, 1, 1, 1, 1, 1, 1],
  report: {
    attempted: () => undefined,
    delivered: () => undefined,
    held: () => undefined,
    fault: onFault,
  },
});
deliverer.start();
createReleaseLoop({
  boss,
  transaction,
  clock: systemClock,
  capacityFor: (endpointId) => deliverer.capacityFor(endpointId),
  onReleased: () => deliverer.wake(),
  onSpared: () => undefined,
  onFound: () => undefined,
  onFault,
}).start();
process.send?.('ready');
