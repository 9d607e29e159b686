import { text } from 'node:stream/consumers';
import { runAdminCli } from './run.ts';

// A reader that closes early (`| head`) has seen enough; that is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

process.exitCode = await runAdminCli({
  args: process.argv.slice(2),
  environment: process.env,
  isTerminal: process.stdout.isTTY,
  readStdin: () => text(process.stdin),
  print: (line) => console.log(line),
  complain: (line) => console.error(line),
  // One line that is written over and over; a log file gets none.
  ...(process.stderr.isTTY
    ? { progress: (line: string) => void process.stderr.write(`\r\u001b[2K${line}`) }
    : {}),
});
