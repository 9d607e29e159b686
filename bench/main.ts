import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startCluster } from './cluster.ts';
import { machineLines } from './machine.ts';
import { HELP, readOptions, type BenchOptions } from './options.ts';
import { markdownOf } from './report.ts';
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
  const parts: string[] = [];
  try {
    for (const name of options.scenarios) {
      tell(`scenario ${name}`);
      for (const table of await Promise.race([
        SCENARIO[name]({ cluster, options, tell }),
        interrupted,
      ])) {
        parts.push(markdownOf(table));
        console.log(`\n${parts.at(-1)}`);
      }
    }
    const command = ['npm run bench', ...(args.length > 0 ? ['--', ...args] : [])].join(' ');
    const how = `Rounds: ${options.rounds} of ${options.seconds} s each after ${options.warmUpSeconds} s of warm-up; medians, ranges in parentheses`;
    const machine = [...machineLines(cluster, command), how].map((line) => `- ${line}`).join('\n');
    console.log(machine);
    if (options.write) {
      writeFileSync(RESULTS, `# What the service reaches\n\n${machine}\n\n${parts.join('\n')}`);
      console.log('\nWritten to bench/RESULTS.md');
    }
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
