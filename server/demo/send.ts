import type { Acceptance, MerchantApi } from './api.ts';
import { inOrder } from './in-order.ts';
import type { PlannedEvent } from './traffic.ts';

/** Events on their way at once: many shops, each with a few payments. */
const AT_ONCE = 24;

/** An event and what became of it so far. */
export interface SentEvent extends Acceptance {
  readonly planned: PlannedEvent;
}

/**
 * Sends the day. What touches the same card, customer or device goes one after the other, as it happened: a day in
 * seconds would otherwise have things at once that were minutes apart. An original always arrives before its refund.
 */
export async function sendAll(
  api: MerchantApi,
  traffic: readonly PlannedEvent[],
  onProgress: (done: number) => void,
): Promise<SentEvent[]> {
  const last = new Map<string, Promise<unknown>>();
  let done = 0;
  return inOrder(traffic, AT_ONCE, async (planned) => {
    const names = namesIn(planned);
    const earlier = names.flatMap((name) => last.get(name) ?? []);
    const sending = Promise.all(earlier).then(() => api.submit(planned));
    // Whoever waits for a failed one fails with it; the failure itself is reported once, by its own caller.
    sending.catch(() => undefined);
    for (const name of names) last.set(name, sending);
    const acceptance = await sending;
    done += 1;
    onProgress(done);
    return { planned, ...acceptance };
  });
}

function namesIn({ id, event }: PlannedEvent): string[] {
  const { customer, device, payment_method: card, transaction } = event;
  return [
    id,
    transaction.original_event_id,
    card?.token,
    customer?.['customer_id'],
    device?.['device_id'],
  ]
    .filter((name) => name !== undefined)
    .map(String);
}
