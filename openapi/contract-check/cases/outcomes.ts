import { randomUUID } from 'node:crypto';
import { writeOf, type Json } from '../events.ts';
import type { Expectation } from '../judge.ts';
import type { Credential } from '../probe.ts';
import type { Answer } from '../types.ts';
import { casesOf, invalid, type Bench, type Case } from './case.ts';

/** Labels of one accepted event. FALSE_POSITIVE only: a check must not teach the evaluation a fraud. */
export function outcomeCases(
  { probe, events }: Bench,
  production: Credential,
  eventId: () => string,
): Case[] {
  const make = casesOf('production', 'appendTransactionOutcome');
  const key = randomUUID();
  const label = { outcome_label: 'FALSE_POSITIVE' };
  const append = (
    body: unknown,
    expected: Expectation,
    idempotencyKey: string = randomUUID(),
    id = eventId(),
  ): Promise<Answer | undefined> => {
    const path = `/v1/transactions/${encodeURIComponent(id)}/outcomes`;
    const call = { method: 'POST', path, ...writeOf(body, idempotencyKey) };
    return probe.call('appendTransactionOutcome', production, call, expected);
  };
  const appended = async (idempotencyKey?: string): Promise<Answer | undefined> => {
    const answer = await append(label, { status: 202 }, idempotencyKey);
    if (answer === undefined) return undefined;
    const body = answer.body as Json;
    probe.equal('body.outcome_label', body['outcome_label'], label.outcome_label);
    probe.equal('body.source_event_id', body['source_event_id'], eventId(), 'the id in the path');
    return answer;
  };
  return [
    make('a label is appended', async () => {
      await appended(key);
    }),
    make('the same call again is answered as a repeat', async () => {
      const answer = await appended(key);
      const replayed = answer?.headers.get('idempotent-replayed')?.[0];
      if (answer !== undefined) probe.equal('header idempotent-replayed', replayed, 'true');
    }),
    make('a label that is there already is accepted', async () => {
      await appended();
    }),
    make('the same key with another label is a conflict', async () => {
      const conflict = { status: 409, code: 'IDEMPOTENCY_CONFLICT' };
      await append({ outcome_label: 'CHARGEBACK_CONFIRMED' }, conflict, key);
    }),
    make('an unsupported label is refused', async () => {
      await append({ outcome_label: 'CONTRACT_CHECK' }, invalid('outcome_label'));
    }),
    make('a missing label is refused', async () => {
      await append({}, invalid('outcome_label'));
    }),
    make('a label that is no text is refused', async () => {
      await append({ outcome_label: true }, invalid('outcome_label'));
    }),
    make('an undeclared field is refused', async () => {
      await append({ ...label, contract_check: 1 }, invalid('<undeclared>'));
    }),
    make('a malformed Idempotency-Key is refused', async () => {
      await append(label, invalid('Idempotency-Key'), 'short');
    }),
    make('a sourceEventId of 121 characters is refused', async () => {
      await append(label, invalid('sourceEventId'), randomUUID(), 'x'.repeat(121));
    }),
    make('an unknown transaction is not found', async () => {
      const missing = { status: 404, code: 'TRANSACTION_NOT_FOUND' };
      await append(label, missing, randomUUID(), events.newId());
    }),
  ];
}
