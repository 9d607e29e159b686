import { codeBlock, json } from './code-block.ts';
import { markup, type Markup } from './markup.ts';
import { textTable } from './prose.ts';

/** How deliveries look and how a receiver proves them (contract, section 6). */
export function webhookSection(verifierSource: string): Markup {
  return markup`<p><strong>This version of the service does not send webhooks yet.</strong> Headers, signature and <code>webhook.challenge</code> are fixed by the contract, so a receiver can be built and tested now;
delivery, and the event types beside <code>webhook.challenge</code>, come with a later version. Until then poll.</p>
<p>The operator registers your endpoint (https only) and gives you its signing secret, once. Events are then sent to it as <code>POST</code> with a JSON body. The sandbox sends none.</p>
${textTable(
  ['event_type', 'When'],
  [
    ['`webhook.challenge`', 'The endpoint is being activated. Answer 2xx, or it stays inactive'],
    ['`transaction.evaluated`', 'An evaluation succeeded'],
    ['`transaction.evaluation_failed`', 'Automatic retries of an evaluation have stopped'],
    ['`outcome.recorded`', 'An outcome label was appended'],
  ],
)}
${codeBlock('Body', json({ event_id: '0198f2c4-7a31-7cc0-9c55-3d2b1f0e8a17', event_type: 'webhook.challenge', created_at: '2026-03-01T00:00:02.120Z', data: {} }))}
<p>Deliveries come at least once and in no promised order. Answer any 2xx within 10 seconds and do the work afterwards; anything else is tried again over the following hours, signed anew with a new timestamp
and the same event id. Redirects are not followed. 410 switches the endpoint off. Be ready for event types you do not know: answer 2xx and ignore them.</p>
<h3 id="webhook-headers">Delivery headers</h3>
${textTable(
  ['Header', 'Content'],
  [
    ['`x-service-event-id`', 'Event id; stays the same when a delivery is repeated'],
    ['`x-service-timestamp`', 'When it was signed, UTC, ISO 8601'],
    ['`x-service-signature`', '`v1=` and the HMAC-SHA256 in hexadecimal'],
    [
      '`x-service-signature-previous`',
      'The same, made with the previous secret; only during the 24 hours after the secret was replaced',
    ],
  ],
)}
<h3 id="webhook-verification">Verification</h3>
<ol>
<li>Take the <strong>raw</strong> body, before anything parses it.</li>
<li>Join timestamp, a dot, event id, a dot and that body. Make the HMAC-SHA256 of it with your secret, in hexadecimal, with <code>v1=</code> in front.</li>
<li>Compare with <code>x-service-signature</code> in constant time. Verify with the current secret first; accept the previous one only during the 24 hours after a replacement.</li>
<li>Refuse a timestamp more than 5 minutes away from your clock, in either direction.</li>
<li>Remember event ids, and drop one you have seen: it is a repeated delivery, or a replay.</li>
<li>Write neither the secret nor the signature into logs.</li>
</ol>
${codeBlock('TypeScript, Node.js', verifierSource)}`;
}
