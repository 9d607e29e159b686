import { isIP } from 'node:net';
import { availableParallelism } from 'node:os';
import { z } from 'zod';
import { parseSecretsKey } from './secrets-key.ts';

/** A setting is missing or wrong; the message names it and says what to do. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

const integer = (name: string, min: number, max: number, fallback: number) =>
  z
    .string()
    .regex(/^\d+$/)
    .transform(Number)
    .refine((value) => value >= min && value <= max)
    .default(fallback)
    .meta({ says: `${name} must be a whole number from ${min} to ${max}` });

const choice = <const Values extends readonly [string, ...string[]]>(
  name: string,
  values: Values,
  fallback: Values[number],
) =>
  z
    .enum(values)
    .default(fallback as never)
    .meta({ says: `${name} must be one of ${values.join(', ')}` });

const postgresUrl = (name: string) =>
  z
    .string()
    .refine((value) => /^postgres(ql)?:\/\//.test(value) && URL.canParse(value))
    .optional()
    .meta({ says: `${name} must be a URL such as postgres://user:password@host:5432/database` });

/** An address, or one with the length of its network's prefix. */
function isNetwork(text: string): boolean {
  const [, address = '', prefix = '0'] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const version = isIP(address);
  return version !== 0 && Number(prefix) <= (version === 6 ? 128 : 32);
}

const SETTINGS = {
  PORT: integer('PORT', 0, 65_535, 8080),
  HOST: z
    .string()
    .min(1)
    .default('127.0.0.1')
    .meta({ says: 'HOST must be an address to listen on' }),
  ADMIN_PORT: z
    .string()
    .regex(/^\d+$/)
    .transform(Number)
    .refine((value) => value >= 1 && value <= 65_535)
    .optional()
    .meta({ says: 'ADMIN_PORT must be a whole number from 1 to 65535' }),
  DATABASE_URL: postgresUrl('DATABASE_URL'),
  MIGRATION_DATABASE_URL: postgresUrl('MIGRATION_DATABASE_URL'),
  DATABASE_BACKEND: choice('DATABASE_BACKEND', ['postgres', 'citus'], 'postgres'),
  DATA_DIR: z.string().min(1).default('./.data').meta({ says: 'DATA_DIR must be a folder' }),
  ROLE: choice('ROLE', ['all', 'api', 'worker'], 'all'),
  PROCESSES: integer('PROCESSES', 1, 64, 1),
  ENVIRONMENT: choice('ENVIRONMENT', ['both', 'production', 'sandbox'], 'both'),
  ADMIN_TOKEN: z
    .string()
    .min(32)
    .optional()
    .meta({ says: 'ADMIN_TOKEN must have at least 32 characters' }),
  SECRETS_KEY: z
    .string()
    .transform((value, context) => {
      const keys = parseSecretsKey(value);
      if (keys !== undefined) return keys;
      context.addIssue('is no list of keys');
      return z.NEVER;
    })
    .optional()
    .meta({
      says: 'SECRETS_KEY must be base64 of 32 bytes, or several such as new:base64,old:base64 under different names',
    }),
  WEBHOOK_ALLOW_PRIVATE_NETWORKS: choice(
    'WEBHOOK_ALLOW_PRIVATE_NETWORKS',
    ['false', 'true'],
    'false',
  )
    .transform((value) => value === 'true')
    .meta({ says: 'WEBHOOK_ALLOW_PRIVATE_NETWORKS must be one of false, true' }),
  WEBHOOK_RETRY_SECONDS: z
    .string()
    .regex(/^\d{1,7}(,\d{1,7}){0,19}$/)
    .transform((value) => value.split(',').map(Number))
    .refine((waits) => waits.every((seconds) => seconds >= 1 && seconds <= 604_800))
    .default([5, 300, 1800, 7200, 18_000, 36_000, 36_000])
    .meta({
      says: 'WEBHOOK_RETRY_SECONDS must be 1 to 20 whole numbers from 1 to 604800, such as 5,300,1800',
    }),
  // What happens while an endpoint is off is promised for 30 days; held deliveries are looked for over 400.
  WEBHOOK_RETENTION_DAYS: integer('WEBHOOK_RETENTION_DAYS', 30, 366, 35),
  EVALUATION_THREADS: z
    .string()
    .regex(/^\d+$/)
    .transform(Number)
    .refine((value) => value >= 1 && value <= 16)
    .optional()
    .meta({ says: 'EVALUATION_THREADS must be a whole number from 1 to 16' }),
  EVALUATION_RETRY_LIMIT: integer('EVALUATION_RETRY_LIMIT', 0, 50, 5),
  EVALUATION_RETRY_DELAY_SECONDS: integer('EVALUATION_RETRY_DELAY_SECONDS', 1, 3600, 2),
  PAYLOAD_RETENTION_DAYS: integer('PAYLOAD_RETENTION_DAYS', 1, 36_500, 400),
  TRUSTED_PROXIES: z
    .string()
    .transform((value) => value.split(',').map((part) => part.trim()))
    .refine((parts) => parts.every(isNetwork))
    .default([])
    .meta({ says: 'TRUSTED_PROXIES must be networks such as 10.0.0.0/8,192.0.2.7' }),
  LOG_LEVEL: choice(
    'LOG_LEVEL',
    ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
    'info',
  ),
} as const;

