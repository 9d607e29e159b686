import { writeFileSync } from 'node:fs';
import { readPublishedDocument } from './description.ts';
import { HELP, readOptions, UsageError, type CheckOptions } from './options.ts';
import { Lost, type Time } from './probe.ts';
import { junitReport } from './report-junit.ts';
import { closingLine, textReport } from './report-text.ts';
import { runCheck } from './run.ts';
import type { CheckReport } from './types.ts';

/** What surrounds the command. */
export interface Surroundings {
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Shows the line of progress, or undefined to show none; the last call has an empty text. */
  readonly progress?: (line: string) => void;
  readonly print: (text: string) => void;
  readonly complain: (text: string) => void;
  readonly time?: Time;
}

/** Runs the command. @returns the exit code: 0 agrees, 1 deviates, 2 wrong usage, 3 not reachable */
export async function runContractCheck(around: Surroundings): Promise<number> {
  try {
    const options = readOptions(around.args, around.environment);
    if (options === 'help') {
      around.print(HELP);
      return 0;
    }
    return await check(options, around);
  } catch (error: unknown) {
    if (error instanceof UsageError) {
      around.complain(`${error.message} See --help.`);
      return 2;
    }
    if (error instanceof Lost) {
      around.complain(`The gateway cannot be reached: ${error.message}.`);
      return 3;
    }
    throw error;
  }
}

async function check(options: CheckOptions, around: Surroundings): Promise<number> {
  const { progress = () => undefined } = around;
  let where = '';
  const report: CheckReport = await runCheck({
    ...options,
    document: readPublishedDocument(),
    ...(around.time === undefined ? {} : { time: around.time }),
    onCase: (done, of, next) => {
      where = `${done + 1}/${of}`;
      progress(`${where} ${next}`);
    },
    onWait: (line) => progress(`${where} ${line}`),
  }).finally(() => progress(''));
  around.print(options.json ? JSON.stringify(report, undefined, 2) : textReport(report));
  if (options.json) around.complain(closingLine(report));
  if (options.junit !== undefined) {
    try {
      writeFileSync(options.junit, junitReport(report));
    } catch {
      throw new UsageError('The JUnit file cannot be written.');
    }
  }
  if (report.lost) return 3;
  return report.cases.some(({ outcome }) => outcome === 'deviates') ? 1 : 0;
}
