import { parseArgs } from 'node:util';
import { createListener } from './listener.ts';
import { wordDelivery } from './wording.ts';

const HELP = `A receiver of webhooks on your terminal: verifies each delivery and prints it

  WEBHOOK_SECRET=trk_whs_... npm run webhook-listener
  WEBHOOK_SECRET=... npm run webhook-listener -- --port 4000 --status 503

  --port N              where it listens on this machine             (default: 4000)
  --host ADDRESS        another address to listen on                 (default: 127.0.0.1)
  --status N            what verified deliveries are answered with   (default: 204); 503 shows the retries, 410 the end
  --replaced-at TIME    when the secret was replaced; then also set WEBHOOK_PREVIOUS_SECRET
  --help                this text

The secrets are read from the environment, because command lines are visible to everybody on a machine. A service on the
same machine reaches the listener only if it was started with WEBHOOK_ALLOW_PRIVATE_NETWORKS=true.
`;

/** The command line or the environment is wrong; the message says what to do. */
class ListenerError extends Error {
  override name = 'ListenerError';
}

function wholeNumber(name: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < least || value > most) {
    throw new ListenerError(`--${name} must be a whole number from ${least} to ${most}.`);
  }
  return value;
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '4000' },
      host: { type: 'string', default: '127.0.0.1' },
      status: { type: 'string', default: '204' },
      'replaced-at': { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const replacedAt =
    values['replaced-at'] === undefined ? undefined : Date.parse(values['replaced-at']);
  if (Number.isNaN(replacedAt)) {
    throw new ListenerError('--replaced-at must be a time such as 2026-03-01T09:00:00Z.');
  }
  return {
    help: values.help,
    host: values.host,
    port: wholeNumber('port', values.port, 0, 65_535),
    status: wholeNumber('status', values.status, 200, 599),
    replacedAt,
  };
}

function main(): void {
  const options = readOptions();
  if (options.help) {
    process.stdout.write(HELP);
    return;
  }
  const { WEBHOOK_SECRET: current = '', WEBHOOK_PREVIOUS_SECRET: previous = '' } = process.env;
  if (current === '') {
    throw new ListenerError(
      'Set WEBHOOK_SECRET to the signing_secret that webhooks.register or webhooks.rotate_secret showed.',
    );
  }
  if (previous !== '' && options.replacedAt === undefined) {
    throw new ListenerError('WEBHOOK_PREVIOUS_SECRET needs --replaced-at: it counts for 24 hours.');
  }
  const server = createListener({
    secrets: {
      current,
      ...(previous === '' ? {} : { previous }),
      ...(options.replacedAt === undefined ? {} : { replacedAt: options.replacedAt }),
    },
    status: options.status,
    now: () => Date.now(),
    onHeard: (heard) => void process.stdout.write(wordDelivery(heard)),
  });
  server.on('error', (error: NodeJS.ErrnoException) => {
    process.stderr.write(
      `The listener cannot use ${options.host}:${options.port} (${error.code ?? error.name}); set --port or --host to another one.\n`,
    );
    process.exitCode = 1;
  });
  server.listen(options.port, options.host, () => {
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : options.port;
    process.stderr.write(
      `Listening on http://${options.host}:${port}/ and answering ${options.status}; Ctrl-C ends.\n`,
    );
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      server.close();
      server.closeAllConnections();
    });
  }
}

try {
  main();
} catch (error: unknown) {
  const isUsage =
    error instanceof ListenerError ||
    (error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE'));
  if (!isUsage) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}
