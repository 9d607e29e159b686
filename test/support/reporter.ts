import { writeFileSync } from 'node:fs';
import Mocha from 'mocha';

/** How a test run ended, handed from the process that ran it to `run.ts` in the file that TEST_RESULT_FILE names. */
export interface TestResult {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** Each failed test: its whole title, and what went wrong on lines of its own. */
  readonly failures: readonly string[];
  /** Resources that kept the process alive after the last test; empty when it ended by itself. */
  readonly leaked: readonly string[];
}

/** Pools and servers that were closed properly are gone well before. */
const LEAK_MS = 4_000;

/** Prints like mocha's `spec`, notes the totals, and ends a process that something forgotten keeps alive. */
export default class Reporter extends Mocha.reporters.Spec {
  constructor(runner: Mocha.Runner, options?: Mocha.MochaOptions) {
    super(runner, options);
    const failures: string[] = [];
    runner.on(Mocha.Runner.constants.EVENT_TEST_FAIL, (test: Mocha.Runnable, error: Error) => {
      failures.push(`${test.fullTitle()}\n${error.stack ?? error.message}`);
    });
    runner.once(Mocha.Runner.constants.EVENT_RUN_END, () => {
      const { passes: passed, failures: failed, pending: skipped } = this.stats;
      const totals = { passed, failed, skipped, failures };
      note({ ...totals, leaked: [] });
      // Does not keep the process alive itself, so it fires only if something else does.
      setTimeout(() => {
        const streams = ['TTYWrap', 'PipeWrap'];
        const all = process.getActiveResourcesInfo();
        const named = all.filter((name) => !streams.includes(name));
        const leaked = named.length > 0 ? named : all.length > 0 ? all : ['unknown'];
        note({ ...totals, failed: failed + 1, leaked });
        process.exit(1);
      }, LEAK_MS).unref();
    });
  }
}

function note(result: TestResult): void {
  const file = process.env['TEST_RESULT_FILE'];
  if (file !== undefined) writeFileSync(file, JSON.stringify(result));
}
