import { existsSync, realpathSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { codeOf, EmbeddedPostgresError, messageOf } from './errors.ts';
import { OWNER_ROLE, readSystemIdentifier } from './initialize.ts';
import type { DataPlace, Home } from './layout.ts';
import { alreadyRunning } from './lock.ts';

/** The held ownership of a running server: a session, and the advisory lock that lives and dies with it. */
export interface Ownership {
  /** For statements of our own on the database `postgres`. */
  readonly client: Client;
  /** e.g. `18.4` */
  readonly serverVersion: string;
  release(): Promise<void>;
}

/** Key of the advisory lock, in the database `postgres`, which nothing else of ours uses. ASCII "TRK", 1. */
const LOCK_KEY = [0x54_52_4b, 1];
/** The session of a killed service ends within milliseconds; slower machines get some patience. */
const LOCK_PATIENCE_MS = 3_000;
const CONNECT_PATIENCE_MS = 10_000;

/** A connection string for a role on this machine. */
export function localUrl(role: string, password: string, port: number, database: string): string {
  return `postgres://${role}:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`;
}

/**
 * Connects to the server that says it runs on our data, checks that it really does (it accepts our password, works in
 * our data directory and has our system identifier), and takes the lock that makes this process its owner.
 *
 * @param onLost  called once if the session ends without `release`
 * @throws EmbeddedPostgresError where the server is not ours, or another service owns it; nothing is changed then
 */
export async function takeOwnership(options: {
  home: Home;
  place: DataPlace;
  port: number;
  password: string;
  signal: AbortSignal;
  onLost(): void;
}): Promise<Ownership> {
  const { home, place, port, signal } = options;
  const client = await connect(place, port, options.password, signal);
  let released = false;
  let lost = false;
  const lose = () => {
    if (released || lost) return;
    lost = true;
    options.onLost();
  };
  client.on('error', lose).on('end', lose);
  const release = async () => {
    released = true;
    await client.end().catch(() => undefined);
  };
  try {
    const serverVersion = await checkIdentity(client, place, port);
    await lock(client, home, signal);
    if (lost) throw new EmbeddedPostgresError('The database ended while it was being taken over.');
    return { client, serverVersion, release };
  } catch (error: unknown) {
    await release();
    throw error;
  }
}

async function connect(
  place: DataPlace,
  port: number,
  password: string,
  signal: AbortSignal,
): Promise<Client> {
  const deadline = performance.now() + CONNECT_PATIENCE_MS;
  for (;;) {
    const client = new Client({
      connectionString: localUrl(OWNER_ROLE, password, port, 'postgres'),
      application_name: 'transaction-risk owner',
      connectionTimeoutMillis: 5_000,
      keepAlive: true,
      options: '-c idle_session_timeout=0 -c statement_timeout=0',
    });
    // A failed connect reports twice: by the promise and, for some failures, by this event.
    client.on('error', () => undefined);
    try {
      await client.connect();
      return client;
    } catch (error: unknown) {
      await client.end().catch(() => undefined);
      if (codeOf(error) === '28P01' || codeOf(error) === '28000') throw foreign(place, port, error);
      if (performance.now() > deadline) {
        throw new EmbeddedPostgresError(
          `The database server of ${place.data} does not answer on port ${port} (${messageOf(error)}): see ${place.log}.`,
          { cause: error },
        );
      }
    }
    await sleep(50, undefined, { signal });
  }
}

async function checkIdentity(client: Client, place: DataPlace, port: number): Promise<string> {
  const { rows } = await client.query<{ data: string; identifier: string; version: string }>(
    `SELECT current_setting('data_directory') AS data, system_identifier::text AS identifier,
            current_setting('server_version') AS version
       FROM pg_control_system()`,
  );
  const found = rows[0];
  if (
    found === undefined ||
    found.identifier !== readSystemIdentifier(place) ||
    !isSameOrMoved(found.data, place)
  ) {
    throw foreign(place, port, undefined);
  }
  return found.version;
}

/** A server whose directory was moved under it still tells the old path, which then names nothing. */
function isSameOrMoved(told: string, place: DataPlace): boolean {
  return !existsSync(told) || realpathSync(told) === realpathSync(place.data);
}

function foreign(place: DataPlace, port: number, cause: unknown): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `The PostgreSQL server on port ${port} that works on ${place.data} is not the one this DATA_DIR was made with (other password or identity): stop it, or set another DATA_DIR.`,
    { cause },
  );
}

async function lock(client: Client, home: Home, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + LOCK_PATIENCE_MS;
  for (;;) {
    const { rows } = await client.query<{ locked: boolean }>(
      'SELECT pg_try_advisory_lock($1, $2) AS locked',
      LOCK_KEY,
    );
    if (rows[0]?.locked === true) return;
    if (performance.now() > deadline) throw alreadyRunning(home);
    await sleep(50, undefined, { signal });
  }
}
