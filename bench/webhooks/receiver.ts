import { createServer, type Socket } from 'node:net';

/**
 * The merchants' servers of the bench, in a process of its own: one port answers 200 at once, one never answers. Speaks
 * just enough HTTP, so that what is measured is the sender. Tells the parent its ports, and its tally when asked.
 */
export interface Tally {
  /** Deliveries that the fast port has answered. */
  readonly answered: number;
  /** From the event to its arrival, ms, since the last question. */
  readonly lags: readonly number[];
  /** Connections that the silent port holds now, and requests it was sent in all. */
  readonly hanging: number;
  readonly unanswered: number;
}

export interface Ports {
  readonly fast: number;
  readonly silent: number;
}

const OK = Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
const HEAD_END = Buffer.from('\r\n\r\n');

let answered = 0;
let lags: number[] = [];
let unanswered = 0;
const hanging = new Set<Socket>();

const fast = createServer({ noDelay: true }, (socket) => {
  let pending: Buffer = Buffer.alloc(0);
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    for (;;) {
      const end = pending.indexOf(HEAD_END);
      if (end === -1) return;
      const head = pending.toString('latin1', 0, end);
      const length = end + 4 + Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (pending.length < length) return;
      pending = pending.subarray(length);
      // The id is a UUIDv7: its first 48 bits are the moment of the event.
      const created = Number.parseInt(/event-id: evt_([0-9a-f]{12})/.exec(head)?.[1] ?? '', 16);
      lags.push(Date.now() - created);
      answered += 1;
      socket.write(OK);
    }
  });
});

const silent = createServer((socket) => {
  hanging.add(socket);
  socket.on('error', () => undefined).on('close', () => hanging.delete(socket));
  socket.once('data', () => (unanswered += 1));
});

const portOf = (server: typeof fast): number => {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
};

fast.listen(0, '127.0.0.1', () => {
  silent.listen(0, '127.0.0.1', () => {
    const ports: Ports = { fast: portOf(fast), silent: portOf(silent) };
    process.send?.(ports);
  });
});

process.on('message', () => {
  const tally: Tally = { answered, lags, hanging: hanging.size, unanswered };
  lags = [];
  process.send?.(tally);
});
process.on('disconnect', () => process.exit());
