import { execFile, spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** Where the examples for merchants' developers are. */
export const EXAMPLES = join(import.meta.dirname, '../../docs/examples');

/** A language that an example is written in: how a piece of code that has loaded the example is run. */
export interface Language {
  readonly name: string;
  readonly installed: boolean;
  /** Loads the example, runs the code with `input` at hand, and gives what the code put into `output`. */
  run<T>(example: 'verify_webhook' | 'send_event', code: string, input: unknown): Promise<T>;
}

export const PYTHON: Language = {
  name: 'Python',
  installed: runs('python3'),
  run: (example, code, input) =>
    runProgram(
      ['python3', '-B', '-c'],
      `import json, sys\nsys.path.insert(0, ${JSON.stringify(EXAMPLES)})\nfrom ${example} import *\n` +
        `input = json.loads(sys.argv[1])\n${code}\nprint(json.dumps(output))`,
      input,
    ),
};

export const PHP: Language = {
  name: 'PHP',
  installed: runs('php'),
  run: (example, code, input) =>
    runProgram(
      ['php', '-d', 'display_errors=stderr', '-d', 'error_reporting=-1', '-r'],
      `require '${EXAMPLES}/${example}.php'; $input = json_decode($argv[1], true); ${code} echo json_encode($output);`,
      input,
    ),
};

function runs(program: string): boolean {
  return spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0;
}

/** @throws Error where the program fails or says anything on standard error, as PHP does of a warning */
async function runProgram<T>(
  [program = '', ...options]: string[],
  code: string,
  input: unknown,
): Promise<T> {
  const after = program === 'php' ? ['--'] : [];
  const output = await new Promise<string>((resolve, reject) => {
    execFile(
      program,
      [...options, code, ...after, JSON.stringify(input)],
      { timeout: 15_000 },
      (error, told, complained) =>
        error === null && complained === ''
          ? resolve(told)
          : reject(error ?? new Error(complained)),
    );
  });
  return JSON.parse(output) as T;
}
