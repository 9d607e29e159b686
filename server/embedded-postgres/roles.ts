import { Client } from 'pg';
import { codeOf } from './errors.ts';

/** The application's role: may log in and do what migrations grant; owns nothing. */
export const APP_ROLE = 'trk_app';

/** The one database of the service. */
export const DATABASE_NAME = 'transaction_risk';

/**
 * Makes the application's role and the database where they are missing, so a first start cut short after initdb is
 * completed by the next. Cheap to repeat.
 *
 * @param admin   a superuser's session, outside a transaction
 * @param appUrl  how the application will log in; a differing password is set to this one
 */
export async function ensureRoleAndDatabase(
  admin: Client,
  options: { ownerRole: string; appPassword: string; appUrl: string },
): Promise<void> {
  const role = admin.escapeIdentifier(APP_ROLE);
  const password = admin.escapeLiteral(options.appPassword);
  if (!(await exists(admin, 'SELECT 1 FROM pg_roles WHERE rolname = $1', APP_ROLE))) {
    await admin.query(`CREATE ROLE ${role} LOGIN PASSWORD ${password}`);
  }
  // The server's log must not show what callers sent, and messages of refused statements quote it. The application
  // reports its errors itself, without values.
  await admin.query(`ALTER ROLE ${role} SET log_min_messages = 'log'`);
  if (!(await exists(admin, 'SELECT 1 FROM pg_database WHERE datname = $1', DATABASE_NAME))) {
    await createDatabase(admin, { name: DATABASE_NAME, owner: options.ownerRole });
  }
  await restrictDatabase(admin, DATABASE_NAME, APP_ROLE);
  if (!(await accepts(options.appUrl)))
    await admin.query(`ALTER ROLE ${role} PASSWORD ${password}`);
}

/** Creates a database with the service's encoding and order, or as a copy of a template. Not inside a transaction. */
export async function createDatabase(
  admin: Client,
  options: { name: string; owner: string; template?: string },
): Promise<void> {
  const name = admin.escapeIdentifier(options.name);
  const owner = admin.escapeIdentifier(options.owner);
  const source =
    options.template === undefined
      ? `TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'`
      : `TEMPLATE ${admin.escapeIdentifier(options.template)} STRATEGY file_copy`;
  await admin.query(`CREATE DATABASE ${name} OWNER ${owner} ${source}`);
}

/** Lets only the owner and the application's role connect; nobody else's objects, not even temporary ones. */
export async function restrictDatabase(
  admin: Client,
  database: string,
  appRole: string,
): Promise<void> {
  const name = admin.escapeIdentifier(database);
  await admin.query(`REVOKE ALL ON DATABASE ${name} FROM PUBLIC`);
  await admin.query(`GRANT CONNECT ON DATABASE ${name} TO ${admin.escapeIdentifier(appRole)}`);
}

async function exists(admin: Client, query: string, name: string): Promise<boolean> {
  return (await admin.query(query, [name])).rowCount === 1;
}

async function accepts(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return true;
  } catch (error: unknown) {
    if (codeOf(error) === '28P01') return false;
    throw error;
  } finally {
    await client.end().catch(() => undefined);
  }
}
