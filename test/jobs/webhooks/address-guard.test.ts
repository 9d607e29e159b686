import { expect } from 'chai';
import { networkInterfaces } from 'node:os';
import { createServer, isIP, type AddressInfo } from 'node:net';
import {
  RESERVED_RANGES,
  reservedRangeOf,
  reservedRangeOfHost,
} from '../../../contract/address-ranges.ts';
import {
  createAddressGuard,
  createDnsResolver,
  type AddressGuard,
} from '../../../jobs/webhooks/guard.ts';
import { ATTEMPT_LIMITS, createConnector, Line, type Answer } from '../../../jobs/webhooks/line.ts';
import { CERTIFICATES, TEST_CA } from '../../support/certificates.ts';
import { startNameServer, type NameServer } from '../../support/name-server.ts';
import { startReceiver, type Receiver } from '../../support/webhook-receiver.ts';

/** On the public internet as far as the registries go. */
const PUBLIC = [
  '1.1.1.1',
  '8.8.8.8',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.0',
  '169.253.255.255',
  '172.15.255.255',
  '172.32.0.0',
  '192.0.1.0',
  '192.167.255.255',
  '198.17.255.255',
  '198.20.0.0',
  '223.255.255.255',
  '2001:200::1',
  '2606:4700:4700::1111',
  '2a00:1450:4001:800::200e',
  '2001:4860:4860::8888',
];

const toBits = (address: string): bigint => {
  if (isIP(address) === 4) {
    return address.split('.').reduce((bits, part) => (bits << 8n) | BigInt(part), 0n);
  }
  const [head = '', tail] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split('::');
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':'));
  const end = tail === undefined ? [] : groups(tail);
  const zeros = Array.from({ length: 8 - groups(head).length - end.length }, () => '0');
  return [...groups(head), ...zeros, ...end].reduce(
    (bits, group) => (bits << 16n) | BigInt(`0x${group}`),
    0n,
  );
};

const fromBits = (bits: bigint, version: number): string => {
  if (version === 4) {
    return [24n, 16n, 8n, 0n].map((shift) => String((bits >> shift) & 255n)).join('.');
  }
  return Array.from({ length: 8 }, (_, index) =>
    ((bits >> BigInt(112 - 16 * index)) & 0xffffn).toString(16),
  ).join(':');
};

/** First, second, middle and last address of every range. */
const RESERVED = RESERVED_RANGES.flatMap(({ cidr }) => {
  const [network = '', prefix = ''] = cidr.split('/');
  const version = isIP(network);
  const size = 1n << BigInt((version === 4 ? 32 : 128) - Number(prefix));
  const first = toBits(network);
  const members = [first, first + 1n, first + size / 2n, first + size - 1n];
  return members.filter((bits) => bits < first + size).map((bits) => fromBits(bits, version));
});

/** Ways to write 127.0.0.1 and others in a URL, or to carry them inside an IPv6 address. */
const NOTATIONS = [
  '2130706433',
  '0x7f000001',
  '0x7f.0.0.1',
  '017700000001',
  '0177.0.0.01',
  '127.1',
  '127.0.1',
  '127.0.0.1.',
  '①②⑦.⓪.⓪.①',
  '１２７．０．０．１',
  '0',
  '0x0',
  '3232235777',
  '0xa9fea9fe',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[::ffff:8.8.8.8]',
  '[::127.0.0.1]',
  '[::ffff:0:127.0.0.1]',
  '[64:ff9b::127.0.0.1]',
  '[64:ff9b::a00:1]',
  '[64:ff9b:1::7f00:1]',
  '[2002:7f00:1::]',
  '[2002:a00:1::1]',
  '[2001:0:7f00:1::]',
  '[0:0:0:0:0:0:0:1]',
];

const BODY = Buffer.from('{}');
const LIMITS = { ...ATTEMPT_LIMITS, answerMs: 2_000 };

