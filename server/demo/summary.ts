import { styleText } from 'node:util';
import type { OutcomeLabel } from '../../contract/outcome.ts';
import type { RiskDecision } from '../../contract/risk.ts';
import type { ProductionUsage } from '../../contract/usage.ts';
import type { IssuedCredential } from './keyring.ts';
import { nextSteps } from './next-steps.ts';
import { count } from './progress.ts';
import type { SentEvent } from './send.ts';
import type { Percentiles, Share, Tally } from './tally.ts';
import { roundsOf } from './traffic.ts';
import type { Evaluation } from './wait.ts';

/** Everything a finished demo has to tell. */
export interface DemoReport {
  readonly run: string;
  readonly seed: string;
  readonly seconds: number;
  readonly credentials: number;
  readonly sent: readonly SentEvent[];
  readonly sendingMs: number;
  /** Calls that were repeated, as the contract asks for 429, 5xx and lost connections. */
  readonly repeats: number;
  readonly accept: Percentiles;
  readonly evaluation: Evaluation;
  readonly tally: Tally;
  readonly labels: ReadonlyMap<OutcomeLabel, number>;
  readonly usage: ProductionUsage['quota'];
  readonly baseUrl: string;
  readonly production: IssuedCredential;
  readonly sandbox: IssuedCredential;
}

type Paint = (format: Parameters<typeof styleText>[0], text: string) => string;

const COLOURS: Record<RiskDecision, Parameters<typeof styleText>[0]> = {
  ALLOW: 'green',
  REVIEW: 'yellow',
  HOLD_RECOMMENDED: 'magenta',
  BLOCK_RECOMMENDED: 'red',
};

const LEVELS: Record<RiskDecision, string> = {
  ALLOW: 'low',
  REVIEW: 'medium',
  HOLD_RECOMMENDED: 'high',
  BLOCK_RECOMMENDED: 'critical',
};

const REASONS = 6;
const BAR = 30;
/** The widest line, but for the ones to paste. */
const WIDTH = 100;

/** The closing text; its last lines hold two API keys, which were made for the reader a moment ago. */
export function summaryOf(report: DemoReport, colour: boolean): string {
  const paint: Paint = (format, text) =>
    colour ? styleText(format, text, { validateStream: false }) : text;
  const title = (text: string): string => `  ${paint('bold', text)}`;
  const { tally } = report;
  const lines = [
    '',
    `  ${paint(['bold', 'green'], 'A day of payments, sent and judged')} in ${report.seconds.toFixed(1)} s   ${paint('dim', `Site demo, run ${report.run}, seed ${report.seed}`)}`,
    '',
    ...flow(report),
    '',
    title('Decisions'),
    ...decisions(tally, paint),
    '',
    title('Top reasons') +
      paint('dim', '   (of events that were not allowed; figures are of one of them)'),
    ...reasons(tally),
    '',
    title('Planted fraud') + paint('dim', '   (caught = any decision but ALLOW)'),
    ...planted(report, paint),
    '',
    title('Afterwards'),
    row('Labels', labels(report.labels)),
    row('Usage', usage(report)),
    '',
    title('Go on') +
      paint(
        'dim',
        '   (these lines hold API keys of the demo Site, made for you just now and shown only here)',
      ),
    '',
    ...nextSteps(report).flatMap(({ about, line }) => [paint('dim', `# ${about}`), line, '']),
  ];
  return `${lines.join('\n')}\n`;
}

const row = (name: string, text: string): string => `    ${name.padEnd(20)}${text}`;

function flow({
  sent,
  sendingMs,
  repeats,
  credentials,
  accept,
  tally: { resultMs },
}: DemoReport): string[] {
  const rate = Math.round((sent.length / sendingMs) * 1000);
  return [
    row(
      'Accepted',
      `${count(sent.length)} events at ${count(rate)} per second, over ${credentials} credentials${repeats === 0 ? '' : `, ${count(repeats)} calls repeated`}`,
    ),
    row(
      'Time to the 202',
      `p50 ${milliseconds(accept.p50)}   p95 ${milliseconds(accept.p95)}   p99 ${milliseconds(accept.p99)}`,
    ),
    row(
      '202 to the result',
      `p50 ${milliseconds(resultMs.p50)}   p95 ${milliseconds(resultMs.p95)}`,
    ),
  ];
}

function decisions({ decisions }: Tally, paint: Paint): string[] {
  const total = decisions.reduce((sum, each) => sum + each.count, 0);
  return decisions.map(({ decision, count: found }) => {
    // Whatever happened at all is seen.
    const length = found === 0 ? 0 : Math.max(1, Math.round((found / total) * BAR));
    const name = `${decision.padEnd(20)}${LEVELS[decision].padEnd(9)}`;
    return `    ${name}${count(found).padStart(7)}  ${percent({ count: found, of: total }).padStart(7)}  ${paint(COLOURS[decision], '█'.repeat(length))}`;
  });
}

function reasons({ reasons }: Tally): string[] {
  if (reasons.length === 0) return ['    none'];
  return reasons
    .slice(0, REASONS)
    .map(({ example, count: found }) => `    ${count(found).padStart(4)}  ${shortened(example)}`);
}

/** Thresholds, in brackets at the end, are for those who look closer. */
function shortened(sentence: string): string {
  const plain = sentence.replace(/\s*\([^()]*\)\.?$/, '').replace(/\.$/, '');
  const room = WIDTH - 10;
  return plain.length <= room ? plain : `${plain.slice(0, room - 1)}…`;
}

function planted({ sent, tally: { patterns, falseAlarms } }: DemoReport, paint: Paint): string[] {
  // Of several thieves at once, which event was whose first cannot be told by counting.
  const alone = roundsOf(sent.length) === 1;
  const rows = patterns.map(({ pattern, firstNoticed, ...share }) => {
    const mark = share.count === 0 ? paint('red', '✗') : paint('green', '✓');
    const first =
      alone && firstNoticed !== undefined ? `  noticed at its ${ordinal(firstNoticed)} event` : '';
    return `  ${mark} ${capital(pattern).padEnd(20)}${outOf(share)}${first}`;
  });
  return [...rows, `    ${'False alarms'.padEnd(20)}${outOf(falseAlarms)}  of ordinary events`];
}

const outOf = (share: Share): string =>
  `${count(share.count).padStart(4)} of ${count(share.of).padEnd(6)}${percent(share).padStart(7)}`;

const percent = ({ count: part, of }: Share): string =>
  of === 0 ? '-' : `${((part / of) * 100).toFixed(1)} %`;

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

function ordinal(place: number): string {
  const ending = ['th', 'st', 'nd', 'rd'][place % 10] ?? 'th';
  return `${place}${place % 100 >= 11 && place % 100 <= 13 ? 'th' : ending}`;
}

function labels(counts: DemoReport['labels']): string {
  if (counts.size === 0) return 'none sent';
  return [...counts].map(([label, found]) => `${found} ${label}`).join(', ');
}

function usage({ usage: { period, accepted, limit, remaining }, production }: DemoReport): string {
  return `credential ${production.credentialId}: ${count(accepted)} of ${count(limit)} in ${period}, ${count(remaining)} left`;
}

function milliseconds(value: number): string {
  if (Number.isNaN(value)) return '-';
  return value >= 1000 ? `${(value / 1000).toFixed(2)} s` : `${Math.round(value)} ms`;
}
