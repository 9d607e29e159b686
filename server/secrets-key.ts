import { hash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { SecretsKey } from '../ledger/secret-box.ts';
import { KeptFileError, readOrCreateKept } from './kept-file.ts';

/** Where the generated key is kept. */
export const secretsKeyFile = (dataDir: string): string => join(dataDir, 'secrets-key');

const ID = /^[A-Za-z0-9_-]{1,32}$/;

/**
 * Reads `[id:]base64` of 32 bytes, comma-separated: the first key encrypts, all decrypt. A key without an id is named
 * by its hash, so that it has the same name in every process.
 *
 * @returns undefined where the text is anything else, or names an id twice
 */
export function parseSecretsKey(text: string): SecretsKey[] | undefined {
  const keys: SecretsKey[] = [];
  for (const part of text.split(',').map((piece) => piece.trim())) {
    const colon = part.indexOf(':');
    const base64 = part.slice(colon + 1);
    if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(base64)) return undefined;
    const key = Buffer.from(base64, 'base64');
    const id = colon === -1 ? hash('sha256', key, 'hex').slice(0, 8) : part.slice(0, colon);
    if (key.length !== 32 || !ID.test(id) || keys.some((known) => known.id === id)) {
      return undefined;
    }
    keys.push({ id, key });
  }
  return keys;
}

/** Keys as {@link parseSecretsKey} reads them: for child processes only. */
export function wordSecretsKeys(keys: readonly SecretsKey[]): string {
  return keys.map(({ id, key }) => `${id}:${key.toString('base64')}`).join(',');
}

/**
 * The keys that signing secrets are sealed with: SECRETS_KEY, or the one kept in DATA_DIR, made on first use.
 *
 * @throws KeptFileError for a file that holds no key or cannot be made
 */
export function chooseSecretsKeys(settings: {
  readonly SECRETS_KEY?: readonly SecretsKey[] | undefined;
  readonly DATA_DIR: string;
}): readonly SecretsKey[] {
  if (settings.SECRETS_KEY !== undefined) return settings.SECRETS_KEY;
  const path = secretsKeyFile(settings.DATA_DIR);
  const text = readOrCreateKept({ path, setting: 'SECRETS_KEY' }, () =>
    randomBytes(32).toString('base64'),
  );
  const keys = parseSecretsKey(text);
  if (keys === undefined) {
    // Unlike a token it must not be made anew: what it sealed would be lost.
    throw new KeptFileError(
      `${path} holds no key (base64 of 32 bytes): restore it from a backup, or set SECRETS_KEY.`,
    );
  }
  return keys;
}
