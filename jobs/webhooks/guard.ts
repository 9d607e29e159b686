import { lookup as systemLookup, type LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import { reservedRangeOf, type ReservedRange } from '../../contract/address-ranges.ts';

/** A webhook's host is, or resolves to, an address that is not on the public internet. Nothing was dialled. */
export class AddressRefused extends Error {
  override name = 'AddressRefused';
  readonly range: ReservedRange;

  constructor(range: ReservedRange) {
    super(`${range.reason} (${range.rfc})`);
    this.range = range;
  }
}

const NOT_ENCRYPTED: ReservedRange = {
  cidr: 'http://',
  reason: 'not encrypted',
  rfc: 'RFC 9110',
};

/** All addresses of a name. */
export type ResolveHost = (hostname: string) => Promise<LookupAddress[]>;

/** Decides where a connection may go. */
export interface AddressGuard {
  /**
   * To be called with the scheme (`https:`) and the host of every connection: sockets do not look up a host that is an
   * address already, and a URL may have been registered when private networks were allowed.
   */
  admitHost(protocol: string, hostname: string): void;
  /** To be called with the address a socket is connected to: the last word. */
  admitAddress(address: string): void;
  /** Resolves for the socket itself, so that no other answer can come between check and dial. */
  readonly lookup: LookupFunction;
}

/**
 * Refuses every address that is not public, unless private networks are allowed. A name with one reserved address among
 * its addresses is refused altogether: which of them a socket takes is not ours to say.
 */
export function createAddressGuard(options: {
  readonly allowPrivate: boolean;
  readonly resolve?: ResolveHost;
}): AddressGuard {
  const { allowPrivate } = options;
  const resolve = options.resolve ?? (allowPrivate ? resolveLikeTheSystem : createDnsResolver());
  const admitAddress = (address: string): void => {
    const range = allowPrivate ? undefined : reservedRangeOf(address);
    if (range !== undefined) throw new AddressRefused(range);
  };
  return {
    admitAddress,
    admitHost(protocol, hostname) {
      if (!allowPrivate && protocol !== 'https:') throw new AddressRefused(NOT_ENCRYPTED);
      const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
      if (isIP(bare) !== 0 || bare.includes('%')) admitAddress(bare);
    },
    lookup: lookupFrom(async (hostname: string) => {
      const addresses = await resolve(hostname);
      for (const { address } of addresses) admitAddress(address);
      if (addresses.length === 0) throw new NoAddress();
      return addresses;
    }),
  };
}

/** The name exists and has no address. */
class NoAddress extends Error {
  readonly code = 'ENODATA';
}

/** Gives a socket what it asks for: all addresses, or one. */
function lookupFrom(find: (hostname: string) => Promise<LookupAddress[]>): LookupFunction {
  const found = callbackify(find);
  return (hostname, { all }, callback) => {
    found(hostname, (error, addresses) => {
      const [first] = addresses ?? [];
      if (error !== null || first === undefined) callback(error, []);
      else if (all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

/** Timeout of one question to a name server, ms; asked twice. */
const DNS_MS = 2_000;

/**
 * Asks name servers over the network. The system's own lookup blocks one of four threads for as long as a name server
 * is silent, so that a few dead names would delay everybody; and it reads /etc/hosts, where merchants have no business.
 */
export function createDnsResolver(servers?: readonly string[]): ResolveHost {
  const resolver = new Resolver({ timeout: DNS_MS, tries: 2 });
  if (servers !== undefined) resolver.setServers([...servers]);
  return async (hostname) => {
    const [v4, v6] = await Promise.allSettled([
      resolver.resolve4(hostname),
      resolver.resolve6(hostname),
    ]);
    const addresses = [
      ...(v4.status === 'fulfilled' ? v4.value.map((address) => ({ address, family: 4 })) : []),
      ...(v6.status === 'fulfilled' ? v6.value.map((address) => ({ address, family: 6 })) : []),
    ];
    if (addresses.length === 0 && v4.status === 'rejected') throw v4.reason;
    return addresses;
  };
}

const resolveLikeTheSystem: ResolveHost = (hostname) =>
  new Promise((resolve, reject) => {
    systemLookup(hostname, { all: true }, (error, addresses) => {
      if (error === null) resolve(addresses);
      else reject(error);
    });
  });
