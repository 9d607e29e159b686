import { isIPv6 } from 'node:net';

/** Failures of one address in a rolling minute before further ones are refused. */
export const FAILURES_PER_MINUTE = 120;

const WINDOW_SECONDS = 60;

/** Addresses remembered at most; the ones longest without a failure are forgotten first. */
const REMEMBERED = 10_000;

/**
 * What failures are counted for: an IPv4 address, or the /64 network of an IPv6 one, because whoever has one address of
 * such a network has all 2^64 of them.
 */
export function networkOf(address: string): string {
  const [plain = ''] = address.split('%');
  if (!isIPv6(plain)) return address;
  // A part in IPv4 form stands for the last two groups.
  const [head = '', tail] = plain.replace(/[\d.]+\.[\d.]+$/, '0:0').split('::');
  const groupsOf = (text: string): string[] => (text === '' ? [] : text.split(':'));
  const before = groupsOf(head);
  const after = groupsOf(tail ?? '');
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  const groups = [...before, ...(tail === undefined ? [] : zeros), ...after].slice(0, 4);
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`;
}

/**
 * Bounds failed authentications per address ({@link networkOf}), in this process's memory. Windows are counted in whole seconds as for
 * credentials. Memory is bounded: at most 10,000 addresses of at most 61 counts.
 */
export class AddressLimiter {
  readonly #failures = new Map<string, Map<number, number>>();

  /** Counts a failure. */
  record(caller: string, second = nowSecond()): void {
    const address = networkOf(caller);
    const counts = this.#failures.get(address) ?? new Map<number, number>();
    counts.set(second, (counts.get(second) ?? 0) + 1);
    for (const old of counts.keys()) {
      if (old < second - WINDOW_SECONDS) counts.delete(old);
      else break;
    }
    // Deleting and setting again moves the address to the end of the map: the front is the longest quiet.
    this.#failures.delete(address);
    this.#failures.set(address, counts);
    if (this.#failures.size > REMEMBERED) {
      const oldest = this.#failures.keys().next();
      if (oldest.done !== true) this.#failures.delete(oldest.value);
    }
  }

  /** Seconds until the address may fail again; 0 if it may now. */
  blockedFor(address: string, second = nowSecond()): number {
    const counts = this.#failures.get(networkOf(address));
    if (counts === undefined) return 0;
    let total = 0;
    let oldest = second;
    for (const [at, count] of counts) {
      if (at < second - WINDOW_SECONDS) continue;
      total += count;
      oldest = Math.min(oldest, at);
    }
    return total < FAILURES_PER_MINUTE ? 0 : Math.max(1, oldest + WINDOW_SECONDS + 1 - second);
  }
}

const nowSecond = (): number => Math.floor(performance.now() / 1000);
