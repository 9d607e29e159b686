import { setTimeout as sleep } from 'node:timers/promises';

/** One event, kept like this (in an outbox table, say) until it is answered: the same key and bytes on each attempt. */
export type StoredEvent = { idempotencyKey: string; body: string };

/** The service's address, the key, and how patient to be. */
export type Sender = {
  baseUrl: string;
  apiKey: string;
  attempts?: number;
  wait?: (milliseconds: number) => Promise<unknown>;
};

/**
 * Sends an event and repeats it while that can help. Resolves with the last answer; an answer that asks for patience
 * still comes back after the last attempt, and at once if it asks for more than 5 minutes (a used-up quota does): keep
 * the event and send it later. Rejects when no answer came on the last attempt.
 */
export async function sendEvent(event: StoredEvent, sender: Sender): Promise<Response> {
  const { baseUrl, apiKey, attempts = 8, wait = sleep } = sender;
  for (let attempt = 1; ; attempt += 1) {
    let delay = Math.random() * Math.min(60_000, 1000 * 2 ** attempt);
    try {
      const response = await fetch(`${baseUrl}/v1/transactions`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-api-key': apiKey,
          'idempotency-key': event.idempotencyKey,
        },
        body: event.body,
        redirect: 'manual',
        signal: AbortSignal.timeout(10_000),
      });
      // 400, 401, 403, 409 and the like never get better by repeating; 408 is a connection that was too slow.
      const { status } = response;
      if (status < 500 && status !== 429 && status !== 408) return response;
      const retryAfter = 1000 * Number(response.headers.get('retry-after') ?? NaN);
      if (attempt === attempts || retryAfter > 5 * 60_000) return response;
      if (retryAfter >= 0) delay = retryAfter + Math.random() * 1000;
      await response.body?.cancel();
    } catch (error: unknown) {
      // No answer: the event may have been accepted. Repeating tells, and accepts it once only.
      if (attempt === attempts) throw error;
    }
    await wait(delay);
  }
}
