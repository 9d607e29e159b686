import type { Problem } from './problem.ts';
import type { CustomerType, TransactionEvent } from './transaction.ts';

const REVERSING_EVENTS = new Set(['PAYMENT_CANCEL', 'PAYMENT_REFUND', 'PAYMENT_CHARGEBACK']);
const REVERSING_TYPES = new Set(['CANCEL', 'REFUND', 'CHARGEBACK']);

/** Whether event_type or transaction.type says cancel, refund or chargeback: then an original must be named. */
export function namesAnOriginal(event: TransactionEvent): boolean {
  return REVERSING_EVENTS.has(event.event_type) || REVERSING_TYPES.has(event.transaction.type);
}

/**
 * The contract's rules that span fields (sections 2.1 and 2.2), for an event whose shape is already right.
 * Combinations of event_type, type and status are not restricted.
 *
 * @returns one problem per broken rule; empty when all hold
 */
export function crossFieldProblems(event: TransactionEvent): Problem[] {
  const problems: Problem[] = [];
  const { transaction } = event;
  if (transaction.source_event_id !== event.source_event_id) {
    problems.push({
      path: 'transaction.source_event_id',
      message: 'must equal source_event_id of the envelope',
    });
  }
  if (transaction.original_event_id === undefined && namesAnOriginal(event)) {
    problems.push({
      path: 'transaction.original_event_id',
      message: 'is required for cancel, refund and chargeback',
    });
  }
  if (transaction.installment_months === undefined && event.event_type === 'PAYMENT_AUTH') {
    problems.push({
      path: 'transaction.installment_months',
      message: 'is required for PAYMENT_AUTH; send 0 when there are no installments',
    });
  }
  return problems;
}

/** The rule that depends on who calls: customers configured as MULTI_MERCHANT must name the merchant. */
export function customerTypeProblems(
  event: TransactionEvent,
  customerType: CustomerType,
): Problem[] {
  if (customerType !== 'MULTI_MERCHANT' || event.merchant_external_id !== undefined) return [];
  return [
    { path: 'merchant_external_id', message: 'is required for this customer (MULTI_MERCHANT)' },
  ];
}

/** The id under which the event is stored, looked up and returned: the TID where one was sent. */
export function normalizedSourceEventId(event: TransactionEvent): string {
  return event.transaction.tid ?? event.source_event_id;
}
