/** Random source in [0, 1): mulberry32, small and good enough for test data. */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Small draws from a random source that follows from its seed. */
export class Draw {
  readonly random: () => number;

  constructor(seed: number) {
    this.random = randomOf(seed);
  }

  /** Integer in [from, to]. */
  int(from: number, to: number): number {
    return from + Math.floor(this.random() * (to - from + 1));
  }

  of<T>(choices: readonly T[]): T {
    return choices[this.int(0, choices.length - 1)] as T;
  }

  chars(alphabet: string, length: number): string {
    return Array.from({ length }, () => alphabet[this.int(0, alphabet.length - 1)]).join('');
  }

  digits(length: number): string {
    return this.chars('0123456789', length);
  }

  hex(length: number): string {
    return this.chars('0123456789abcdef', length);
  }

  pad(from: number, to: number, width: number): string {
    return String(this.int(from, to)).padStart(width, '0');
  }
}

/** Letters and digits of random tokens. */
export const BASE62 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
/** Words of ordinary notes. */
export const WORDS =
  `무선 이어폰 배송 요청 문 앞에 두세요 red shoes size gift wrap please leave at door thank you customer order
  refund asked twice phone call invoice sent by mail`.split(/\s+/);
