import { BlockList, isIP } from 'node:net';

/** Addresses that no webhook may be sent to, why, and the document that sets them apart. */
export interface ReservedRange {
  readonly cidr: string;
  readonly reason: string;
  readonly rfc: string;
}

/**
 * The special-purpose registries of IANA, IPv4 (RFC 6890 and its updates) and IPv6, and what carries an IPv4 address in
 * itself. The first match names the reason; the last IPv6 entries leave nothing but global unicast.
 */
export const RESERVED_RANGES: readonly ReservedRange[] = [
  { cidr: '0.0.0.0/8', reason: 'this network: reaches the machine itself', rfc: 'RFC 1122' },
  { cidr: '10.0.0.0/8', reason: 'private', rfc: 'RFC 1918' },
  { cidr: '100.64.0.0/10', reason: 'shared by a carrier behind NAT', rfc: 'RFC 6598' },
  { cidr: '127.0.0.0/8', reason: 'loopback', rfc: 'RFC 1122' },
  { cidr: '169.254.0.0/16', reason: 'link-local: cloud metadata services', rfc: 'RFC 3927' },
  { cidr: '172.16.0.0/12', reason: 'private', rfc: 'RFC 1918' },
  { cidr: '192.0.0.0/24', reason: 'protocol assignments', rfc: 'RFC 6890' },
  { cidr: '192.0.2.0/24', reason: 'documentation', rfc: 'RFC 5737' },
  { cidr: '192.31.196.0/24', reason: 'AS112 sink', rfc: 'RFC 7535' },
  { cidr: '192.52.193.0/24', reason: 'multicast tunnelling relays', rfc: 'RFC 7450' },
  { cidr: '192.88.99.0/24', reason: '6to4 relays, deprecated', rfc: 'RFC 7526' },
  { cidr: '192.168.0.0/16', reason: 'private', rfc: 'RFC 1918' },
  { cidr: '192.175.48.0/24', reason: 'AS112 sink', rfc: 'RFC 7534' },
  { cidr: '198.18.0.0/15', reason: 'benchmarking', rfc: 'RFC 2544' },
  { cidr: '198.51.100.0/24', reason: 'documentation', rfc: 'RFC 5737' },
  { cidr: '203.0.113.0/24', reason: 'documentation', rfc: 'RFC 5737' },
  { cidr: '224.0.0.0/4', reason: 'multicast', rfc: 'RFC 5771' },
  { cidr: '255.255.255.255/32', reason: 'broadcast', rfc: 'RFC 919' },
  { cidr: '240.0.0.0/4', reason: 'reserved', rfc: 'RFC 1112' },

  { cidr: '::/128', reason: 'unspecified: reaches the machine itself', rfc: 'RFC 4291' },
  { cidr: '::1/128', reason: 'loopback', rfc: 'RFC 4291' },
  { cidr: '::ffff:0:0/96', reason: 'IPv4-mapped', rfc: 'RFC 4291' },
  { cidr: '::ffff:0:0:0/96', reason: 'IPv4-translated', rfc: 'RFC 2765' },
  { cidr: '::/96', reason: 'IPv4-compatible, deprecated', rfc: 'RFC 4291' },
  { cidr: '64:ff9b::/96', reason: 'NAT64: carries an IPv4 address', rfc: 'RFC 6052' },
  { cidr: '64:ff9b:1::/48', reason: 'local NAT64', rfc: 'RFC 8215' },
  { cidr: '100::/64', reason: 'discard only', rfc: 'RFC 6666' },
  { cidr: '100:0:0:1::/64', reason: 'dummy prefix', rfc: 'RFC 9780' },
  { cidr: '2001::/32', reason: 'Teredo: carries an IPv4 address', rfc: 'RFC 4380' },
  { cidr: '2001:2::/48', reason: 'benchmarking', rfc: 'RFC 5180' },
  { cidr: '2001:10::/28', reason: 'ORCHID, deprecated', rfc: 'RFC 4843' },
  { cidr: '2001:20::/28', reason: 'ORCHIDv2: no addresses', rfc: 'RFC 7343' },
  { cidr: '2001::/23', reason: 'protocol assignments', rfc: 'RFC 2928' },
  { cidr: '2001:db8::/32', reason: 'documentation', rfc: 'RFC 3849' },
  { cidr: '2002::/16', reason: '6to4: carries an IPv4 address', rfc: 'RFC 3056' },
  { cidr: '2620:4f:8000::/48', reason: 'AS112 sink', rfc: 'RFC 7534' },
  { cidr: '3fff::/20', reason: 'documentation', rfc: 'RFC 9637' },
  { cidr: '3ffe::/16', reason: '6bone, returned', rfc: 'RFC 3701' },
  { cidr: '5f00::/16', reason: 'segment routing ids', rfc: 'RFC 9602' },
  { cidr: 'fc00::/7', reason: 'unique local', rfc: 'RFC 4193' },
  { cidr: 'fe80::/10', reason: 'link-local', rfc: 'RFC 4291' },
  { cidr: 'fec0::/10', reason: 'site-local, deprecated', rfc: 'RFC 3879' },
  { cidr: 'ff00::/8', reason: 'multicast', rfc: 'RFC 4291' },
  { cidr: '::/3', reason: 'not assigned as global unicast', rfc: 'RFC 4291' },
  { cidr: '4000::/2', reason: 'not assigned as global unicast', rfc: 'RFC 4291' },
  { cidr: '8000::/1', reason: 'not assigned as global unicast', rfc: 'RFC 4291' },
];

const COMPILED = RESERVED_RANGES.map((range) => {
  const [network = '', prefix] = range.cidr.split('/');
  const family = isIP(network) === 4 ? 'ipv4' : 'ipv6';
  const list = new BlockList();
  list.addSubnet(network, Number(prefix), family);
  return { range, family, list } as const;
});

/**
 * The range that keeps an address from being called, or undefined for one on the public internet.
 *
 * @param address as Node's resolver or a socket writes it; what is no plain address (a zone, a name) counts as reserved
 */
export function reservedRangeOf(address: string): ReservedRange | undefined {
  const version = address.includes('%') ? 0 : isIP(address);
  if (version === 0) return { cidr: address, reason: 'not a plain address', rfc: 'RFC 4007' };
  const family = version === 4 ? 'ipv4' : 'ipv6';
  // Of the address's own family only: a BlockList takes an IPv4 address for its mapped IPv6 form.
  return COMPILED.find((entry) => entry.family === family && entry.list.check(address, family))
    ?.range;
}

/**
 * The same for the host of a URL as the WHATWG parser leaves it, which has turned decimal, hexadecimal, octal and short
 * forms into four numbers already. A name is judged when it is resolved, not here: undefined.
 */
export function reservedRangeOfHost(hostname: string): ReservedRange | undefined {
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  return isIP(bare) === 0 ? undefined : reservedRangeOf(bare);
}
