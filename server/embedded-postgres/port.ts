import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { EmbeddedPostgresError } from './errors.ts';

/**
 * Below the ports that systems hand to outgoing connections (Linux from 32768, macOS from 49152). Inside that range a
 * client that reconnects while the server is down can meet itself as its own peer, and then holds the port.
 */
const FIRST_PORT = 20_000;
const LAST_PORT = 31_999;

/** A port of 127.0.0.1 that is free now: the preferred one (so that it stays the same over restarts), else a random one. */
export async function choosePort(preferred: number | undefined): Promise<number> {
  if (preferred !== undefined && preferred > 0 && (await isFree(preferred))) return preferred;
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const port = randomInt(FIRST_PORT, LAST_PORT + 1);
    if (await isFree(port)) return port;
  }
  throw new EmbeddedPostgresError(
    `No free port for the database was found between ${FIRST_PORT} and ${LAST_PORT}: free some, or set DATABASE_URL.`,
  );
}

async function isFree(port: number): Promise<boolean> {
  return await new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => {
      server.close(() => resolve(true));
    });
  });
}
