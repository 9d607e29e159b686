import { AdminTokenError, adminTokenFile, readAdminToken } from '../admin-token.ts';
import type { Command } from './commands.ts';
import { UsageError } from './usage-error.ts';

/** The service answered and refused; the message is its own sentence. Exit code 1. */
export class CallRefused extends Error {
  override name = 'CallRefused';
}

/** The service is there but cannot do it now: its database is away, or too many logins failed. Exit code 4. */
export class TryLater extends Error {
  override name = 'TryLater';
}

/** Nothing that behaves like the service answered. Exit code 3. */
export class ServiceUnreachable extends Error {
  override name = 'ServiceUnreachable';
}

/** How long an answer is waited for, ms: longer than any statement may take. */
const PATIENCE_MS = 60_000;

/** Where to call, and as whom. */
export interface Connection {
  readonly url: string;
  readonly token: string;
}

/** Settings that say where the service is; read from the same environment as the service reads. */
export type ConnectionEnvironment = Readonly<Record<string, string | undefined>>;

/** Works out where to call. @throws UsageError where an address or the token is missing or wrong */
export function connectionOf(environment: ConnectionEnvironment): Connection {
  const setting = (name: string): string | undefined => environment[name] || undefined;
  const port = setting('ADMIN_PORT') ?? setting('PORT') ?? '8080';
  const url = setting('ADMIN_URL') ?? `http://127.0.0.1:${port}`;
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) {
    throw new UsageError('ADMIN_URL must be a URL such as http://127.0.0.1:8080.');
  }
  const dataDir = setting('DATA_DIR') ?? './.data';
  return { url: url.replace(/\/+$/, ''), token: setting('ADMIN_TOKEN') ?? keptToken(dataDir) };
}

function keptToken(dataDir: string): string {
  let token: string | undefined;
  try {
    token = readAdminToken(dataDir);
  } catch (error: unknown) {
    throw error instanceof AdminTokenError ? new UsageError(error.message) : error;
  }
  if (token !== undefined) return token;
  throw new UsageError(
    `There is no operator token: set ADMIN_TOKEN, or start the service once, which keeps one in ${adminTokenFile(dataDir)} (DATA_DIR says where).`,
  );
}

/**
 * Calls one procedure.
 *
 * @returns what the procedure returned
 * @throws CallRefused, TryLater, ServiceUnreachable
 */
export async function callProcedure(
  connection: Connection,
  command: Pick<Command, 'path' | 'type'>,
  input: Readonly<Record<string, unknown>>,
): Promise<unknown> {
  const json = JSON.stringify(input);
  const base = `${connection.url}/admin/trpc/${command.path}`;
  const query = command.type === 'query';
  let status: number;
  let text: string;
  try {
    const response = await fetch(query ? `${base}?input=${encodeURIComponent(json)}` : base, {
      method: query ? 'GET' : 'POST',
      headers: {
        authorization: `Bearer ${connection.token}`,
        ...(query ? {} : { 'content-type': 'application/json' }),
      },
      body: query ? null : json,
      // A redirect would carry the token to somewhere else.
      redirect: 'error',
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    status = response.status;
    text = await response.text();
  } catch (error: unknown) {
    throw new ServiceUnreachable(
      `The service cannot be reached at ${connection.url} (${reasonOf(error)}); start it with npm start, or set ADMIN_URL to where it listens.`,
    );
  }
  return resultOf(connection, status, text);
}

function resultOf(connection: Connection, status: number, text: string): unknown {
  let answer: { result?: { data?: unknown }; error?: { message?: unknown } } | null;
  try {
    answer = JSON.parse(text) as typeof answer;
  } catch {
    answer = null;
  }
  if (status === 200 && answer?.result !== undefined) return answer.result.data;
  const message = answer?.error?.message;
  if (typeof message !== 'string' || message === '') {
    throw new ServiceUnreachable(
      `What answers at ${connection.url} (status ${status}) is not this service's administrative side; set ADMIN_URL (or PORT, ADMIN_PORT) to where it listens.`,
    );
  }
  if (status === 401) {
    throw new CallRefused(
      'The operator token is not valid there: wrong, expired or revoked. Set ADMIN_TOKEN to a valid one, or DATA_DIR to the folder of that service.',
    );
  }
  if (status === 404 && /no such resource/i.test(message)) {
    throw new ServiceUnreachable(
      `The service at ${connection.url} does not serve its administrative side there; set ADMIN_URL to its ADMIN_PORT.`,
    );
  }
  if (status === 503 || status === 429) throw new TryLater(message);
  throw new CallRefused(message);
}

function reasonOf(error: unknown): string {
  for (let current: unknown = error; current instanceof Error; current = current.cause) {
    if ('code' in current && typeof current.code === 'string') return current.code;
    if (current.name === 'TimeoutError') return `no answer within ${PATIENCE_MS / 1000} seconds`;
    if (current.message === 'unexpected redirect') return 'it redirects elsewhere';
  }
  return 'no connection';
}
