import type { OutcomeLabel } from '../../contract/outcome.ts';
import type { MerchantApi } from './api.ts';
import { inOrder } from './in-order.ts';
import { isNoticed } from './tally.ts';
import type { EvaluatedEvent } from './wait.ts';

/** Of the false alarms, this many are reported back. */
const FALSE_POSITIVES = 5;

const AT_ONCE = 8;

/** Tells the service how some events ended: planted frauds, disputes, and a few false alarms. @returns how many of each */
export async function labelSome(
  api: MerchantApi,
  evaluated: readonly EvaluatedEvent[],
): Promise<Map<OutcomeLabel, number>> {
  const labels: { id: string; label: OutcomeLabel }[] = evaluated.flatMap(({ planned }) =>
    planned.label === undefined ? [] : [{ id: planned.id, label: planned.label }],
  );
  const falseAlarms = evaluated.filter(
    ({ planned, risk }) =>
      planned.truth.kind === 'ordinary' && planned.label === undefined && isNoticed(risk),
  );
  for (const { planned } of falseAlarms.slice(0, FALSE_POSITIVES)) {
    labels.push({ id: planned.id, label: 'FALSE_POSITIVE' });
  }
  await inOrder(labels, AT_ONCE, ({ id, label }) => api.label(id, label));
  const counts = new Map<OutcomeLabel, number>();
  for (const { label } of labels) counts.set(label, (counts.get(label) ?? 0) + 1);
  return counts;
}
