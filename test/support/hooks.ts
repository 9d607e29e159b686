import { cleanUp } from './cleanups.ts';

/**
 * Root hooks of every test run. Nothing is started here: the first test that wants a database starts the server, so
 * files that need none stay in milliseconds.
 */
export const mochaHooks = {
  async afterAll(this: Mocha.Context): Promise<void> {
    await cleanUp();
  },
};

// Several may come for one Ctrl-C (from the terminal, npm and run.ts); only the first counts.
let interrupted = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (interrupted) return;
    interrupted = true;
    void cleanUp()
      .catch((error: unknown) => console.error(error))
      .finally(() => process.exit(130));
  });
}