const schema = z.object(SETTINGS);

/** The settings as the environment gives them; see the table in README. */
export type Settings = Readonly<z.infer<typeof schema>>;

/**
 * Reads and checks the environment: the only reader of process.env. An empty value counts as unset.
 *
 * @throws ConfigError naming every wrong setting; never its value, which may be a secret
 */
export function readSettings(environment: NodeJS.ProcessEnv = process.env): Settings {
  const settings = parseSettings(environment);
  if (settings.ADMIN_PORT === settings.PORT) {
    throw new ConfigError(
      'ADMIN_PORT must differ from PORT; leave it out where both sides share one.',
    );
  }
  if (settings.DATABASE_URL !== undefined && settings.ADMIN_TOKEN === undefined) {
    throw new ConfigError(
      'ADMIN_TOKEN (at least 32 characters) must be set together with DATABASE_URL, so that all processes share it.',
    );
  }
  if (settings.DATABASE_URL !== undefined && settings.SECRETS_KEY === undefined) {
    throw new ConfigError(
      'SECRETS_KEY (base64 of 32 bytes) must be set together with DATABASE_URL, so that all processes share it and it outlives this machine.',
    );
  }
  const schedule = settings.WEBHOOK_RETRY_SECONDS.reduce((sum, seconds) => sum + seconds, 0);
  if (2 * schedule > settings.WEBHOOK_RETENTION_DAYS * 86_400) {
    throw new ConfigError(
      'WEBHOOK_RETRY_SECONDS must add up to at most half of WEBHOOK_RETENTION_DAYS: a receiver may double each wait, and what is older than that is dropped.',
    );
  }
  return Object.freeze(settings);
}

/** What a command beside the service needs to reach its database. */
export type DatabaseSettings = Pick<Settings, (typeof DATABASE_SETTINGS)[number]>;

const DATABASE_SETTINGS = [
  'DATABASE_URL',
  'MIGRATION_DATABASE_URL',
  'DATABASE_BACKEND',
  'DATA_DIR',
] as const;

/** Reads only those: what else a service needs beside DATABASE_URL no backup needs. @throws ConfigError */
export function readDatabaseSettings(
  environment: NodeJS.ProcessEnv = process.env,
): DatabaseSettings {
  return parseSettings(
    Object.fromEntries(DATABASE_SETTINGS.map((name) => [name, environment[name]])),
  );
}

function parseSettings(environment: NodeJS.ProcessEnv): z.infer<typeof schema> {
  const given = Object.fromEntries(
    Object.keys(SETTINGS).flatMap((name) => {
      const value = environment[name];
      return value === undefined || value === '' ? [] : [[name, value]];
    }),
  );
  const result = schema.safeParse(given);
  if (!result.success) {
    const names = new Set(result.error.issues.map((issue) => String(issue.path[0])));
    const says = [...names].map((name) => {
      const setting = SETTINGS[name as keyof typeof SETTINGS];
      const says = setting.meta()?.['says'];
      return typeof says === 'string' ? says : `${name} is wrong`;
    });
    throw new ConfigError(`${says.join('; ')}.`);
  }
  const settings = result.data;
  if (settings.DATABASE_URL === undefined && settings.MIGRATION_DATABASE_URL !== undefined) {
    throw new ConfigError('MIGRATION_DATABASE_URL needs DATABASE_URL as well.');
  }
  if (settings.DATABASE_URL === undefined && settings.DATABASE_BACKEND === 'citus') {
    throw new ConfigError(
      'DATABASE_BACKEND=citus needs DATABASE_URL: the embedded database is PostgreSQL.',
    );
  }
  return settings;
}

/** Threads that judge unless a setting says otherwise, at most: the database they share is the limit then. */
const MOST_THREADS = 4;

/** On how many threads events are judged: one for each core, or for each two where requests are answered here too. */
export function evaluationThreadsOf({ EVALUATION_THREADS, ROLE }: Settings): number {
  if (EVALUATION_THREADS !== undefined) return EVALUATION_THREADS;
  const cores = ROLE === 'worker' ? availableParallelism() : availableParallelism() / 2;
  return Math.min(MOST_THREADS, Math.max(1, Math.floor(cores)));
}
