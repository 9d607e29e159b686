import type { Settings } from './config.ts';

/** What a person wants to know after a start. */
export interface Greeting {
  readonly settings: Settings;
  readonly port: number;
  readonly embedded: boolean;
  /** Where the generated administrator token lies; undefined when ADMIN_TOKEN gave it. */
  readonly tokenFile: string | undefined;
  readonly seconds: number;
}

/** HOST as a URL of this machine can name it. */
export function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}

/** Says where the service listens, where its documentation is and how to get a key. */
export function greet(tell: (line: string) => void, greeting: Greeting): void {
  const { settings, port, embedded, tokenFile, seconds } = greeting;
  const base = `http://${reachable(settings.HOST)}:${port}`;
  const admin =
    settings.ADMIN_PORT === undefined ? base : `http://127.0.0.1:${settings.ADMIN_PORT}`;
  const lines = [
    '',
    `  Transaction Risk service, ready in ${seconds.toFixed(1)} s (role ${settings.ROLE}${settings.PROCESSES > 1 ? `, ${settings.PROCESSES} API processes` : ''})`,
    '',
    `  API        ${base}/v1`,
    `  Docs       ${base}/docs`,
    `  Admin      ${admin}/admin/trpc${tokenFile === undefined ? '' : `   token in ${tokenFile}`}`,
    `  Database   ${embedded ? `embedded PostgreSQL in ${settings.DATA_DIR}` : 'the one DATABASE_URL names'}`,
    '',
    '  See it work:    npm run demo                                (in a second terminal)',
    '  Get a key:      npm run --silent admin -- credentials issue --help',
    '  Stop:           Ctrl-C',
    '',
  ];
  for (const line of lines) tell(line);
}
