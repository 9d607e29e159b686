import { parseArgs } from 'node:util';

/** The text of `--help`. */
export const HELP = `Learns a model of one Site while payments come in for all, and measures what that does to them.

  npm run bench:training                     500,000 judged and labelled payments, 500 transactions a second
  npm run bench:training -- --rows 20000     fewer payments, to see that it works
  npm run bench:training -- --rate 250       another rate
  npm run bench:training -- --seconds 30     the rate is measured that long before and after the training (60)
  npm run bench:training -- --write          also writes bench/TRAINING.md

The payments are imported first, which judges every one of them: about as many seconds as there are thousands. Service
and load are processes of their own beside an embedded PostgreSQL in a temporary directory.

Exit codes: 0 within the limits (5 minutes, p99 during the training at most twice that before), 1 beyond one, 2 wrong usage.
`;

/** What one run does. */
export interface TrainingBenchOptions {
  readonly rows: number;
  /** Transactions a second. */
  readonly rate: number;
  /** Length of the phases before and after the training. */
  readonly seconds: number;
  readonly write: boolean;
}

/** Reads the command line; undefined where it is wrong. */
export function readTrainingOptions(args: string[]): TrainingBenchOptions | 'help' | undefined {
  try {
    const { values } = parseArgs({
      args,
      options: {
        help: { type: 'boolean', short: 'h', default: false },
        rows: { type: 'string', default: '500000' },
        rate: { type: 'string', default: '500' },
        seconds: { type: 'string', default: '60' },
        write: { type: 'boolean', default: false },
      },
    });
    if (values.help) return 'help';
    const [rows = 0, rate = 0, seconds = 0] = [values.rows, values.rate, values.seconds].map(
      Number,
    );
    const isRight =
      Number.isInteger(rows) && rows >= 10_000 && rows <= 600_000 && rate > 0 && seconds >= 5;
    return isRight ? { rows, rate, seconds, write: values.write } : undefined;
  } catch {
    return undefined;
  }
}