describe('the address guard', () => {
  let names: NameServer;
  let trap: Receiver;
  let guard: AddressGuard;

  before(async () => {
    names = await startNameServer();
    trap = await startReceiver({ tls: CERTIFICATES.good });
    guard = createAddressGuard({
      allowPrivate: false,
      resolve: createDnsResolver([names.address]),
    });
  });

  after(async () => {
    await trap.close();
    await names.close();
  });

  /** Whatever the guard admits is dialled at the trap instead: it is as if the trap sat behind every address. */
  const everywhere = (): AddressGuard => ({
    ...guard,
    admitAddress: () => undefined,
    lookup(hostname, options, callback) {
      guard.lookup(hostname, { ...options, all: true }, (error, found) => {
        if (error !== null || found.length === 0) callback(error, []);
        else callback(null, [{ address: '127.0.0.1', family: 4 }]);
      });
    },
  });

  const post = async (origin: string, by = everywhere()): Promise<Answer> => {
    const line = new Line(origin, createConnector(by, LIMITS, TEST_CA), LIMITS);
    const answer = await line.post('/', [], BODY);
    line.close();
    return answer;
  };

  it('knows a reason and a document for every range, and no public address is in one', () => {
    for (const { cidr, reason, rfc } of RESERVED_RANGES) {
      expect(reason, cidr).to.match(/^[a-z0-9].+/i);
      expect(rfc, cidr).to.match(/^RFC \d{3,4}$/);
    }
    for (const address of PUBLIC) expect(reservedRangeOf(address), address).to.equal(undefined);
    for (const address of RESERVED)
      expect(reservedRangeOf(address), address).to.not.equal(undefined);
    for (const odd of ['fe80::1%eth0', '2606:4700::1%1', '', 'localhost', '127.1']) {
      expect(reservedRangeOf(odd), odd).to.not.equal(undefined);
    }
  });

  it('leaves no connection to any address of the table as a literal host', async () => {
    for (const address of RESERVED) {
      const host = isIP(address) === 6 ? `[${address}]` : address;
      const answer = await post(`https://${host}:${trap.port}`);
      expect(answer, address).to.include({ failure: 'ADDRESS_REFUSED', address: undefined });
    }
    expect(trap.connections()).to.equal(0);
  });

  it('leaves no connection to any address of the table behind a name', async () => {
    for (const [index, address] of RESERVED.entries()) {
      const name = `reserved-${index}.test`;
      names.answer(name, [address]);
      const answer = await post(`https://${name}:${trap.port}`);
      expect(answer, address).to.include({ failure: 'ADDRESS_REFUSED', address: undefined });
    }
    expect(trap.connections()).to.equal(0);
  });

  it('leaves no connection to a reserved address in any notation', async () => {
    for (const host of NOTATIONS) {
      const { hostname } = new URL(`https://${host}/`);
      expect(reservedRangeOfHost(hostname), host).to.not.equal(undefined);
      const answer = await post(`https://${host}:${trap.port}`);
      expect(answer.failure, host).to.equal('ADDRESS_REFUSED');
    }
    expect(trap.connections()).to.equal(0);
  });

  it('refuses a name as soon as one of its addresses is reserved', async () => {
    names.answer('mixed.test', ['8.8.8.8', '10.0.0.1', '2606:4700:4700::1111']);
    names.answer('mixed6.test', ['8.8.8.8', '::1']);
    for (const name of ['mixed.test', 'mixed6.test']) {
      expect((await post(`https://${name}:${trap.port}`)).failure).to.equal('ADDRESS_REFUSED');
    }
    expect(trap.connections()).to.equal(0);
  });

  it('refuses plain http where private networks are not allowed', async () => {
    names.answer('plain.test', ['8.8.8.8']);
    const answer = await post(`http://plain.test:${trap.port}`);
    expect(answer.failure).to.equal('ADDRESS_REFUSED');
    expect(trap.connections()).to.equal(0);
  });

  it('asks for a name once per connection: another answer cannot come between check and dial', async () => {
    names.answer('rebind.test', ['8.8.8.8'], ['127.0.0.1']);
    // The certificate is another name's; what counts here is where the connection went.
    expect((await post(`https://rebind.test:${trap.port}`)).failure).to.equal('TLS');
    expect(names.asked.filter((name) => name === 'rebind.test')).to.have.length(1);
    expect(trap.connections(), 'dialled as it was checked').to.be.above(0);
    const before = trap.connections();
    expect((await post(`https://rebind.test:${trap.port}`)).failure).to.equal('ADDRESS_REFUSED');
    expect(trap.connections()).to.equal(before);
  });

  it('refuses this machine under all of its names and addresses, which do answer where private networks are allowed', async () => {
    const listeners = [
      await startReceiver({ host: '0.0.0.0' }),
      await startReceiver({ host: '::' }),
    ];
    try {
      const own = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
      const hosts = [
        'localhost',
        '127.0.0.1',
        '127.1',
        '2130706433',
        '0x7f.1',
        '0',
        '[::1]',
        '[::]',
        '[::ffff:127.0.0.1]',
      ];
      for (const { address, scopeid } of own) {
        if (scopeid === undefined || scopeid === 0)
          hosts.push(isIP(address) === 6 ? `[${address}]` : address);
      }
      const open = createAddressGuard({ allowPrivate: true });
      const strict = createAddressGuard({ allowPrivate: false });
      // Only the scheme is let through, so that the address alone decides.
      const anyScheme = {
        ...strict,
        admitHost: (_: string, host: string) => strict.admitHost('https:', host),
      };
      let reached = 0;
      for (const { port } of listeners) {
        for (const host of hosts) {
          const refused = await post(`http://${host}:${port}`, anyScheme);
          if (
            reservedRangeOfHost(new URL(`http://${host}`).hostname) !== undefined ||
            host === 'localhost'
          ) {
            expect(refused.status, host).to.equal(undefined);
            expect(refused.failure, host).to.be.oneOf(['ADDRESS_REFUSED', 'DNS']);
          }
        }
      }
      expect(listeners.map((each) => each.connections())).to.deep.equal([0, 0]);
      for (const { port } of listeners) {
        for (const host of hosts) {
          if ((await post(`http://${host}:${port}`, open)).status === 200) reached += 1;
        }
      }
      expect(reached, 'the listeners do answer').to.be.at.least(hosts.length);
    } finally {
      for (const listener of listeners) await listener.close();
    }
  });
});

