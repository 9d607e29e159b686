import type { Description } from './description.ts';
import { judge, type Expectation } from './judge.ts';
import { Pace } from './pace.ts';
import { worded } from './schema-problems.ts';
import type { Transport } from './transport.ts';
import { NoAnswer, type Answer, type Call, type Coverage, type Deviation } from './types.ts';

/** Time as the check sees it; tests shorten it. */
export interface Time {
  /** A steady clock, ms. */
  now(): number;
  sleep(milliseconds: number): Promise<void>;
}

/** An API key and how fast it may be used. Never printed. */
export interface Credential {
  readonly key: string;
  readonly pace: Pace;
}

/** Makes a credential of a key. */
export const credentialOf = (key: string): Credential => ({ key, pace: new Pace() });

/** Longest pause that is worth waiting for, seconds: a whole window of the rate limit, and some. */
const LONGEST_PAUSE = 90;
const ATTEMPTS = 4;
/** This many calls in a row without an answer: the gateway is gone. */
const LOST_AFTER = 5;

/** A case needs what an earlier one did not get. */
export class NotPossible extends Error {}
/** The gateway does not answer any more. */
export class Lost extends Error {}

/** Calls the gateway for one case after another and writes down what deviates. */
export class Probe {
  readonly description: Description;
  readonly #transport: Transport;
  readonly #time: Time;
  readonly #tell: (line: string) => void;
  readonly #ids = new Set<string>();
  readonly #seen = new Set<string>();
  #deviations: Deviation[] = [];
  #silent = 0;
  requests = 0;
  answered = false;

  constructor(
    description: Description,
    transport: Transport,
    time: Time,
    tell: (line: string) => void,
  ) {
    this.description = description;
    this.#transport = transport;
    this.#time = time;
    this.#tell = tell;
  }

  /** The deviations since the last call of this. */
  takeDeviations(): Deviation[] {
    const taken = this.#deviations;
    this.#deviations = [];
    return taken;
  }

