import {
  CallRefused,
  callProcedure,
  connectionOf,
  ServiceUnreachable,
  TryLater,
  type ConnectionEnvironment,
} from './client.ts';
import { adminCommands, type Command } from './commands.ts';
import { buildInput, readCommandLine, stdinReaders, withStdin } from './flags.ts';
import { followTask } from './follow-task.ts';
import { commandHelp, overview, routerHelp } from './help.ts';
import { show } from './table.ts';
import { hashOfFile, takeFile, uploadFile } from './upload-file.ts';
import { suggest, UsageError } from './usage-error.ts';

/** What the command line works with; a terminal is where people read. */
export interface CliWorld {
  readonly args: readonly string[];
  readonly environment: ConnectionEnvironment;
  readonly isTerminal: boolean;
  readonly readStdin: () => Promise<string>;
  readonly print: (text: string) => void;
  readonly complain: (text: string) => void;
  /** Shows one line that replaces the one before, where somebody watches. */
  readonly progress?: (line: string) => void;
}

/** Exit codes a script can rely on. */
export const EXIT = { done: 0, refused: 1, usage: 2, unreachable: 3, tryLater: 4 } as const;

/** What each failure that a person can mend ends with. */
const EXIT_OF = [
  [UsageError, EXIT.usage],
  [CallRefused, EXIT.refused],
  [ServiceUnreachable, EXIT.unreachable],
  [TryLater, EXIT.tryLater],
] as const;

/** Runs one command. @returns the exit code, see {@link EXIT} */
export async function runAdminCli(world: CliWorld): Promise<number> {
  try {
    await perform(world);
    return EXIT.done;
  } catch (error: unknown) {
    const known = EXIT_OF.find(([kind]) => error instanceof kind);
    if (known === undefined || !(error instanceof Error)) throw error;
    world.complain(error.message);
    return known[1];
  }
}

async function perform(world: CliWorld): Promise<void> {
  const commands = adminCommands();
  const line = readCommandLine(world.args);
  const { words, common } = line;
  if (words.length === 0) {
    if (world.args.length > 0 && !common.help) {
      throw new UsageError('Name a router and a procedure first; --help lists them.');
    }
    world.print(overview(commands));
    return;
  }
  const [router = '', procedure, ...rest] = words.flatMap(splitPath);
  const group = commands.filter((command) => command.router === router);
  if (group.length === 0) {
    const routers = [...new Set(commands.map((command) => command.router))];
    throw new UsageError(
      `There is no router ${router}${suggest(router, routers) || '; --help lists them.'}`,
    );
  }
  if (procedure === undefined) {
    if (!common.help) {
      const names = group.map((command) => command.procedure).join(', ');
      throw new UsageError(`Name a procedure of ${router}: ${names}.`);
    }
    world.print(routerHelp(router, group));
    return;
  }
  const command = commandNamed(group, router, procedure);
  if (rest.length > 0) {
    throw new UsageError(`"${rest[0]}" is not expected here; every value needs a flag.`);
  }
  if (common.help) {
    world.print(commandHelp(command));
    return;
  }
  const file = takeFile(command, line.flags);
  const readers = stdinReaders({ ...line, flags: file.flags });
  if (readers.length > 1) {
    throw new UsageError(`Standard input can be read once; ${readers.join(' and ')} both want it.`);
  }
  const stdin = readers.length === 0 ? '' : await world.readStdin();
  const { input: whole } = common;
  const base = whole === undefined ? {} : parseInput(whole === '-' ? stdin : whole);
  const named = file.path === undefined ? {} : { content_hash: await hashOfFile(file.path) };
  const input = buildInput(command, withStdin(file.flags, stdin), { ...base, ...named });
  const connection = connectionOf(world.environment);
  let result = await callProcedure(connection, command, input);
  if (file.path !== undefined) {
    result = await uploadFile(connection, file.path, result, world.progress);
  }
  if (common.wait) result = await followTask(connection, result, world.progress);
  const json = common.json || !world.isTerminal;
  world.print(json ? JSON.stringify(result, null, 2) : show(result));
}

/** `dead-letters` and `dead_letters` are the same; so are `sites.create` and `sites create`. */
const splitPath = (word: string): string[] => word.replaceAll('-', '_').split('.');

function commandNamed(group: readonly Command[], router: string, procedure: string): Command {
  const command = group.find((candidate) => candidate.procedure === procedure);
  if (command !== undefined) return command;
  const names = group.map((candidate) => candidate.procedure);
  throw new UsageError(
    `${router} has no procedure ${procedure}${suggest(procedure, names) || `; it has ${names.join(', ')}.`}`,
  );
}

function parseInput(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new UsageError('--input is not JSON; give one object with the fields of the procedure.');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new UsageError('--input must be one JSON object with the fields of the procedure.');
  }
  return value as Record<string, unknown>;
}
