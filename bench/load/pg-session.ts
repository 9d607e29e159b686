import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';

/** A value of a prepared statement: text as text, bytes as binary. */
export type Value = string | Buffer;

const PROTOCOL = 196_608;

/** First bytes of the server's messages. */
const AUTHENTICATION = 0x52;
const ERROR = 0x45;
const READY = 0x5a;

/** Bytes of one read at most; the answers of a transaction are a few hundred. */
const READ_BYTES = 16 * 1024;

/**
 * One database connection that does nothing but send prepared statements and wait until the server is ready again.
 * A general driver (pg) needs three times the CPU for that; the reference would pay for it, and pgbench does not.
 */
export class PgSession {
  readonly #socket: Socket;
  #rest: Buffer | undefined;
  #error: string | undefined;
  #done: ((error: string | undefined) => void) | undefined;
  #authenticate: (kind: number, data: Buffer) => void = () => undefined;

  private constructor(host: string, port: number) {
    const buffer = Buffer.allocUnsafe(READ_BYTES);
    this.#socket = connect({
      host,
      port,
      noDelay: true,
      onread: {
        buffer,
        callback: (count) => {
          this.#receive(buffer.subarray(0, count));
          return true;
        },
      },
    });
    this.#socket.on('error', () => undefined);
    this.#socket.on('close', () => this.#finish('the connection was closed'));
  }

  /** Connects and logs in (SCRAM-SHA-256). @throws Error with the server's message */
  static async open(url: string): Promise<PgSession> {
    const { hostname, port, username, password, pathname } = new URL(url);
    const session = new PgSession(hostname, Number(port === '' ? 5432 : port));
    session.#authenticate = scram(decodeURIComponent(password), (message) =>
      session.#socket.write(message),
    );
    const database = decodeURIComponent(pathname.slice(1));
    await session.call(startup(decodeURIComponent(username), database));
    return session;
  }

  /** Prepares a statement under a name. @throws Error with the server's message */
  prepare(name: string, text: string): Promise<void> {
    const body = Buffer.from(`${name}\0${text}\0\0\0`, 'utf8');
    return this.call(Buffer.concat([head('P', body.length), body, SYNC]));
  }

  /** Sends messages that end with one Sync. @throws Error with the server's message */
  call(messages: Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      this.send(messages, (error) => {
        if (error === undefined) resolve();
        else reject(new Error(error));
      });
    });
  }

  /** The same with a callback, for paths on which a promise for each round trip would count. */
  send(messages: Buffer, done: (error: string | undefined) => void): void {
    this.#done = done;
    this.#socket.write(messages);
  }

  /** Ends the session. */
  close(): void {
    this.#socket.end(Buffer.from([0x58, 0, 0, 0, 4]));
  }

  #finish(error: string | undefined): void {
    const done = this.#done;
    this.#done = undefined;
    done?.(error);
  }

  #receive(chunk: Buffer): void {
    const data = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk]);
    this.#rest = undefined;
    let at = 0;
    while (data.length - at >= 5) {
      const end = at + 1 + data.readUInt32BE(at + 1);
      if (data.length < end) break;
      const type = data[at];
      if (type === ERROR) this.#error = messageOf(data.toString('utf8', at + 5, end));
      else if (type === AUTHENTICATION) {
        this.#authenticate(data.readUInt32BE(at + 5), data.subarray(at + 9, end));
      }
      at = end;
      if (type === READY) {
        const error = this.#error;
        this.#error = undefined;
        this.#finish(error);
      }
    }
    // The chunk is overwritten by the next read.
    if (at < data.length) this.#rest = Buffer.from(data.subarray(at));
  }
}

