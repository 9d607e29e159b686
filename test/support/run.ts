/**
 * `npm test`: runs mocha in a process of its own and closes with one line, `N passed, N failed`. Arguments are handed
 * to mocha; files and folders among them replace the whole suite. Exit code 1 on any failure, also when nothing ran.
 */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { TestResult } from './reporter.ts';
import { makeTemporaryDirectory, removeAbandoned } from './temporary.ts';

const root = join(import.meta.dirname, '..', '..');
const mocha = join(
  dirname(createRequire(import.meta.url).resolve('mocha/package.json')),
  'bin',
  'mocha.js',
);
const directory = makeTemporaryDirectory();
const resultFile = join(directory, 'result.json');
const child = spawn(
  process.execPath,
  [mocha, '--reporter', join(import.meta.dirname, 'reporter.ts'), ...mochaArguments()],
  { cwd: root, stdio: 'inherit', env: { ...process.env, TEST_RESULT_FILE: resultFile } },
);
// A terminal sends Ctrl-C to both; the child stops its database first, and this process waits for it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => child.kill(signal));
}
const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>(
  (resolve, reject) => {
    child.on('error', reject).on('close', (code, signal) => resolve([code, signal]));
  },
);
const result = readResult();
if (signal !== null) await removeAbandoned();
rmSync(directory, { recursive: true, force: true });
if (result.leaked.length > 0) {
  console.error(
    `The test process was kept alive after its last test by: ${result.leaked.join(', ')}.`,
  );
}
const skipped = result.skipped > 0 ? `, ${result.skipped} skipped` : '';
console.log(`${result.passed} passed, ${result.failed} failed${skipped}`);
process.exitCode = result.failed > 0 || result.passed === 0 ? 1 : 0;

/** Every test file, or the given files and folders only; other arguments are mocha's. */
function mochaArguments(): string[] {
  const given = process.argv.slice(2);
  const named = given.some((argument) => !argument.startsWith('-') && existsSync(argument));
  return ['--forbid-only', '--recursive', ...given, ...(named ? [] : ['test/**/*.test.ts'])];
}

/** A process that ended badly has failed once more than it could count. */
function readResult(): TestResult {
  let result: TestResult = { passed: 0, failed: 0, skipped: 0, leaked: [] };
  try {
    result = JSON.parse(readFileSync(resultFile, 'utf8')) as TestResult;
  } catch {
    console.error('The tests did not run to their end.');
  }
  if (code === 0 || result.failed > 0) return result;
  console.error(`The test process ended with ${signal ?? `exit code ${code}`}.`);
  return { ...result, failed: result.failed + 1 };
}