describe('TLS of a webhook', () => {
  let names: NameServer;

  before(async () => {
    names = await startNameServer();
    names.answer('hooks.test', ['127.0.0.1']);
    names.answer('other.test', ['127.0.0.1']);
  });

  after(() => names.close());

  const post = async (origin: string, ca?: string): Promise<Answer> => {
    const resolve = createDnsResolver([names.address]);
    const guard = createAddressGuard({ allowPrivate: true, resolve });
    const line = new Line(origin, createConnector(guard, LIMITS, ca), LIMITS);
    const answer = await line.post('/', [], BODY);
    line.close();
    return answer;
  };

  it('needs a certificate that is trusted, in force and of this name; nothing is sent before', async () => {
    const good = await startReceiver({ tls: CERTIFICATES.good });
    const expired = await startReceiver({ tls: CERTIFICATES.expired });
    const stranger = await startReceiver({ tls: CERTIFICATES.stranger });
    const plain = createServer((socket) =>
      socket
        .on('error', () => undefined)
        .on('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
    );
    await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve));
    const plainPort = (plain.address() as AddressInfo).port;
    const refused = [
      ['of an unknown authority', await post(`https://hooks.test:${good.port}`)],
      ['of another name', await post(`https://other.test:${good.port}`, TEST_CA)],
      ['that has ended', await post(`https://hooks.test:${expired.port}`, TEST_CA)],
      ['signed by itself', await post(`https://hooks.test:${stranger.port}`, TEST_CA)],
      ['where there is none', await post(`https://hooks.test:${plainPort}`, TEST_CA)],
    ] as const;
    for (const [name, answer] of refused) {
      expect(answer, name).to.include({ status: undefined, failure: 'TLS', address: '127.0.0.1' });
    }
    const accepted = await post(`https://hooks.test:${good.port}`, TEST_CA);
    expect(accepted).to.include({ status: 200, failure: undefined });
    expect(good.received).to.have.length(1);
    for (const receiver of [expired, stranger]) expect(receiver.received).to.have.length(0);
    for (const receiver of [good, expired, stranger]) await receiver.close();
    await new Promise((resolve) => plain.close(resolve));
  });

  it('is not switched off by NODE_TLS_REJECT_UNAUTHORIZED', async () => {
    const receiver = await startReceiver({ tls: CERTIFICATES.stranger });
    const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    try {
      expect((await post(`https://hooks.test:${receiver.port}`)).failure).to.equal('TLS');
      expect(receiver.received).to.have.length(0);
    } finally {
      if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
      else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before;
      await receiver.close();
    }
  });

  it('tells a name without an address and silent name servers from other failures', async () => {
    names.silence('silent.test');
    names.answer('empty.test', []);
    expect((await post('https://nowhere.test:443')).failure).to.equal('DNS');
    expect((await post('https://empty.test:443')).failure).to.equal('DNS');
    expect((await post('https://silent.test:443')).failure).to.equal('TIMEOUT');
  });
});
