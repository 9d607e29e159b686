import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { GROUPS, type Group } from './cases/case.ts';

/** A command line that cannot be followed; the message is for the person who typed it. */
export class UsageError extends Error {}

/** What the command line and the environment ask for. */
export interface CheckOptions {
  readonly baseUrl: URL;
  readonly sandboxKey: string;
  readonly productionKey?: string;
  readonly restrictedKey?: string;
  readonly skip: ReadonlySet<Group>;
  readonly evaluationMs: number;
  readonly json: boolean;
  readonly junit?: string;
}

/** Text of --help. */
export const HELP = `Checks a running gateway against the published description of /v1 (openapi/openapi.json).

  npm run contract-check -- <base-url> [options]

Keys are read from the environment or from files, never from arguments, which others can see:
  CONTRACT_CHECK_SANDBOX_KEY       --sandbox-key-file FILE      required: submission, usage, every error in reach
  CONTRACT_CHECK_PRODUCTION_KEY    --production-key-file FILE   key of a Site kept for this check: all five operations.
                                                                A run leaves 8 events in its ledger and one label
  CONTRACT_CHECK_RESTRICTED_KEY    --restricted-key-file FILE   production key without the permissions ingest and
                                                                label: the refusal 403

Options:
  --skip GROUP              leaves a part out; may be repeated: ${GROUPS.join(', ')}
  --evaluation-seconds N    longest wait for an evaluation (300)
  --json                    prints the report as JSON instead of tables
  --junit FILE              writes the report as JUnit XML, too
  --help

It keeps to the rate limit of each key and waits for as long as Retry-After says. The part "rate limit" uses up the
sandbox key for a minute; the part "http" holds one connection open until the gateway gives it up. A run takes one to
two minutes. NODE_EXTRA_CA_CERTS names the certificate of a gateway with an authority of its own.

Exit codes: 0 everything agrees, 1 something deviates, 2 wrong usage, 3 the gateway cannot be reached.
`;

/** Reads the command line. @throws UsageError */
export function readOptions(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): CheckOptions | 'help' {
  const { values, positionals } = parse(args);
  if (values.help === true) return 'help';
  const [address, ...rest] = positionals;
  if (address === undefined) throw new UsageError('Give the base address of the gateway.');
  if (rest.length > 0) throw new UsageError('Give one base address only.');
  const keyOf = (name: string, file: string | undefined): string | undefined =>
    checkedKey(name, file === undefined ? environment[name] : readKey(name, file));
  const sandboxKey = keyOf('CONTRACT_CHECK_SANDBOX_KEY', values['sandbox-key-file']);
  if (sandboxKey === undefined) {
    throw new UsageError('Set CONTRACT_CHECK_SANDBOX_KEY or --sandbox-key-file.');
  }
  if (sandboxKey.startsWith('trk_prod_')) {
    throw new UsageError('CONTRACT_CHECK_SANDBOX_KEY holds a production key; use a sandbox key.');
  }
  const productionKey = keyOf('CONTRACT_CHECK_PRODUCTION_KEY', values['production-key-file']);
  const restrictedKey = keyOf('CONTRACT_CHECK_RESTRICTED_KEY', values['restricted-key-file']);
  return {
    baseUrl: baseUrlOf(address),
    sandboxKey,
    ...(productionKey === undefined ? {} : { productionKey }),
    ...(restrictedKey === undefined ? {} : { restrictedKey }),
    skip: new Set((values.skip ?? []).map(groupOf)),
    evaluationMs: secondsOf(values['evaluation-seconds'] ?? '300') * 1000,
    json: values.json === true,
    ...(values.junit === undefined ? {} : { junit: values.junit }),
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        'sandbox-key-file': { type: 'string' },
        'production-key-file': { type: 'string' },
        'restricted-key-file': { type: 'string' },
        skip: { type: 'string', multiple: true },
        'evaluation-seconds': { type: 'string' },
        json: { type: 'boolean' },
        junit: { type: 'string' },
        help: { type: 'boolean' },
      },
    });
  } catch {
    // Node's message repeats the argument, which may be a key.
    throw new UsageError('An option is unknown or lacks its value.');
  }
}

function readKey(name: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    throw new UsageError(`The key file for ${name} cannot be read.`);
  }
}

function checkedKey(name: string, text: string | undefined): string | undefined {
  const key = text?.trim();
  if (key === undefined || key === '') return undefined;
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new UsageError(`${name} must be one API key, without blanks.`);
  return key;
}

function baseUrlOf(address: string): URL {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new UsageError('The base address must begin with http:// or https://.');
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new UsageError('The base address must not hold a user, a query or a fragment.');
  }
  return url;
}

function groupOf(text: string): Group {
  const group = GROUPS.find((name) => name === text);
  if (group === undefined) throw new UsageError(`--skip takes one of: ${GROUPS.join(', ')}.`);
  return group;
}

function secondsOf(text: string): number {
  if (!/^[1-9]\d{0,4}$/.test(text)) {
    throw new UsageError('--evaluation-seconds takes a whole number of seconds, at least 1.');
  }
  return Number(text);
}