/** Bind, Execute and Sync of a prepared statement whose result nobody reads. */
export function execution(name: string, values: readonly Value[]): Buffer {
  let size = 1 + name.length + 1 + 2 + 2 * values.length + 2 + 2;
  for (const value of values) {
    size += 4 + (typeof value === 'string' ? Buffer.byteLength(value) : value.length);
  }
  const bind = 1 + 4 + size;
  const message = Buffer.allocUnsafe(bind + EXECUTE_SYNC.length);
  let at = message.write('B', 0, 'latin1');
  at = message.writeUInt32BE(4 + size, at);
  at = message.writeUInt8(0, at);
  at += message.write(name, at, 'latin1');
  at = message.writeUInt8(0, at);
  at = message.writeUInt16BE(values.length, at);
  for (const value of values) at = message.writeUInt16BE(typeof value === 'string' ? 0 : 1, at);
  at = message.writeUInt16BE(values.length, at);
  for (const value of values) {
    const length = typeof value === 'string' ? Buffer.byteLength(value) : value.length;
    at = message.writeUInt32BE(length, at);
    at += typeof value === 'string' ? message.write(value, at, 'utf8') : value.copy(message, at);
  }
  at = message.writeUInt16BE(0, at);
  EXECUTE_SYNC.copy(message, at);
  return message;
}

function head(type: string, bodyLength: number): Buffer {
  const bytes = Buffer.alloc(5);
  bytes.write(type, 0, 'latin1');
  bytes.writeUInt32BE(4 + bodyLength, 1);
  return bytes;
}

const SYNC = head('S', 0);
const EXECUTE_SYNC = Buffer.concat([head('E', 5), Buffer.alloc(5), SYNC]);

function startup(user: string, database: string): Buffer {
  const names = ['user', user, 'database', database, 'application_name', 'bench reference'];
  const body = Buffer.from(`${names.join('\0')}\0\0`, 'utf8');
  const bytes = Buffer.alloc(8 + body.length);
  bytes.writeUInt32BE(bytes.length, 0);
  bytes.writeUInt32BE(PROTOCOL, 4);
  body.copy(bytes, 8);
  return bytes;
}

/** The text of an error's M field. */
const messageOf = (fields: string): string =>
  fields
    .split('\0')
    .find((field) => field.startsWith('M'))
    ?.slice(1) ?? 'refused by the server';

const hmac = (key: Buffer, text: string): Buffer =>
  createHmac('sha256', key).update(text, 'utf8').digest();

/** The client's side of SCRAM-SHA-256 (RFC 5802) without channel binding. */
function scram(
  password: string,
  write: (message: Buffer) => void,
): (kind: number, data: Buffer) => void {
  const nonce = randomBytes(18).toString('base64');
  const first = `n=,r=${nonce}`;
  return (kind, data) => {
    if (kind === 10) {
      const initial = Buffer.from(`n,,${first}`, 'utf8');
      const length = Buffer.alloc(4);
      length.writeUInt32BE(initial.length, 0);
      const body = Buffer.concat([Buffer.from('SCRAM-SHA-256\0', 'latin1'), length, initial]);
      write(Buffer.concat([head('p', body.length), body]));
    } else if (kind === 11) {
      const challenge = data.toString('utf8');
      const field = (name: string): string =>
        challenge
          .split(',')
          .find((part) => part.startsWith(`${name}=`))
          ?.slice(2) ?? '';
      const salt = Buffer.from(field('s'), 'base64');
      const salted = pbkdf2Sync(password.normalize('NFKC'), salt, Number(field('i')), 32, 'sha256');
      const clientKey = hmac(salted, 'Client Key');
      const last = `c=biws,r=${field('r')}`;
      const storedKey = createHash('sha256').update(clientKey).digest();
      const signature = hmac(storedKey, `${first},${challenge},${last}`);
      const proof = Buffer.from(clientKey.map((byte, index) => byte ^ (signature[index] ?? 0)));
      const body = Buffer.from(`${last},p=${proof.toString('base64')}`, 'utf8');
      write(Buffer.concat([head('p', body.length), body]));
    } else if (kind !== 0 && kind !== 12) {
      throw new Error('The server asks for a kind of password this client does not know.');
    }
  };
}
