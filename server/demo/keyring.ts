import { pause } from './pause.ts';

/** A credential of the demo Site. The key is a secret: it is sent, and printed nowhere but in the closing lines. */
export interface IssuedCredential {
  readonly credentialId: string;
  readonly apiKey: string;
}

/** Requests a credential may make in {@link WINDOW_MS} (contract, section 8), less a reserve for repeats. */
const PER_WINDOW = 112;

/** The first credential keeps half of it back: its key is handed to the reader, who must not meet a refusal. */
const FIRST_PER_WINDOW = 40;

/** A minute, and a second more because the service counts in whole seconds. */
const WINDOW_MS = 61_000;

/** How many credentials carry this many requests without a wait. */
export function credentialsFor(requests: number): number {
  return 1 + Math.ceil(Math.max(0, requests - FIRST_PER_WINDOW) / PER_WINDOW);
}

/** Credentials in turn, none of them beyond its rate limit: a client that knows its limits is never refused. */
export class Keyring {
  readonly #all: readonly { credential: IssuedCredential; budget: number; sent: number[] }[];
  #next = 0;

  constructor(credentials: readonly IssuedCredential[]) {
    this.#all = credentials.map((credential, index) => ({
      credential,
      budget: index === 0 ? FIRST_PER_WINDOW : PER_WINDOW,
      sent: [],
    }));
  }

  /** The first credential. @throws RangeError when there is none */
  get first(): IssuedCredential {
    const [first] = this.#all;
    if (first === undefined) throw new RangeError('the keyring is empty');
    return first.credential;
  }

  get size(): number {
    return this.#all.length;
  }

  /** A credential that may make a request now; waits until there is one. */
  async take(): Promise<IssuedCredential> {
    for (;;) {
      const now = performance.now();
      for (let tried = 0; tried < this.#all.length; tried++) {
        const each = this.#all[this.#next % this.#all.length];
        this.#next += 1;
        if (each === undefined) continue;
        while ((each.sent[0] ?? now) < now - WINDOW_MS) each.sent.shift();
        if (each.sent.length < each.budget) {
          each.sent.push(now);
          return each.credential;
        }
      }
      const freeAt = Math.min(...this.#all.map((each) => (each.sent[0] ?? now) + WINDOW_MS));
      await pause(Math.max(50, freeAt - now));
    }
  }
}
