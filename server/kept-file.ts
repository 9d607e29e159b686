import {
  chmodSync,
  linkSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';

/** A text kept in DATA_DIR cannot be read or made; the message says what to do. */
export class KeptFileError extends Error {
  override name = 'KeptFileError';
}

/** Where a text is kept, and the setting that replaces it. */
export interface KeptFile {
  readonly path: string;
  /** The setting to use instead, for messages. */
  readonly setting: string;
}

/**
 * Reads a kept text without white space at its ends; undefined where there is none.
 *
 * @throws KeptFileError
 */
export function readKept({ path, setting }: KeptFile): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error: unknown) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw new KeptFileError(
      `${path} cannot be read (${codeOf(error)}): make it readable for this user, or set ${setting}.`,
    );
  }
}

/**
 * Reads a kept text, made on first use in a file of mode 0600. Processes that start at once agree on one.
 *
 * @throws KeptFileError
 */
export function readOrCreateKept(file: KeptFile, make: () => string): string {
  const { path, setting } = file;
  const kept = readKept(file);
  if (kept !== undefined) {
    // Copies and restored backups may have lost the mode.
    if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600);
    return kept;
  }
  const partial = `${path}.${process.pid}.partial`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(partial, `${make()}\n`, { mode: 0o600, flush: true });
    // Unlike a rename, a link never replaces what another process has made meanwhile.
    linkSync(partial, path);
  } catch (error: unknown) {
    if (codeOf(error) !== 'EEXIST') {
      throw new KeptFileError(
        `${path} cannot be made (${codeOf(error)}): make ${dirname(path)} writable, or set ${setting}.`,
      );
    }
  } finally {
    rmSync(partial, { force: true });
  }
  const made = readKept(file);
  if (made === undefined)
    throw new KeptFileError(`${path} vanished while it was made: start again.`);
  return made;
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
