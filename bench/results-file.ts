import { SCENARIOS, type ScenarioName } from './options.ts';

const TITLE = '# What the service reaches';

const INTRODUCTION = `Written by \`npm run bench\`; bench/README.md says what each way does and how to read the columns. Each scenario keeps
its own date and command: running one leaves the figures of the others alone.`;

const headingOf = (name: ScenarioName): string => `## Scenario: ${name}`;

/**
 * The text of RESULTS.md with the scenarios measured now in place of their earlier figures, those of other scenarios
 * untouched, all in the order of {@link SCENARIOS}. Text of no known scenario is dropped.
 *
 * @param earlier  the file as it is; empty where there is none
 * @param measured Markdown of each scenario, without its heading
 */
export function mergeResults(earlier: string, measured: ReadonlyMap<ScenarioName, string>): string {
  const known = new Map<string, string>();
  for (const part of earlier.split(/^(?=## Scenario: )/m)) {
    const end = part.indexOf('\n');
    if (end !== -1) known.set(part.slice(0, end).trim(), part.slice(end).trim());
  }
  const parts = [TITLE, INTRODUCTION];
  for (const name of Object.keys(SCENARIOS) as ScenarioName[]) {
    const text = measured.get(name)?.trim() ?? known.get(headingOf(name));
    if (text !== undefined) parts.push(headingOf(name), text);
  }
  return `${parts.join('\n\n')}\n`;
}
