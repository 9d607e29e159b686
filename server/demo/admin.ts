import { z } from 'zod';
import { DemoError } from './demo-error.ts';

const Answer = z.union([
  z.object({ result: z.object({ data: z.unknown() }) }),
  z.object({ error: z.object({ message: z.string(), data: z.object({ code: z.string() }) }) }),
]);

/** An administrative procedure refused; `code` is tRPC's, such as NOT_FOUND. */
export class AdminRefusal extends DemoError {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** Calls administrative procedures as any other tool would: tRPC over HTTP with an operator's token. */
export class AdminApi {
  readonly #url: string;
  readonly #token: string;

  /** @param url  where the admin side listens, without the path */
  constructor(url: string, token: string) {
    this.#url = url;
    this.#token = token;
  }

  /** Asks; changes nothing. @throws DemoError; AdminRefusal where the service gave a reason */
  query<Out>(procedure: string, input: unknown, output: z.ZodType<Out>): Promise<Out> {
    const path = `${procedure}?input=${encodeURIComponent(JSON.stringify(input))}`;
    return this.#call(path, { method: 'GET' }, output);
  }

  /** Changes something. @throws DemoError; AdminRefusal where the service gave a reason */
  mutate<Out>(procedure: string, input: unknown, output: z.ZodType<Out>): Promise<Out> {
    const headers = { 'content-type': 'application/json' };
    return this.#call(procedure, { method: 'POST', headers, body: JSON.stringify(input) }, output);
  }

  async #call<Out>(path: string, init: RequestInit, output: z.ZodType<Out>): Promise<Out> {
    const response = await this.#fetch(path, init);
    const answer = Answer.safeParse(await response.json().catch(() => undefined));
    if (!answer.success) throw notOurs(this.#url);
    if ('error' in answer.data) {
      const { message, data } = answer.data.error;
      if (data.code === 'UNAUTHORIZED') throw wrongToken(this.#url);
      throw new AdminRefusal(data.code, message);
    }
    const data = output.safeParse(answer.data.result.data);
    if (!data.success) throw notOurs(this.#url);
    return data.data;
  }

  async #fetch(path: string, init: RequestInit): Promise<Response> {
    const headers = new Headers(init.headers);
    headers.set('authorization', `Bearer ${this.#token}`);
    try {
      return await fetch(`${this.#url}/admin/trpc/${path}`, {
        ...init,
        headers,
        signal: AbortSignal.timeout(15_000),
      });
    } catch {
      throw new DemoError(
        `No service answers at ${this.#url}: start it with npm start in another terminal, or say where it is with --url.`,
      );
    }
  }
}

const notOurs = (url: string): DemoError =>
  new DemoError(
    `What answers at ${url}/admin/trpc is not this service's admin side: check --url and --admin-url (ADMIN_PORT moves it to another port).`,
  );

const wrongToken = (url: string): DemoError =>
  new DemoError(
    `The service at ${url} does not accept the administrator token: run the demo with the same ADMIN_TOKEN or DATA_DIR as the service.`,
  );
