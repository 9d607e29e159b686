import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { buildDocument } from './document.ts';
import { formatDocument } from './format-document.ts';

const HELP = `Writes openapi/openapi.json from the procedures of /v1.

  npm run openapi                writes the file
  npm run openapi -- --check     writes nothing; exit code 1 where the file is stale
`;

const TARGET = new URL('openapi.json', import.meta.url);

/** Returns the exit code: 0 done, 1 stale, 2 not understood. */
function main(): number {
  let options: { check?: boolean; help?: boolean };
  try {
    options = parseArgs({
      options: { check: { type: 'boolean' }, help: { type: 'boolean' } },
    }).values;
  } catch {
    console.error(`Unknown arguments.\n\n${HELP}`);
    return 2;
  }
  if (options.help === true) {
    console.log(HELP);
    return 0;
  }
  const text = formatDocument(buildDocument());
  const current = readCurrent() === text;
  if (options.check === true) {
    if (!current) {
      console.error('openapi/openapi.json is stale: run `npm run openapi` and commit the file.');
    }
    return current ? 0 : 1;
  }
  if (!current) writeFileSync(TARGET, text);
  console.log(current ? 'openapi/openapi.json is current.' : 'openapi/openapi.json is written.');
  return 0;
}

function readCurrent(): string | undefined {
  try {
    return readFileSync(TARGET, 'utf8');
  } catch (error: unknown) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

process.exitCode = main();
