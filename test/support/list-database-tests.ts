/**
 * Prints the test files that CI runs on a second server version: those of the rooms that speak SQL, as far as they use a
 * database, directly or through other files of test/. Processes, sockets and crashes are the same on every version.
 */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';

const tests = dirname(import.meta.dirname);
const database = join(import.meta.dirname, 'database.ts');
const known = new Map<string, boolean>();

const ROOMS = ['entities', 'ledger', 'jobs', 'routers', 'api'];

for (const file of globSync(`{${ROOMS.join(',')}}/**/*.test.ts`, { cwd: tests }).sort()) {
  const path = join(tests, file);
  if (usesDatabase(path)) console.log(relative(dirname(tests), path));
}

function usesDatabase(path: string): boolean {
  if (path === database) return true;
  const before = known.get(path);
  if (before !== undefined) return before;
  // Ends the recursion where files import each other.
  known.set(path, false);
  const uses = importsOf(path).some(usesDatabase);
  known.set(path, uses);
  return uses;
}

/** The files of test/ that a file imports, statically or not; types alone do not count. */
function importsOf(path: string): string[] {
  const source = readFileSync(path, 'utf8').replaceAll(/^import type .*$/gm, '');
  const found = source.matchAll(/(?:from|import\(|import) ?'(\.[^']+\.ts)'/g);
  const paths = [...found].map((match) => join(dirname(path), match[1] ?? ''));
  return paths.filter((imported) => imported.startsWith(tests + sep) && existsSync(imported));
}
