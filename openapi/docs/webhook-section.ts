import type { ApiDocument, ApiWebhook } from '../document-types.ts';
import { codeBlock, json } from './code-block.ts';
import { markup, type Markup } from './markup.ts';
import { textTable } from './prose.ts';
import { schemaTable } from './schema-table.ts';

/** How deliveries look and how a receiver proves them (contract, section 6). */
export function webhookSection(document: ApiDocument, verifierSource: string): Markup {
  const types = Object.entries(document['x-webhooks']);
  return markup`<p>The operator registers your endpoint (https only, on the public internet) and gives you its signing secret, once. It is active after it answered <code>webhook.challenge</code>
with a 2xx; a changed URL is challenged again. Events are then sent to it as <code>POST</code> with a JSON body, <code>{event_id, event_type, created_at, data}</code>. The sandbox sends none.</p>
${textTable(
  ['event_type', 'When'],
  types.map(([type, { post }]) => [`\`${type}\``, post.summary]),
)}
<p>Deliveries come at least once and in no promised order: go by <code>created_at</code> and the ids inside. Answer any 2xx within 10 seconds and do the work afterwards. Anything else is tried again, signed anew with a new timestamp,
with the same event id and the same bytes. Redirects are not followed. Be ready for event types and fields you do not know: answer 2xx and ignore them.</p>
<h3 id="webhook-retries">Retries</h3>
${textTable(
  ['Attempt', 'After the one before'],
  [
    ['1', 'at once'],
    ['2', '5 seconds'],
    ['3', '5 minutes'],
    ['4', '30 minutes'],
    ['5', '2 hours'],
    ['6', '5 hours'],
    ['7 and 8', '10 hours each'],
  ],
)}
<p>Each wait is up to 20 % longer, at random. A <code>Retry-After</code> of yours counts between the planned wait and twice it. <code>410</code> switches the endpoint off at once, and so do 5 days of nothing but failures;
ask the operator to activate it and to recover what you missed. What could not be delivered is kept for 30 days.</p>
<h3 id="webhook-bodies">Bodies</h3>
${types.map(([type, { post }]) => bodyOf(document, type, post))}
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

function bodyOf(document: ApiDocument, type: string, { requestBody }: ApiWebhook): Markup {
  const { schema = {}, examples = {} } = requestBody.content['application/json'] ?? {};
  return markup`<details class="more"><summary><code>${type}</code></summary>
${schemaTable(document, schema)}
${Object.values(examples).map(({ value }) => codeBlock(`Body of ${type}`, json(value)))}</details>`;
}
