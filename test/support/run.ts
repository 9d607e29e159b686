/**
 * `npm test`: runs mocha, names once more what failed, and closes with one line, `N passed, N failed`. Arguments are
 * handed to mocha; files and folders among them replace the whole suite. Many files are dealt to three processes that
 * run at the same time, each on a database server of its own: most tests wait more than they work. Exit code 1 on any
 * failure, also when nothing ran.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, globSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import type { TestResult } from './reporter.ts';
import { makeTemporaryDirectory, removeAbandoned } from './temporary.ts';

/** Files from which on more processes are worth their start, and how many there are then. */
const FILES_OF_MANY = 24;
const HANDS = 3;

const root = join(import.meta.dirname, '..', '..');
const mocha = join(
  dirname(createRequire(import.meta.url).resolve('mocha/package.json')),
  'bin',
  'mocha.js',
);
const directory = makeTemporaryDirectory();
const children: ChildProcess[] = [];
// A terminal sends Ctrl-C to all; the children stop their databases first, and this process waits for them.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => children.forEach((child) => child.kill(signal)));
}

const flags = process.argv.slice(2).filter((argument) => !existsSync(resolve(root, argument)));
const files = testFiles(process.argv.slice(2).filter((argument) => !flags.includes(argument)));
const hands = deal(files, files.length < FILES_OF_MANY ? 1 : HANDS);
const running = hands.map((hand, index) => runHand(hand, index));
const total = { passed: 0, failed: 0, skipped: 0 };
const failures: string[] = [];
for (const hand of running) {
  const { result, output } = await hand;
  process.stdout.write(output);
  total.passed += result.passed;
  total.failed += result.failed;
  total.skipped += result.skipped;
  failures.push(...result.failures);
}
rmSync(directory, { recursive: true, force: true });
// One line each begins so, which `.ci/run` looks for.
for (const failure of failures) console.log(`FAILED: ${failure}\n`);
const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : '';
console.log(`${total.passed} passed, ${total.failed} failed${skipped}`);
process.exitCode = total.failed > 0 || total.passed === 0 ? 1 : 0;

/** Every test file, or those named or lying in the folders named. */
function testFiles(named: readonly string[]): string[] {
  if (named.length === 0) return globSync('test/**/*.test.ts', { cwd: root }).sort();
  return named.flatMap((name) =>
    statSync(resolve(root, name)).isDirectory()
      ? globSync(`${name}/**/*.test.ts`, { cwd: root }).sort()
      : [name],
  );
}

/** Neighbours go to different hands, so that long ones of a folder are shared out. */
function deal(all: readonly string[], hands: number): string[][] {
  return Array.from({ length: hands }, (_, hand) =>
    all.filter((_, index) => index % hands === hand),
  );
}

/** Runs mocha on some files. The first hand prints as it goes; what another one says comes when it is done. */
async function runHand(
  hand: readonly string[],
  index: number,
): Promise<{ result: TestResult; output: string }> {
  const resultFile = join(directory, `result-${index}.json`);
  const child = spawn(
    process.execPath,
    [
      mocha,
      '--forbid-only',
      '--reporter',
      join(import.meta.dirname, 'reporter.ts'),
      ...flags,
      ...hand,
    ],
    {
      cwd: root,
      stdio: index === 0 ? 'inherit' : ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, TEST_RESULT_FILE: resultFile },
    },
  );
  children.push(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>(
    (resolve, reject) => {
      child.on('error', reject).on('close', (code, signal) => resolve([code, signal]));
    },
  );
  if (signal !== null) await removeAbandoned();
  return { result: readResult(resultFile, code, signal), output };
}

/** A process that ended badly has failed once more than it could count. */
function readResult(
  resultFile: string,
  code: number | null,
  signal: NodeJS.Signals | null,
): TestResult {
  let result: TestResult = { passed: 0, failed: 0, skipped: 0, failures: [], leaked: [] };
  try {
    result = JSON.parse(readFileSync(resultFile, 'utf8')) as TestResult;
  } catch {
    console.error('The tests did not run to their end.');
  }
  if (result.leaked.length > 0) {
    console.error(
      `The test process was kept alive after its last test by: ${result.leaked.join(', ')}.`,
    );
  }
  if (code === 0 || result.failed > 0) return result;
  console.error(`The test process ended with ${signal ?? `exit code ${code}`}.`);
  return { ...result, failed: result.failed + 1 };
}
