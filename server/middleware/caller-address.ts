import { BlockList, isIP } from 'node:net';
import type { IncomingMessage } from 'node:http';

/**
 * The address a request is counted for: the peer's, or, where the peer is a trusted proxy, the last address of
 * X-Forwarded-For (read right to left) that is not one. What stands left of it could have been made up by the caller.
 */
export function createAddressOf(
  trustedProxies: readonly string[],
): (request: IncomingMessage) => string {
  const trusted = new BlockList();
  for (const network of trustedProxies) {
    const [address = '', prefix] = network.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (prefix === undefined) trusted.addAddress(address, family);
    else trusted.addSubnet(address, Number(prefix), family);
  }
  const isTrusted = (address: string): boolean => {
    const version = isIP(address);
    return version !== 0 && trusted.check(address, version === 6 ? 'ipv6' : 'ipv4');
  };
  return (request) => {
    let address = plain(request.socket.remoteAddress ?? 'unknown');
    const forwarded = request.headers['x-forwarded-for'];
    const hops = (Array.isArray(forwarded) ? forwarded.join(',') : (forwarded ?? '')).split(',');
    while (isTrusted(address)) {
      const hop = hops.pop()?.trim();
      if (hop === undefined || isIP(plain(hop)) === 0) break;
      address = plain(hop);
    }
    return address;
  };
}

/** An IPv4 address that arrived over an IPv6 socket is the same caller as one that did not. */
function plain(address: string): string {
  return address.startsWith('::ffff:') && isIP(address.slice(7)) === 4 ? address.slice(7) : address;
}
