import type { TransactionEvent } from '../../contract/transaction.ts';
import type { DemoReport } from './summary.ts';
import type { EvaluatedEvent } from './wait.ts';

/** A line to paste into a shell. */
export interface NextStep {
  readonly about: string;
  readonly line: string;
}

/** What to try next, with the keys of this run: the status of the worst event, its risk, and an event for the sandbox. */
export function nextSteps(report: DemoReport): NextStep[] {
  const { baseUrl, production, sandbox, evaluation } = report;
  const worst = worstOf(evaluation.evaluated);
  const steps: NextStep[] = [];
  const key = (apiKey: string): string => `-H 'x-api-key: ${apiKey}'`;
  if (worst !== undefined) {
    steps.push(
      {
        about: `status of an event that was judged ${worst.risk.decision}`,
        line: `curl -s ${key(production.apiKey)} '${baseUrl}/v1/ingestions/${worst.ingestionId}'`,
      },
      {
        about: 'its risk, by your own transaction id',
        line: `curl -s ${key(production.apiKey)} '${baseUrl}/v1/transactions/${worst.planned.id}/risk'`,
      },
    );
  }
  const event = JSON.stringify(sandboxEvent(report.run));
  steps.push({
    about:
      'an event for the sandbox: judged at once, kept nowhere (another token is really scored)',
    line: `curl -s ${key(sandbox.apiKey)} -H 'content-type: application/json' -H 'idempotency-key: try-${report.run}' -d '${event}' '${baseUrl}/v1/transactions'`,
  });
  return steps;
}

/** The event with the highest score; a planted one among equals. */
function worstOf(evaluated: readonly EvaluatedEvent[]): EvaluatedEvent | undefined {
  const planted = (each: EvaluatedEvent): number => (each.planned.truth.kind === 'fraud' ? 1 : 0);
  return evaluated.toSorted((a, b) => b.risk.score - a.risk.score || planted(b) - planted(a))[0];
}

function sandboxEvent(run: string): TransactionEvent {
  const id = `try-${run}`;
  const now = new Date().toISOString();
  return {
    schema_version: '1.0',
    source_event_id: id,
    occurred_at: now,
    sent_at: now,
    source_system: 'my-shop',
    event_type: 'PAYMENT_AUTH',
    merchant_external_id: 'my-shop',
    transaction: {
      source_event_id: id,
      type: 'AUTH',
      status: 'APPROVED',
      occurred_at: now,
      amount_minor: 129_000,
      currency: 'KRW',
      channel: 'ECOMMERCE',
      installment_months: 0,
    },
    payment_method: { type: 'CARD', token: 'tok_sandbox_block' },
  };
}
