import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { createGunzip } from 'node:zlib';
import { callProcedure, TryLater, type Connection } from './client.ts';
import type { Command } from './commands.ts';
import type { GivenFlag } from './flags.ts';
import { UsageError } from './usage-error.ts';

/** The command that takes a file besides its flags. */
const TAKES_FILE = 'imports.create';

/** Bytes of one upload, as JSON: half of what the service takes at once. */
const PART_BYTES = 512 * 1024;

/** Bytes of a line that is too long: in its place as many are sent, so that the service refuses the line by its number. */
const LINE_BYTES = 256 * 1024 + 1;

/** How long a database that is away is waited for, attempts of a second each. */
const ATTEMPTS = 60;

/** A file to be uploaded, and the flags without it. */
export interface GivenFile {
  readonly path: string | undefined;
  readonly flags: readonly GivenFlag[];
}

/** Takes `--file` from the flags of the command that has it. @throws UsageError without a path */
export function takeFile(command: Pick<Command, 'path'>, flags: readonly GivenFlag[]): GivenFile {
  const given = flags.filter(({ name }) => name === '--file');
  if (command.path !== TAKES_FILE || given.length === 0) return { path: undefined, flags };
  const path = given[0]?.inline ?? given[0]?.following;
  if (path === undefined || path === '' || path === '-' || given.length > 1) {
    throw new UsageError('--file needs the path of one file, which is read twice: not -.');
  }
  return { path, flags: flags.filter(({ name }) => name !== '--file') };
}

/** What help says of it. */
export const fileHelp = ({ path }: Pick<Command, 'path'>): [string, string][] =>
  path === TAKES_FILE
    ? [
        [
          '--file FILE',
          'uploads FILE (one JSON event or label per line; .gz as well) and starts its import; names the content by itself. The same file again goes on where it was cut off',
        ],
      ]
    : [];

/** SHA-256 of a file's content, unpacked, as hex. @throws UsageError where it cannot be read */
export async function hashOfFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  let empty = true;
  await reading(path, async (chunks) => {
    for await (const chunk of chunks) {
      hash.update(chunk as Buffer);
      empty = false;
    }
  });
  if (empty) throw new UsageError(`${path} is empty.`);
  return hash.digest('hex');
}

interface Import {
  readonly import_id: string;
  readonly state: string;
  readonly lines: number;
  readonly task_id: string | null;
}

/**
 * Uploads a file line by line, from the line that the service has not got yet, and starts the import.
 *
 * @param begun  what imports.create answered
 * @returns what imports.commit answered, or the import that was started before
 * @throws UsageError, and what a call throws
 */
export async function uploadFile(
  connection: Connection,
  path: string,
  begun: unknown,
  progress: (line: string) => void = () => undefined,
): Promise<unknown> {
  const { import_id: id, lines: received, state } = begun as Import;
  if (state !== 'UPLOADING') return begun;
  let line = 0;
  let part: string[] = [];
  let bytes = 0;
  const send = async (): Promise<void> => {
    if (part.length === 0) return;
    const input = {
      import_id: id,
      first_line: line - part.length + 1,
      lines: `${part.join('\n')}\n`,
    };
    await patiently(() => callProcedure(connection, mutation('imports.append'), input));
    progress(`import ${id}: ${line} lines sent`);
    part = [];
    bytes = 0;
  };
  await reading(path, async (chunks) => {
    for await (const text of linesOf(chunks)) {
      const size = Buffer.byteLength(JSON.stringify(text));
      if (bytes + size > PART_BYTES) await send();
      line += 1;
      if (line <= received) continue;
      part.push(text);
      bytes += size;
    }
    await send();
  });
  progress('');
  return patiently(() =>
    callProcedure(connection, mutation('imports.commit'), { import_id: id, lines: line }),
  );
}

const mutation = (path: string) => ({ path, type: 'mutation' }) as const;

/** Both calls may be repeated: the service knows which lines it has. */
async function patiently<Answer>(call: () => Promise<Answer>): Promise<Answer> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call();
    } catch (error: unknown) {
      if (!(error instanceof TryLater) || attempt === ATTEMPTS) throw error;
      await sleep(1_000);
    }
  }
}

/** Reads a file, unpacked where it is gzip. @throws UsageError where it cannot be read or unpacked */
async function reading(path: string, work: (chunks: Readable) => Promise<void>): Promise<void> {
  try {
    const packed = await isGzip(path);
    const source = createReadStream(path, { highWaterMark: 1024 * 1024 });
    if (packed) {
      const unpacked = createGunzip();
      await pipeline(source, unpacked, () => work(unpacked));
    } else {
      await work(source);
    }
  } catch (error: unknown) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (/^(E[A-Z]+|Z_[A-Z_]+)$/.test(code))
      throw new UsageError(`${path} cannot be read (${code}).`);
    throw error;
  }
}

async function isGzip(path: string): Promise<boolean> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(2), 0, 2, 0);
    return bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b;
  } finally {
    await file.close();
  }
}

/** The lines of a text, in bounded memory. */
export async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let held: Buffer[] = [];
  let size = 0;
  const keep = (bytes: Buffer): void => {
    if (size < LINE_BYTES) held.push(bytes.subarray(0, LINE_BYTES - size));
    size += bytes.length;
  };
  const take = (): string => {
    const bytes = Buffer.concat(held);
    const isWhole = size < LINE_BYTES;
    held = [];
    size = 0;
    if (!isWhole) return 'x'.repeat(LINE_BYTES);
    // Neither may become something else, or spoil its neighbours: this is no JSON, so it is refused by its number.
    return isUtf8(bytes) && !bytes.includes(0) ? bytes.toString('utf8') : 'not UTF-8';
  };
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      keep(chunk.subarray(from, end));
      yield take();
      from = end + 1;
    }
    if (from < chunk.length) keep(chunk.subarray(from));
  }
  if (size > 0) yield take();
}
