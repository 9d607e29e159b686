import { randomBytes, timingSafeEqual } from 'node:crypto';
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { hashOperatorToken, OPERATOR_TOKEN_PATTERN } from '../ledger/operator-token.ts';
import { FIRST_ADMINISTRATOR, type Operator } from '../routers/procedure.ts';

/** Characters of a token at least. */
export const TOKEN_LENGTH = 32;

/** An operator before it is known where the call came from. */
export type OperatorIdentity = Pick<Operator, 'name' | 'role'>;

/** Finds who a bearer token belongs to; undefined for a token of nobody. */
export type OperatorOf = (token: string) => Promise<OperatorIdentity | undefined>;

/** The token kept in DATA_DIR cannot be used; the message says what to do. */
export class AdminTokenError extends Error {
  override name = 'AdminTokenError';
}

/** Where the generated token of the first administrator is kept. */
export const adminTokenFile = (dataDir: string): string => join(dataDir, 'admin-token');

/**
 * Reads the token kept in DATA_DIR; undefined where there is none.
 *
 * @throws AdminTokenError for a file that holds no token
 */
export function readAdminToken(dataDir: string): string | undefined {
  const path = adminTokenFile(dataDir);
  let token: string;
  try {
    token = readFileSync(path, 'utf8').trim();
  } catch (error: unknown) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw new AdminTokenError(
      `${path} cannot be read (${codeOf(error)}): make it readable for this user, or set ADMIN_TOKEN.`,
    );
  }
  if (token.length < TOKEN_LENGTH) {
    throw new AdminTokenError(
      `${path} holds no token of at least ${TOKEN_LENGTH} characters: delete it, and the next start makes a new one.`,
    );
  }
  return token;
}

/**
 * The token kept in DATA_DIR, made on first use: 256 random bits in a file of mode 0600. Processes that start at once
 * agree on one.
 *
 * @throws AdminTokenError for a file that holds no token or cannot be made
 */
export function readOrCreateAdminToken(dataDir: string): string {
  const path = adminTokenFile(dataDir);
  const kept = readAdminToken(dataDir);
  if (kept !== undefined) {
    // Copies and restored backups may have lost the mode.
    if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600);
    return kept;
  }
  const partial = `${path}.${process.pid}.partial`;
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    writeFileSync(partial, `${randomBytes(32).toString('base64url')}\n`, {
      mode: 0o600,
      flush: true,
    });
    // Unlike a rename, a link never replaces what another process has made meanwhile.
    linkSync(partial, path);
  } catch (error: unknown) {
    if (codeOf(error) !== 'EEXIST') {
      throw new AdminTokenError(
        `${path} cannot be made (${codeOf(error)}): make ${dataDir} writable, or set ADMIN_TOKEN.`,
      );
    }
  } finally {
    rmSync(partial, { force: true });
  }
  const token = readAdminToken(dataDir);
  if (token === undefined)
    throw new AdminTokenError(`${path} vanished while it was made: start again.`);
  return token;
}

/** The first administrator's token: ADMIN_TOKEN, or the one kept in DATA_DIR, whose file is named for people. */
export function chooseAdminToken(settings: {
  readonly ADMIN_TOKEN?: string | undefined;
  readonly DATA_DIR: string;
}): { readonly token: string; readonly file: string | undefined } {
  if (settings.ADMIN_TOKEN !== undefined) return { token: settings.ADMIN_TOKEN, file: undefined };
  return {
    token: readOrCreateAdminToken(settings.DATA_DIR),
    file: adminTokenFile(settings.DATA_DIR),
  };
}

/**
 * Knows the first administrator without a database, and everybody else from it. Tokens are compared by SHA-256 (that of
 * the first administrator in constant time), so neither length nor contents show in the time a refusal takes.
 *
 * @param stored finds the operator of a token's SHA-256
 */
export function createOperatorOf(
  adminToken: string,
  stored: (tokenHash: Buffer) => Promise<OperatorIdentity | undefined> = () =>
    Promise.resolve(undefined),
): OperatorOf {
  const expected = hashOperatorToken(adminToken);
  const administrator: OperatorIdentity = { name: FIRST_ADMINISTRATOR, role: 'administrator' };
  return async (token) => {
    const given = hashOperatorToken(token);
    if (timingSafeEqual(given, expected)) return administrator;
    return OPERATOR_TOKEN_PATTERN.test(token) ? stored(given) : undefined;
  };
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