  /** Documented answers that no call met. */
  notSeen(): Coverage[] {
    return [...this.description.operations.values()].flatMap(({ operationId, answers }) =>
      [...answers].flatMap(([status, { codes }]): Coverage[] =>
        (codes.size === 0 ? [undefined] : [...codes])
          .filter((code) => !this.#seen.has(`${operationId} ${status} ${code ?? ''}`))
          .map((code) => ({
            operation: operationId,
            status,
            ...(code === undefined ? {} : { code }),
          })),
      ),
    );
  }

  /** Writes a deviation down. */
  report(aspect: string, expected: string, came: string): void {
    this.#deviations.push({ aspect, expected, came });
  }

  /** Writes a deviation down where `actual` is not `wanted`; neither is shown unless it is a single word. */
  equal(aspect: string, actual: unknown, wanted: unknown, expected = worded(wanted)): void {
    if (actual !== wanted) {
      const came = worded(actual);
      this.report(aspect, expected, came === expected ? `another one` : came);
    }
  }

  /**
   * Makes a call within the rate limit, judges the answer and hands it over when its status is the expected one and its
   * body an object, so that a case reads no further in an answer that is reported already. A refusal that passes (429, 503) is judged, too, obeyed, and the call repeated unchanged.
   */
  async call(
    operation: string,
    credential: Credential | undefined,
    call: Call,
    expected: Expectation,
  ): Promise<Answer | undefined> {
    const headers = {
      ...(credential === undefined ? {} : { 'x-api-key': credential.key }),
      ...call.headers,
    };
    const wanted: Expectation = {
      counted: credential !== undefined,
      ...expected,
      secrets: [...(credential === undefined ? [] : [credential.key]), ...(expected.secrets ?? [])],
    };
    for (let attempt = 1; ; attempt += 1) {
      if (credential !== undefined) await this.#waitFor(credential.pace);
      const answer = await this.#exchange(() => this.#transport.send({ ...call, headers }));
      if (answer === undefined) return undefined;
      this.#remember(operation, answer);
      const passes =
        answer.status !== expected.status && (answer.status === 429 || answer.status === 503);
      const pause = passes && attempt < ATTEMPTS ? this.#pauseOf(answer) : undefined;
      if (pause === undefined) {
        this.#deviations.push(...judge(this.description, operation, answer, wanted));
        const isUsable = answer.status === expected.status && isReadable(answer, expected);
        return isUsable ? answer : undefined;
      }
      this.#deviations.push(
        ...judge(this.description, operation, answer, { ...wanted, status: answer.status }),
      );
      this.#tell(`the gateway asks for a pause of ${pause} s (${answer.status})`);
      if (credential === undefined) await this.#time.sleep(pause * 1000);
      else credential.pace.pause(this.#time.now(), pause);
    }
  }

  /** Makes a call without keeping to the rate limit, and judges nothing. */
  async callAtOnce(
    operation: string,
    { key, pace }: Credential,
    call: Call,
  ): Promise<Answer | undefined> {
    const headers = { 'x-api-key': key, ...call.headers };
    const answer = await this.#exchange(() => this.#transport.send({ ...call, headers }));
    pace.sent(this.#time.now());
    if (answer !== undefined) this.#remember(operation, answer);
    return answer;
  }

  /** Judges an answer of {@link callAtOnce}. */
  judge(operation: string, { key }: Credential, answer: Answer, expected: Expectation): void {
    const wanted = { counted: true, secrets: [key], ...expected };
    this.#deviations.push(...judge(this.description, operation, answer, wanted));
  }

  /** Makes a call that the description does not cover, and judges nothing. */
  fetch(call: Call): Promise<Answer | undefined> {
    return this.#exchange(() => this.#transport.send(call));
  }

  /** Writes raw bytes, which may hold the key, and judges the answer like any other. */
  async raw(
    operation: string,
    bytes: string,
    { key, pace }: Credential,
    expected: Expectation,
  ): Promise<void> {
    if (bytes.includes(key)) await this.#waitFor(pace);
    const answer = await this.#exchange(() => this.#transport.sendRaw(bytes));
    if (answer === undefined) return;
    this.#remember(operation, answer);
    const wanted = { ...expected, secrets: [key] };
    this.#deviations.push(...judge(this.description, operation, answer, wanted));
  }

  /** Waits; for polling. */
  async sleep(milliseconds: number): Promise<void> {
    await this.#time.sleep(milliseconds);
  }

  /** A steady clock, ms. */
  now(): number {
    return this.#time.now();
  }

  async #waitFor(pace: Pace): Promise<void> {
    for (;;) {
      const wait = pace.waitMs(this.#time.now());
      if (wait <= 0) break;
      if (wait > 2_000) this.#tell(`keeping to the rate limit for ${Math.ceil(wait / 1000)} s`);
      await this.#time.sleep(wait);
    }
    pace.sent(this.#time.now());
  }

  async #exchange(send: () => Promise<Answer>): Promise<Answer | undefined> {
    this.requests += 1;
    try {
      const answer = await send();
      this.#silent = 0;
      this.answered = true;
      return answer;
    } catch (error: unknown) {
      if (!(error instanceof NoAnswer)) throw error;
      this.report('connection', 'an answer', error.message);
      this.#silent += 1;
      if (!this.answered || this.#silent >= LOST_AFTER) throw new Lost(error.message);
      return undefined;
    }
  }

  #remember(operation: string, { status, headers, body }: Answer): void {
    const { error } = (body ?? {}) as { error?: { code?: unknown } };
    const code = status >= 400 && typeof error?.code === 'string' ? error.code : '';
    this.#seen.add(`${operation} ${status} ${code}`);
    const id = headers.get('x-request-id')?.[0];
    if (id === undefined) return;
    if (this.#ids.has(id))
      this.report('header x-request-id', 'an id of its own', 'one used before');
    this.#ids.add(id);
  }

  /** Seconds that a 429 or 503 asks to wait; undefined where waiting is no use or not asked for properly. */
  #pauseOf({ headers, body }: Answer): number | undefined {
    const text = headers.get('retry-after')?.[0] ?? '';
    const { error } = (body ?? {}) as { error?: { code?: unknown } };
    const seconds = /^\d+$/.test(text) ? Number(text) : 0;
    if (error?.code === 'API_QUOTA_EXCEEDED') return undefined;
    return seconds >= 1 && seconds <= LONGEST_PAUSE ? seconds : undefined;
  }
}

function isReadable({ body }: Answer, { bodiless }: Expectation): boolean {
  return bodiless === true || (typeof body === 'object' && body !== null && !Array.isArray(body));
}
