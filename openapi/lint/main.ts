/**
 * `npm run openapi:lint`: three judges from outside read openapi/openapi.json: Redocly, Spectral, and openapi-typescript,
 * whose generated types a client must type-check against. They are installed here on demand. Exit code 1 if one objects.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';

const folder = import.meta.dirname;
const document = '../openapi.json';

const JUDGES: Record<string, readonly string[]> = {
  'Redocly (recommended, warnings are errors)': [
    'redocly',
    'lint',
    '--config=redocly.yaml',
    document,
  ],
  'Spectral (spectral:oas, down to hints)': ['spectral', 'lint', '--fail-severity=hint', document],
  'openapi-typescript': ['openapi-typescript', document, '--output', 'generated/v1.d.ts'],
  'a client on the generated types': ['tsc', '--project', 'tsconfig.json'],
};

function run(command: string, args: readonly string[]): boolean {
  const { status, error } = spawnSync(command, args, {
    cwd: folder,
    stdio: 'inherit',
    // None of them may call home.
    env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
  });
  if (error !== undefined) console.error(`${command} cannot be started: ${error.message}`);
  return status === 0;
}

/** npm notes in node_modules what it installed; older than the lock file means stale. */
function isInstalled(): boolean {
  const installed = join(folder, 'node_modules', '.package-lock.json');
  const wanted = join(folder, 'package-lock.json');
  return existsSync(installed) && statSync(installed).mtimeMs >= statSync(wanted).mtimeMs;
}

function main(): number {
  if (!isInstalled() && !run('npm', ['ci', '--ignore-scripts', '--loglevel=error'])) {
    console.error('openapi/lint: its packages cannot be installed; see the lines above.');
    return 1;
  }
  const objections = Object.entries(JUDGES).filter(([name, [program = '', ...args]]) => {
    console.log(`\n== ${name}`);
    return !run(join(folder, 'node_modules', '.bin', program), args);
  });
  for (const [name] of objections) console.error(`openapi/lint: objections by ${name}`);
  return objections.length === 0 ? 0 : 1;
}

process.exitCode = main();
