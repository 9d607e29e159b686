import cluster from 'node:cluster';
import { systemClock } from '../ledger/clock.ts';
import { chooseAdminToken } from './admin-token.ts';
import { greet, reachable } from './banner.ts';
import { evaluationThreadsOf, type Settings } from './config.ts';
import { openDatabase } from './database.ts';
import { createLog } from './log.ts';
import { chooseSecretsKeys } from './secrets-key.ts';
import { startService } from './service.ts';
import { onStopSignal } from './stop-signal.ts';

/** A line for the person at the terminal; logs go to standard output, so that they stay pure JSON lines. */
export const tell = (line: string): void => void process.stderr.write(`${line}\n`);

/**
 * Runs the service in this one process until it is told to stop.
 *
 * @param mayListen  of a child, whose siblings answer until it is ready: resolves where it must listen before
 */
export async function runProcess(
  settings: Settings,
  demo: boolean,
  mayListen?: Promise<void>,
): Promise<void> {
  const started = performance.now();
  const log = createLog(settings.LOG_LEVEL);
  const signals = onStopSignal(tell);
  const database = await openDatabase(settings, tell);
  try {
    const { token, file } = chooseAdminToken(settings);
    const service = await startService({
      settings,
      database,
      adminToken: token,
      secretsKeys: chooseSecretsKeys(settings),
      clock: systemClock,
      evaluationThreads: evaluationThreadsOf(settings),
      log,
      tell,
      ...(mayListen === undefined ? {} : { mayListen }),
    });
    try {
      await Promise.race([service.ready, signals.stopped]);
      if (!signals.aborted && cluster.isPrimary) {
        greet(tell, {
          settings,
          port: service.port ?? settings.PORT,
          embedded: database.embedded,
          tokenFile: file,
          seconds: (performance.now() - started) / 1000,
        });
        if (demo) void runDemo(settings, service.port ?? settings.PORT, token);
      }
      await signals.stopped;
    } finally {
      await service.close();
    }
  } finally {
    await database.stop();
    signals.done();
    log.flush();
    // The channel to the first process would keep this one alive.
    if (cluster.isWorker) process.disconnect();
  }
}

/** The demo is a client like any other: it only gets to know where to call. */
async function runDemo(settings: Settings, port: number, adminToken: string): Promise<void> {
  const { sendDemoTraffic } = await import('./demo/main.ts');
  const baseUrl = `http://${reachable(settings.HOST)}:${port}`;
  const adminUrl =
    settings.ADMIN_PORT === undefined ? baseUrl : `http://127.0.0.1:${settings.ADMIN_PORT}`;
  await sendDemoTraffic({ baseUrl, adminUrl, adminToken });
}
