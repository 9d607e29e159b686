/** A service reduced to its database, for tests that kill it: `DATA_DIR [settings as JSON]`, talks over IPC. */
import { startEmbeddedPostgres } from '../../server/embedded-postgres/index.ts';

/** What the process tells: once `ready` or `refused`, then `restarted` for each time it brought the server back. */
export type ServiceMessage =
  | { readonly event: 'ready'; readonly pid: number; readonly ownerUrl: string }
  | { readonly event: 'restarted'; readonly pid: number }
  | { readonly event: 'refused'; readonly name: string; readonly message: string };

if (import.meta.main) {
  const tell = (message: ServiceMessage) => process.send?.(message);
  try {
    const server = await startEmbeddedPostgres({
      dataDir: process.argv[2] ?? '',
      log: () => undefined,
      onRestart: () => tell({ event: 'restarted', pid: server.pid }),
      extraSettings: JSON.parse(process.argv[3] ?? '{}') as Record<string, string>,
    });
    const stop = async () => {
      await server.stop();
      process.exit(0);
    };
    process.on('SIGTERM', () => void stop());
    process.on('disconnect', () => void stop());
    tell({ event: 'ready', pid: server.pid, ownerUrl: server.ownerUrl });
  } catch (error: unknown) {
    const { name, message } = error instanceof Error ? error : new Error(String(error));
    tell({ event: 'refused', name, message });
    process.disconnect();
    process.exitCode = 1;
  }
}
