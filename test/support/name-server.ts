import { createSocket } from 'node:dgram';
import { isIP } from 'node:net';

/** A DNS server on a real socket, which answers A and AAAA as it is told. */
export interface NameServer {
  /** As `Resolver.setServers` takes it. */
  readonly address: string;
  /** Names asked for an A record so far. */
  readonly asked: string[];
  /** The addresses of a name from now on; several lists are given one after the other, the last one ever after. */
  answer(name: string, ...addresses: readonly (readonly string[])[]): void;
  /** Answers no question about this name. */
  silence(name: string): void;
  close(): Promise<void>;
}

const TYPE_A = 1;
const TYPE_AAAA = 28;

/** Starts a name server on a free port of 127.0.0.1. */
export async function startNameServer(): Promise<NameServer> {
  const socket = createSocket('udp4');
  const names = new Map<string, (readonly string[])[]>();
  const silent = new Set<string>();
  const asked: string[] = [];
  socket.on('message', (query, from) => {
    const { name, end } = readName(query, 12);
    const type = query.readUInt16BE(end);
    if (silent.has(name)) return;
    const lists = names.get(name);
    const list = lists?.[0] ?? [];
    // Both questions of one look-up see the same list; A is asked first.
    if (type === TYPE_A) asked.push(name);
    if (type === TYPE_AAAA && lists !== undefined && lists.length > 1) lists.shift();
    const version = type === TYPE_A ? 4 : type === TYPE_AAAA ? 6 : 0;
    const records = list.filter((address) => isIP(address) === version);
    const header = Buffer.from(query.subarray(0, 12));
    header.writeUInt16BE(lists === undefined ? 0x8183 : 0x8180, 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(records.length, 6);
    header.fill(0, 8);
    const question = query.subarray(12, end + 4);
    const answers = records.map((address) => {
      const data = version === 4 ? bytesOfIpv4(address) : bytesOfIpv6(address);
      const record = Buffer.alloc(12);
      record.writeUInt16BE(0xc00c, 0);
      record.writeUInt16BE(type, 2);
      record.writeUInt16BE(1, 4);
      record.writeUInt16BE(data.length, 10);
      return Buffer.concat([record, data]);
    });
    socket.send(Buffer.concat([header, question, ...answers]), from.port, from.address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked,
    answer: (name, ...addresses) => void names.set(name, [...addresses]),
    silence: (name) => void silent.add(name),
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

function readName(message: Buffer, from: number): { name: string; end: number } {
  const labels: string[] = [];
  let at = from;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += length + 1;
  }
  return { name: labels.join('.').toLowerCase(), end: at + 1 };
}

const bytesOfIpv4 = (address: string): Buffer => Buffer.from(address.split('.').map(Number));

function bytesOfIpv6(address: string): Buffer {
  // The URL parser writes every form, dotted ends included, as hexadecimal groups.
  const groups = new URL(`http://[${address}]/`).hostname.slice(1, -1).split('::');
  const [head = [], tail = []] = groups.map((part) => (part === '' ? [] : part.split(':')));
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0');
  const all = groups.length === 2 ? [...head, ...zeros, ...tail] : head;
  return Buffer.from(
    all.flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255]),
  );
}
