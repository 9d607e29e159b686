import { MAX_DEPTH, MAX_KEYS } from '../../contract/json-limits.ts';
import { MAX_PROBLEMS } from '../../contract/problem.ts';
import { RATE_LIMIT } from '../../ledger/rate-window.ts';
import { markup, type Markup } from './markup.ts';
import { textTable } from './prose.ts';

/** How the events of one payment look (the examples of the contract, section 2.2). */
export function paymentLife(): Markup {
  return markup`<p>Each thing that happens to a payment is an event of its own. Nothing that was accepted is ever changed: a refund does not edit the payment, it names it in
<code>transaction.original_event_id</code>.</p>
${textTable(
  ['What happened', 'event_type', 'transaction.type', 'transaction.status', 'Also required'],
  [
    ['Authorised', '`PAYMENT_AUTH`', '`AUTH`', '`APPROVED`', '`installment_months` (0 for none)'],
    ['Captured', '`PAYMENT_CAPTURE`', '`PAYMENT`', '`APPROVED`', ''],
    ['Canceled', '`PAYMENT_CANCEL`', '`CANCEL`', '`CANCELED`', '`original_event_id`'],
    ['Refunded', '`PAYMENT_REFUND`', '`REFUND`', '`REVERSED`', '`original_event_id`'],
    ['Charged back', '`PAYMENT_CHARGEBACK`', '`CHARGEBACK`', '`APPROVED`', '`original_event_id`'],
  ],
)}
<p>These are the usual combinations; others are accepted. A <code>PROFILE_UPSERT</code> tells a fact about a profile and never counts as a payment. Send declined attempts too: many frauds
show in them first. Events may arrive in any order, and an original may arrive after what refers to it.</p>
<p>Where <code>transaction.tid</code> is sent, it takes the place of <code>source_event_id</code>: answers return it, and look-ups and outcomes go by it.</p>`;
}

/** Both vocabularies of progress, and what a client does. */
export function evaluationStatus(): Markup {
  return markup`<p>Answers use the words of the first column. Guides and older material use those of the second; they mean the same.</p>
${textTable(
  ['evaluation_status', 'In guides', 'Meaning', 'What to do'],
  [
    ['`PENDING`', '`ACCEPTED`, `STORED`', 'Stored and queued', 'Ask again in 1 to 5 seconds'],
    ['`PROCESSING`', '`EVALUATING`', 'Being evaluated', 'Ask again in 1 to 5 seconds'],
    [
      '`RETRY_SCHEDULED`',
      '`FAILED_RETRYABLE`',
      'An evaluation failed; another will follow by itself',
      'Ask again in 1 to 5 seconds',
    ],
    ['`SUCCEEDED`', '`EVALUATED`', 'Evaluated', 'Read `risk`'],
    [
      '`DLQ`',
      '`FAILED_FINAL`, `DLQ`',
      'Automatic retries have stopped',
      'Tell the operator the ingestion id',
    ],
  ],
)}
<p><code>risk</code> is null until <code>SUCCEEDED</code>. An operator may queue an ingestion in <code>DLQ</code> again; it is then <code>PENDING</code> once more.</p>
<h3 id="levels">Score, level, decision</h3>
${textTable(
  ['score', 'level', 'decision'],
  [
    ['0 to 29', '`low`', '`ALLOW`'],
    ['30 to 59', '`medium`', '`REVIEW`'],
    ['60 to 84', '`high`', '`HOLD_RECOMMENDED`'],
    ['85 to 100', '`critical`', '`BLOCK_RECOMMENDED`'],
  ],
)}
<p>The decision is advice: what happens to the payment is up to you. <code>reasons</code> says why, most important first; what you sent is never returned.</p>`;
}

/** What must not be sent, and what to send instead. */
export function forbiddenData(): Markup {
  return markup`<p>Wherever it stands (any field, any depth, names of fields, headers, path ids), the following is refused with 400, and is not stored or logged:</p>
${textTable(
  ['Never send', 'Send instead'],
  [
    ['Card numbers', 'A stable token in `payment_method.token`; `bin` and `last4` are fine'],
    ['Account numbers, IBANs', 'A stable token'],
    ['CVC, CVV, track data, passwords', 'Nothing'],
    [
      'Full IP addresses',
      'A prefix such as `203.0.113.0/24` or `2001:db8:1:2::/64`, host bits zero, in `network.ip_prefix`',
    ],
  ],
)}
<p>A stable token is always the same for the same card or account, and cannot be turned back into it. It is what lets the evaluation recognise a card.</p>`;
}

/** Every bound a client can run into. */
export function limits(): Markup {
  return markup`${textTable(
    ['Limit', 'Value'],
    [
      [
        'Rate',
        `${RATE_LIMIT} requests in any 60 seconds per credential; then 429 \`RATE_LIMITED\``,
      ],
      [
        'Quota',
        'What the contract in force allows in a UTC month, per credential; then 429 `API_QUOTA_EXCEEDED`. Read it with `GET /v1/usage`',
      ],
      [
        'Request body',
        `256 KiB, ${MAX_DEPTH} levels, ${MAX_KEYS.toLocaleString('en')} keys; \`application/json\`, UTF-8, not compressed`,
      ],
      ['Request headers', '16 KiB together'],
      ['Numbers', 'Whole numbers up to 2^53 - 1'],
      ['`Idempotency-Key`', '8 to 128 characters of `A-Z a-z 0-9 . _ : -`'],
      ['`source_event_id`, `tid`', '1 to 120 characters'],
      ['`merchant_external_id`', '1 to 100 characters'],
      ['`installment_months`', '0 to 60'],
      ['`error.details`', `The first ${MAX_PROBLEMS} problems`],
      [
        'Times',
        'ISO 8601 date and time with an offset, such as `2026-03-01T09:00:00+09:00` or `2026-03-01T00:00:00Z`',
      ],
    ],
  )}
<p>Every counted answer carries <code>RateLimit</code> and <code>RateLimit-Policy</code>: <code>r</code> is how many more requests are admitted now, <code>t</code> after how many seconds the next one is when that is 0. A refused request costs nothing. Calls with a wrong
key are limited by address.</p>
<h3 id="objectives">Service objectives</h3>
${textTable(
  ['What', 'Objective'],
  [
    ['Ingestion available', '99.9 %'],
    ['Evaluation, 95th percentile', 'Within 5 minutes'],
    ['Webhook delivery', '99.5 %'],
    ['Response to an ingestion outage (P1)', 'Within 15 minutes'],
    ['Response to delayed evaluation or webhooks (P2)', 'Within 1 hour'],
  ],
)}`;
}
