import { Readable, Writable } from 'node:stream';
import type { Client, Connection, Submittable } from 'pg';

/** Bytes gathered before they are handed on: the server sends each row as a message of its own. */
const CHUNK_BYTES = 64 * 1024;

/** What a pg client calls while our statement is the active one; it must not be the driver's own query object. */
interface CopyStatement extends Submittable {
  handleError(error: Error): void;
  handleCommandComplete(message: { readonly text: string }): void;
  handleReadyForQuery(): void;
}

/** The parts of the driver's connection that its types leave out. */
type CopyConnection = Connection & {
  query(text: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
  sendCopyFail(message: string): void;
};

const rowsOf = (message: { readonly text: string }): number =>
  Number(/^COPY (\d+)$/.exec(message.text)?.[1] ?? 0);

/** The rows of a table or query on their way out of the database; memory stays bounded whatever their number. */
export interface CopyOut extends Readable {
  /** Rows that the server sent; complete when the stream has ended. */
  readonly rows: number;
}

/**
 * Runs `COPY … TO STDOUT` on a connected client and streams what it gives. The client is free again when the stream has
 * ended. A reader that is slow stops the socket. One that destroys the stream must close the client.
 */
export function copyOut(client: Client, statement: string): CopyOut {
  let connection: CopyConnection | undefined;
  let gathered: Buffer[] = [];
  let size = 0;
  const stream = new Readable({
    highWaterMark: 4 * CHUNK_BYTES,
    read: () => void connection?.stream.resume(),
  }) as Readable & { rows: number };
  stream.rows = 0;
  const hand = (): void => {
    if (size === 0) return;
    const full = !stream.push(Buffer.concat(gathered, size));
    gathered = [];
    size = 0;
    if (full) connection?.stream.pause();
  };
  const submitted: CopyStatement & { handleCopyData(message: { chunk: Buffer }): void } = {
    submit(given) {
      connection = given as CopyConnection;
      connection.query(statement);
    },
    handleCopyData({ chunk }) {
      // Copied: the driver's parser reuses the memory of what it has handed out.
      gathered.push(Buffer.from(chunk));
      size += chunk.length;
      if (size >= CHUNK_BYTES) hand();
    },
    handleCommandComplete(message) {
      stream.rows = rowsOf(message);
    },
    handleError: (error) => void stream.destroy(error),
    handleReadyForQuery() {
      if (!stream.destroyed) {
        hand();
        stream.push(null);
      }
      // Nobody reads on after the end, and the client's next answer comes by this socket.
      connection?.stream.resume();
    },
  };
  client.query(submitted);
  return stream;
}

/** Rows on their way into a table. */
export interface CopyIn extends Writable {
  /** Rows that the server took; known when the stream has finished. */
  readonly rows: number;
}

/** Runs `COPY … FROM STDIN` on a connected client; finishes when the server has taken all. A destroyed one takes nothing. */
export function copyIn(client: Client, statement: string): CopyIn {
  let connection: CopyConnection | undefined;
  /** What is to be sent once the server has agreed to listen. */
  let held: (() => void)[] | undefined = [];
  let finish: (() => void) | undefined;
  let over = false;
  const whenOpen = (send: () => void): void => {
    if (held === undefined) send();
    else held.push(send);
  };
  const stream = new Writable({
    highWaterMark: 4 * CHUNK_BYTES,
    write(chunk: Buffer, _encoding, done) {
      whenOpen(() => {
        if (over || connection === undefined) return done();
        connection.sendCopyFromChunk(chunk);
        if (!connection.stream.writableNeedDrain) return done();
        connection.stream.once('drain', () => done());
      });
    },
    final(done) {
      finish = done;
      whenOpen(() => {
        if (!over) connection?.endCopyFrom();
      });
    },
    destroy(error, done) {
      whenOpen(() => {
        if (!over) connection?.sendCopyFail('given up');
      });
      done(error);
    },
  }) as Writable & { rows: number };
  stream.rows = 0;
  const open = (): void => {
    const waiting = held ?? [];
    held = undefined;
    for (const send of waiting) send();
  };
  const submitted: CopyStatement & { handleCopyInResponse(): void } = {
    submit(given) {
      connection = given as CopyConnection;
      connection.query(statement);
    },
    handleCopyInResponse: open,
    handleCommandComplete(message) {
      stream.rows = rowsOf(message);
    },
    handleError(error) {
      over = true;
      open();
      stream.destroy(error);
    },
    handleReadyForQuery() {
      over = true;
      finish?.();
    },
  };
  client.query(submitted);
  return stream;
}
