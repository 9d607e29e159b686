import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startCluster } from './cluster.ts';
import { machineLines } from './machine.ts';
import { HELP, readOptions, type BenchOptions } from './options.ts';
import { markdownOf } from './report.ts';
import { mergeResults } from './results-file.ts';
import { SCENARIO } from './scenarios/index.ts';

const RESULTS = join(import.meta.dirname, 'RESULTS.md');

async function bench(options: BenchOptions, args: readonly string[]): Promise<void> {
  const tell = (line: string): void => console.error(`  ${line}`);
  tell('starting an embedded PostgreSQL in a temporary directory');
  const cluster = await startCluster();
  const interrupted = new Promise<never>((_, reject) => {
    const stop = (): void => reject(new Error('Interrupted.'));
    process.once('SIGINT', stop);
    process.once('SIGTERM', stop);
  });
  interrupted.catch(() => undefined);
  const command = ['npm run bench', ...(args.length > 0 ? ['--', ...args] : [])].join(' ');
  const about = [
    ...machineLines(cluster, command),
    `${options.rounds} round${options.rounds === 1 ? '' : 's'} of ${options.seconds} s each after ${options.warmUpSeconds} s of warm-up, unless a table says otherwise; medians, ranges in parentheses`,
  ]
    .map((line) => `- ${line}`)
    .join('\n');
  try {
    for (const name of options.scenarios) {
      tell(`scenario ${name}`);
      const tables = await Promise.race([SCENARIO[name]({ cluster, options, tell }), interrupted]);
      const text = `${about}\n\n${tables.map(markdownOf).join('\n')}`;
      console.log(`\n## Scenario: ${name}\n\n${text}`);
      // After each: a run that is cut short keeps what it has measured.
      if (options.write) {
        const earlier = existsSync(RESULTS) ? readFileSync(RESULTS, 'utf8') : '';
        writeFileSync(RESULTS, mergeResults(earlier, new Map([[name, text]])));
      }
    }
    if (options.write) console.log('Written to bench/RESULTS.md');
  } finally {
    await cluster.stop();
  }
}

try {
  const args = process.argv.slice(2);
  const options = readOptions(args);
  if (options === 'help') console.log(HELP);
  else await bench(options, args);
} catch (error: unknown) {
  console.error(error instanceof Error ? error.message : 'The bench failed.');
  // An interrupted round is still under way.
  process.exit(1);
}
