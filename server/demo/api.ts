import { AcceptedIngestion, IngestionStatus } from '../../contract/ingestion.ts';
import type { OutcomeLabel } from '../../contract/outcome.ts';
import { ErrorResponse } from '../../contract/error-response.ts';
import { ProductionUsage } from '../../contract/usage.ts';
import { DemoError } from './demo-error.ts';
import type { Keyring } from './keyring.ts';
import { pause } from './pause.ts';
import type { PlannedEvent } from './traffic.ts';

/** Tries of one call before the demo gives up: with the waits between them, about half a minute of an absent service. */
const TRIES = 9;
const FIRST_WAIT_MS = 200;
const LONGEST_WAIT_MS = 8_000;

/** The service may name a longer wait (the next month's quota), but then there is no point in waiting. */
const LONGEST_RETRY_AFTER_S = 90;

/** A call that hangs is given up and repeated, ms. */
const TIMEOUT_MS = 15_000;

interface Call {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: unknown;
  readonly idempotencyKey?: string;
}

interface Answer {
  readonly body: unknown;
  /** Of the try that succeeded, ms. */
  readonly milliseconds: number;
}

/** An event the service has promised to keep. */
export interface Acceptance {
  readonly ingestionId: string;
  readonly milliseconds: number;
}

/**
 * The merchant's side of the contract: every call with a key that has room, refusals repeated as the contract asks,
 * with the same Idempotency-Key. Answers are checked against the contract's schemas.
 */
export class MerchantApi {
  /** Calls that were repeated. */
  repeats = 0;
  readonly #baseUrl: string;
  readonly #keyring: Keyring;

  constructor(baseUrl: string, keyring: Keyring) {
    this.#baseUrl = baseUrl;
    this.#keyring = keyring;
  }

  /** @throws DemoError when the service refuses or stays away */
  async submit({ event, id }: PlannedEvent): Promise<Acceptance> {
    const { body, milliseconds } = await this.#call({
      method: 'POST',
      path: '/v1/transactions',
      body: event,
      idempotencyKey: `demo:${id}`,
    });
    return { ingestionId: parsed(AcceptedIngestion, body).ingestion_id, milliseconds };
  }

  /** @throws DemoError when the service refuses or stays away */
  async status(ingestionId: string): Promise<IngestionStatus> {
    const { body } = await this.#call({ method: 'GET', path: `/v1/ingestions/${ingestionId}` });
    return parsed(IngestionStatus, body);
  }

  /** @throws DemoError when the service refuses or stays away */
  async label(id: string, label: OutcomeLabel): Promise<void> {
    await this.#call({
      method: 'POST',
      path: `/v1/transactions/${encodeURIComponent(id)}/outcomes`,
      body: { outcome_label: label },
      idempotencyKey: `demo:${id}:${label}`,
    });
  }

  /** What the first credential has used of its quota. @throws DemoError as above */
  async usage(): Promise<ProductionUsage['quota']> {
    const call = { method: 'GET', path: '/v1/usage' } as const;
    const { body } = await this.#call(call, this.#keyring.first.apiKey);
    return parsed(ProductionUsage, body).quota;
  }

  async #call(call: Call, apiKey?: string): Promise<Answer> {
    let waitMs = FIRST_WAIT_MS;
    for (let tries = 1; ; tries++) {
      // A repeat may carry another key of the Site: it is the same call by its Idempotency-Key.
      const answer = await this.#try(call, apiKey ?? (await this.#keyring.take()).apiKey);
      if (!('repeatable' in answer)) return answer;
      if (!answer.repeatable) throw refused(call, answer);
      if (tries === TRIES) throw gaveUp(this.#baseUrl, answer);
      const { retryAfterS } = answer;
      if (retryAfterS !== undefined && retryAfterS > LONGEST_RETRY_AFTER_S)
        throw refused(call, answer);
      this.repeats += 1;
      await pause(retryAfterS === undefined ? waitMs : retryAfterS * 1_000);
      waitMs = Math.min(LONGEST_WAIT_MS, waitMs * 2);
    }
  }

  async #try(call: Call, apiKey: string): Promise<Answer | Refused> {
    const started = performance.now();
    try {
      const response = await fetch(this.#baseUrl + call.path, {
        method: call.method,
        headers: {
          'x-api-key': apiKey,
          ...(call.idempotencyKey === undefined ? {} : { 'idempotency-key': call.idempotencyKey }),
          ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        signal: AbortSignal.timeout(TIMEOUT_MS),
        ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
      });
      const body: unknown = await response.json();
      if (response.ok) {
        return { body, milliseconds: performance.now() - started };
      }
      const retryAfter = response.headers.get('retry-after');
      return {
        status: response.status,
        repeatable: response.status === 429 || response.status >= 500,
        retryAfterS: retryAfter === null ? undefined : Number(retryAfter),
        error: ErrorResponse.safeParse(body).data?.error,
      };
    } catch {
      // No answer, or one that is no JSON: whether the call arrived is unknown, so it is repeated.
      return { status: 0, repeatable: true, retryAfterS: undefined, error: undefined };
    }
  }
}

interface Refused {
  readonly status: number;
  readonly repeatable: boolean;
  readonly retryAfterS: number | undefined;
  readonly error: ErrorResponse['error'] | undefined;
}

function refused(call: Call, { status, error }: Refused): DemoError {
  const details = error?.details === undefined ? '' : ` (${error.details.join('; ')})`;
  const advice =
    status === 401
      ? '; if another demo was started meanwhile, it has revoked the credentials of this one'
      : '';
  return new DemoError(
    `The service answered ${status} ${error?.code ?? ''} to ${call.method} ${call.path.split('/').slice(0, 3).join('/')}: ${error?.message ?? 'without a reason'}${details}${advice}.`.replace(
      /\.+$/,
      '.',
    ),
  );
}

function gaveUp(baseUrl: string, { status, error }: Refused): DemoError {
  return new DemoError(
    status === 0
      ? `The service at ${baseUrl} stopped answering; look at its terminal, start it with npm start, then run the demo again.`
      : `The service at ${baseUrl} keeps answering ${status} ${error?.code ?? ''}; look at its log, then run the demo again.`,
  );
}

function parsed<Out>(
  schema: { safeParse(value: unknown): { success: true; data: Out } | { success: false } },
  body: unknown,
): Out {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  throw new DemoError(
    'The service answered in a shape that the contract does not know; is this another version of it?',
  );
}
