import { connect, createServer, type Server, type Socket } from 'node:net';
import type { TestDatabase } from './database.ts';

/** A way to a test database that can be cut, like a database that goes away and comes back. */
export interface DatabaseProxy {
  /** The database as reached through the proxy; `query` and `drop` still go straight. */
  readonly database: TestDatabase;
  /** Cuts every connection and refuses new ones. */
  cut(): Promise<void>;
  /** Lets connections through again. */
  restore(): Promise<void>;
  close(): Promise<void>;
}

/** Puts a TCP proxy in front of a test database. */
export async function proxyDatabase(database: TestDatabase): Promise<DatabaseProxy> {
  const target = new URL(database.appUrl);
  const sockets = new Set<Socket>();
  const server: Server = createServer((incoming) => {
    const outgoing = connect(Number(target.port), target.hostname);
    for (const [socket, other] of [
      [incoming, outgoing],
      [outgoing, incoming],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  const listen = (port: number): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', () => {
        server.off('error', reject);
        resolve();
      });
    });
  await listen(0);
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const through = (url: string): string => {
    const changed = new URL(url);
    changed.hostname = '127.0.0.1';
    changed.port = String(port);
    return changed.href;
  };
  const cut = (): Promise<void> =>
    new Promise((resolve) => {
      if (!server.listening) return resolve();
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
  return {
    database: {
      ...database,
      appUrl: through(database.appUrl),
      ownerUrl: through(database.ownerUrl),
    },
    cut,
    restore: () => listen(port),
    close: cut,
  };
}
