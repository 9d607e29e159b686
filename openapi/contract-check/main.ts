import { runContractCheck } from './cli.ts';

const { stderr } = process;

// A reader that closes early (`| head`) has seen enough; that is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

process.exitCode = await runContractCheck({
  args: process.argv.slice(2),
  environment: process.env,
  print: (text) => console.log(text),
  complain: (text) => console.error(text),
  // One line that is written over and over; a log file would get one for each case.
  ...(stderr.isTTY
    ? {
        progress: (line: string) =>
          void stderr.write(`\r\u001b[2K${line.slice(0, Math.max(20, stderr.columns - 1))}`),
      }
    : {}),
});
