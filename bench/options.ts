import { parseArgs } from 'node:util';

/** Every scenario with the line `--help` says about it. */
export const SCENARIOS = {
  ingest: '64 connections at saturation: reference, peer, service side by side (the gate)',
  connections: 'the service at 1, 16, 64 and 256 connections',
  steady: '500 events per second: latency of the service beside the reference at the same rate',
  replays: 'events that were accepted before, sent again with the same key',
  status: 'look-ups of evaluated ingestions',
  evaluation: 'a prepared backlog drained by a worker alone: by the rules, and with a live model',
  together:
    'ingest and evaluation in one process: the highest rate at which the backlog stays flat',
  overload: 'ten times the connections, then 256 KiB bodies: refusals, latency, memory, recovery',
  growth: 'ten million ledger rows: ingest over a checkpoint cycle',
  entities: 'events of a card and a merchant with a million events beside those never seen',
  'rate-limit': 'ways of keeping the rate limit side by side, and its share of the ingest path',
} as const;

/** Name of a scenario. */
export type ScenarioName = keyof typeof SCENARIOS;

/** What one run does. */
export interface BenchOptions {
  readonly scenarios: readonly ScenarioName[];
  readonly quick: boolean;
  readonly rounds: number;
  readonly seconds: number;
  readonly warmUpSeconds: number;
  readonly write: boolean;
  /** Whether the conventional peer takes part (its package is installed on demand). */
  readonly peer: boolean;
}

/** The text of `--help`. */
export const HELP = `Measures the service beside a database reference and a conventional peer, on one machine, in one run.

  npm run bench                                   every scenario, three rounds of ten seconds each
  npm run bench -- --quick                        one short round, to see that it works
  npm run bench -- --scenario ingest[,steady]     only these
  npm run bench -- --rounds N --seconds N         more or longer rounds
  npm run bench -- --no-peer                      without the peer, which is installed from the registry on demand
  npm run bench -- --write | --no-write           whether bench/RESULTS.md gets the scenarios that ran, those that did not
                                                  keep their figures (default: at full length)

Scenarios:
${Object.entries(SCENARIOS)
  .map(([name, line]) => `  ${name.padEnd(12)} ${line}`)
  .join('\n')}

The database is the embedded PostgreSQL with durable commits, in a temporary directory. Every round of every way starts
on a fresh copy of the same migrated database, with an empty backlog (growth: on the grown one, its jobs cleared).
`;

/** Reads the command line. @throws TypeError with a sentence for a person */
export function readOptions(args: readonly string[]): BenchOptions | 'help' {
  const { values } = parseArgs({
    args: [...args],
    allowNegative: true,
    options: {
      help: { type: 'boolean', short: 'h' },
      quick: { type: 'boolean', default: false },
      scenario: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      write: { type: 'boolean' },
      peer: { type: 'boolean', default: true },
    },
  });
  if (values.help === true) return 'help';
  const { quick } = values;
  const rounds = wholeNumber('--rounds', values.rounds, quick ? 1 : 3);
  const seconds = wholeNumber('--seconds', values.seconds, quick ? 3 : 10);
  const scenarios =
    values.scenario === undefined ? allScenarios() : values.scenario.split(',').map(scenarioOf);
  return {
    scenarios,
    quick,
    rounds,
    seconds,
    warmUpSeconds: quick ? 2 : 4,
    write: values.write ?? (!quick && rounds >= 3 && seconds >= 10),
    peer: values.peer,
  };
}

const allScenarios = (): ScenarioName[] => Object.keys(SCENARIOS) as ScenarioName[];

function scenarioOf(name: string): ScenarioName {
  const found = allScenarios().find((known) => known === name.trim());
  if (found === undefined) {
    throw new TypeError(
      `There is no scenario of that name; choose from ${allScenarios().join(', ')}.`,
    );
  }
  return found;
}

function wholeNumber(name: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  if (!/^[1-9]\d{0,3}$/.test(text))
    throw new TypeError(`${name} must be a whole number from 1 to 9999.`);
  return Number(text);
}
