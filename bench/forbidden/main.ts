import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { benignSamples, forbiddenSamples } from '../../test/support/forbidden-corpus.ts';
import { missedShare, ratesOf, refusedShare } from '../../test/support/forbidden-rates.ts';
import { longNumberSamples } from '../../test/support/long-numbers.ts';
import { measureScan } from './speed.ts';

const HELP = `Measures the scan for forbidden data on a generated corpus.

  npm run bench:forbidden                       prints how many harmless values are refused, how many forbidden ones missed,
                                                and what the scan costs
  npm run bench:forbidden -- --write            also replaces the measurements in docs/forbidden-data.md
  npm run bench:forbidden -- --benign 1000000   more harmless values (100,000, and half as many long numbers)
  npm run bench:forbidden -- --forbidden 100000 more forbidden values (10,000)
  npm run bench:forbidden -- --seed 7           other values

Exit codes: 0 within the bounds, 1 out of them, 2 wrong usage.
`;

const PAGE = new URL('../../docs/forbidden-data.md', import.meta.url);
const BEGIN = '<!-- measured: begin -->';
const END = '<!-- measured: end -->';

/** At most this share of a harmless kind refused, and of a forbidden kind missed. */
const REFUSED_AT_MOST = 0.001;
const MISSED_AT_MOST = 0.01;
/** A body of 256 KiB, ms. */
const WORST_AT_MOST = 5;

interface Options {
  readonly benign: number;
  readonly forbidden: number;
  readonly seed: number;
  readonly write: boolean;
}

function readOptions(args: string[]): Options | 'help' | undefined {
  try {
    const { values } = parseArgs({
      args,
      options: {
        benign: { type: 'string', default: '100000' },
        forbidden: { type: 'string', default: '10000' },
        seed: { type: 'string', default: '20260301' },
        write: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) return 'help';
    const [benign, forbidden, seed] = [values.benign, values.forbidden, values.seed].map((text) =>
      /^[1-9]\d{0,7}$/.test(text) ? Number(text) : undefined,
    );
    if (benign === undefined || forbidden === undefined || seed === undefined) return undefined;
    return { benign, forbidden, seed, write: values.write };
  } catch {
    return undefined;
  }
}

const percent = (share: number): string => `${(share * 100).toFixed(2)} %`;
const count = (value: number): string => value.toLocaleString('en');

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map((_, i) => (i === 0 ? '---' : '---:'))), ...rows.map(line)].join(
    '\n',
  );
}

function bench(options: Options, command: string): number {
  const { benign, forbidden, seed } = options;
  const harmless = [
    ...ratesOf(benignSamples(seed, benign)),
    ...ratesOf(longNumberSamples(seed + 2, Math.ceil(benign / 2))),
  ];
  const dresses = ratesOf(forbiddenSamples(seed + 1, forbidden));
  const speed = measureScan();
  const report = [
    `- Command: \`${command}\`\n- Date: ${new Date().toISOString().slice(0, 10)}`,
    `- Machine: ${availableParallelism()} cores (${cpus()[0]?.model.trim() ?? 'unknown'}), Node ${process.version}; one thread`,
    `\nHarmless values (${count(benign + Math.ceil(benign / 2))}):\n`,
    table(
      ['kind', 'values', 'refused, though no card could look so', 'refused, since a card looks so'],
      harmless.map((rate) => [
        rate.kind,
        count(rate.total),
        percent(refusedShare(rate)),
        percent(rate.cardLike / rate.total),
      ]),
    ),
    `\nForbidden values (${count(forbidden)}):\n`,
    table(
      ['dress', 'values', 'missed'],
      dresses.map((rate) => [rate.kind, count(rate.total), percent(missedShare(rate))]),
    ),
    '\nTime of one scan, the fastest of many:\n',
    table(
      ['body', 'milliseconds'],
      speed.map(({ body, milliseconds }) => [body, milliseconds.toFixed(3)]),
    ),
  ].join('\n');
  console.log(report);
  if (options.write) writePage(report);
  const over = [
    ...harmless.filter((rate) => refusedShare(rate) > REFUSED_AT_MOST).map(({ kind }) => kind),
    ...dresses.filter((rate) => missedShare(rate) > MISSED_AT_MOST).map(({ kind }) => kind),
    ...speed.filter(({ milliseconds }) => milliseconds >= WORST_AT_MOST).map(({ body }) => body),
  ];
  if (over.length > 0) console.error(`\nOut of bounds: ${over.join(', ')}.`);
  return over.length === 0 ? 0 : 1;
}

function writePage(report: string): void {
  const page = readFileSync(PAGE, 'utf8');
  const [from, to] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (from < 0 || to < from)
    throw new Error(`${PAGE.pathname} lacks the marks of the measurements`);
  writeFileSync(PAGE, `${page.slice(0, from)}${BEGIN}\n\n${report}\n\n${page.slice(to)}`);
  console.log('\nWritten to docs/forbidden-data.md');
}

const args = process.argv.slice(2);
const options = readOptions(args);
if (options === undefined) {
  console.error(`Not understood.\n\n${HELP}`);
  process.exitCode = 2;
} else if (options === 'help') {
  console.log(HELP);
} else {
  const shown = args.filter((argument) => argument !== '--write');
  const command = ['npm run bench:forbidden', ...(shown.length > 0 ? ['--', ...shown] : [])];
  process.exitCode = bench(options, command.join(' '));
}
