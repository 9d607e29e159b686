import { createReadStream, existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createGunzip } from 'node:zlib';
import type { TransactionEvent } from '../../contract/transaction.ts';

/** The parts of a stream folder, in the order of time. */
export const PARTS = ['history', 'train', 'delay', 'test'] as const;
/** One of {@link PARTS}. */
export type Part = (typeof PARTS)[number];

/** One line of a stream. */
export interface StreamLine {
  readonly part: Part;
  readonly sourceEventId: string;
  /** As the line has it. */
  readonly occurredAt: string;
  /** ms since 1970 UTC. */
  readonly at: number;
  readonly customerId: string;
  readonly terminalId: string;
  readonly amountMinor: number;
  /** The truth: reaches the service only as a label, when it is due. */
  readonly isFraud: boolean;
}

/** A folder is no stream; the message says what is missing. */
export class NoStream extends Error {
  override readonly name = 'NoStream';
}

/** The folder that holds the parts: the one given, or `stream` in it. @throws NoStream */
export function findStream(folder: string): string {
  for (const candidate of [folder, join(folder, 'stream')]) {
    if (PARTS.every((part) => existsSync(join(candidate, `${part}.jsonl.gz`)))) return candidate;
  }
  throw new NoStream(
    `${folder} has no history.jsonl.gz, train.jsonl.gz, delay.jsonl.gz and test.jsonl.gz.`,
  );
}

/**
 * The lines of a stream in their order.
 *
 * @param share  of the customers, 0 to 1: a smaller stream for a quick look, chosen by a digest of their ids
 */
export async function* readStream(folder: string, share: number): AsyncGenerator<StreamLine> {
  for (const part of PARTS) {
    const file = createReadStream(join(folder, `${part}.jsonl.gz`));
    for await (const text of createInterface({ input: file.pipe(createGunzip()) })) {
      if (text === '') continue;
      const line = JSON.parse(text) as {
        source_event_id: string;
        occurred_at: string;
        customer_id: string;
        terminal_id: string;
        amount_minor: number;
        fraud: number;
      };
      if (share < 1 && digestOf(line.customer_id) >= share) continue;
      yield {
        part,
        sourceEventId: line.source_event_id,
        occurredAt: line.occurred_at,
        at: Date.parse(line.occurred_at),
        customerId: line.customer_id,
        terminalId: line.terminal_id,
        amountMinor: line.amount_minor,
        isFraud: line.fraud === 1,
      };
    }
  }
}

/** The event a merchant would have sent: the customer's card pays at a terminal. The truth is not in it. */
export function eventOf(line: StreamLine): TransactionEvent {
  return {
    schema_version: '1.0',
    source_event_id: line.sourceEventId,
    occurred_at: line.occurredAt,
    sent_at: line.occurredAt,
    source_system: 'detection-stream',
    event_type: 'PAYMENT_AUTH',
    merchant_external_id: line.terminalId,
    transaction: {
      source_event_id: line.sourceEventId,
      type: 'AUTH',
      status: 'APPROVED',
      occurred_at: line.occurredAt,
      amount_minor: line.amountMinor,
      currency: 'EUR',
      channel: 'POS',
      installment_months: 0,
    },
    customer: { customer_id: line.customerId },
    payment_method: { type: 'CARD', token: line.customerId },
  };
}

/** FNV-1a of a text, as a number in [0, 1). */
function digestOf(text: string): number {
  let digest = 0x811c_9dc5;
  for (let i = 0; i < text.length; i++) {
    digest = Math.imul(digest ^ text.charCodeAt(i), 0x0100_0193);
  }
  digest = Math.imul(digest ^ (digest >>> 15), 0x85eb_ca6b);
  return ((digest ^ (digest >>> 13)) >>> 0) / 4_294_967_296;
}
