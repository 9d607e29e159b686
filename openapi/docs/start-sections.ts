import { QUICK_START_EVENT } from '../examples.ts';
import { body, command } from './curl.ts';
import { codeBlock } from './code-block.ts';
import { markup, trusted, type Markup } from './markup.ts';
import { textTable } from './prose.ts';

/** Stands for the address the reader used, until a request tells it. */
export const ORIGIN_MARK = '@@ORIGIN@@';

/** From nothing to an evaluated event, with commands that run as they stand. */
export function quickStart(): Markup {
  return markup`<ol class="steps">
<li><h3>Get a sandbox key</h3>
<p>The operator of this service issues it. It begins with <code>trk_sbx_</code> and is shown once. Put it and the address into your shell:</p>
${codeBlock(
  'Shell',
  markup`export BASE_URL='${trusted(ORIGIN_MARK)}'
export API_KEY='trk_sbx_paste_your_key_here'`,
)}</li>
<li><h3>Send an event</h3>
<p>The sandbox checks it exactly like production, stores nothing, and answers at once with a simulated evaluation.</p>
${codeBlock(
  'Shell',
  command([
    '"$BASE_URL/v1/transactions"',
    '-H "x-api-key: $API_KEY"',
    '-H "Idempotency-Key: quickstart-$(date +%s)"',
    "-H 'Content-Type: application/json'",
    body(QUICK_START_EVENT),
  ]),
)}
<p>200 and a <code>SandboxSimulation</code>? Then key, headers and body are right. 400? The <code>details</code> name every field that is not.</p></li>
<li><h3>See each decision</h3>
<p>These values of <code>payment_method.token</code> force the sandbox's decision, so that you can test what your code does with it:</p>
${textTable(
  ['Token', 'Decision'],
  [
    ['`tok_sandbox_allow`', '`ALLOW`'],
    ['`tok_sandbox_review`', '`REVIEW`'],
    ['`tok_sandbox_block`', '`BLOCK`'],
  ],
)}
<p>Any other token is really scored, but without history. The sandbox answers <code>REVIEW</code> where production says <code>HOLD_RECOMMENDED</code>, and
<code>BLOCK</code> where it says <code>BLOCK_RECOMMENDED</code>.</p></li>
<li><h3>Go live</h3>
<p>With a production key the same call answers 202 and an <code>ingestion_id</code>: the event is stored durably and queued. Ask for the result every 1 to 5 seconds until
<code>evaluation_status</code> is <code>SUCCEEDED</code> or <code>DLQ</code>:</p>
${codeBlock(
  'Shell',
  markup`export INGESTION_ID='ing_1024'
${command(['"$BASE_URL/v1/ingestions/$INGESTION_ID"', '-H "x-api-key: $API_KEY"'])}`,
)}
<p>or let a <a href="#webhooks">webhook</a> tell you. Production opens once quality and security are checked, an administrator has approved the Site, and a contract is in force.</p></li>
</ol>`;
}

/** Keys, environments, permissions. */
export function authentication(): Markup {
  return markup`<p>Send your API key in the header <code>x-api-key</code> with every call. The key alone decides which Site is calling, what it may do and what it sees; a Site code never
appears in a URL or body. Keep it on your servers: it is no key for browsers or apps.</p>
${textTable(
  ['Key', 'Serves', 'Effect'],
  [
    [
      '`trk_sbx_…`',
      '`POST /v1/transactions` and `GET /v1/usage`',
      'Nothing is stored, no quota is used, no webhook is sent. Look-ups and outcomes answer 404.',
    ],
    [
      '`trk_prod_…`',
      'All operations its permissions allow',
      'Events are stored, evaluated and counted.',
    ],
  ],
)}
<p>A credential has the permissions <code>ingest</code>, <code>read</code> and <code>label</code>, or some of them; a missing one is 403 <code>FORBIDDEN</code>. Every credential may read its own usage. A key that is missing, unknown, expired, revoked
or of the other environment is 401 <code>UNAUTHORIZED</code>. When a key is replaced, both may be valid for a while, and what you have used of the quota goes on.</p>`;
}

/** How to repeat a call safely. */
export function idempotency(): Markup {
  return markup`<p>Both <code>POST</code> operations demand an <code>Idempotency-Key</code>: 8 to 128 characters of <code>A-Z a-z 0-9 . _ : -</code>. Choose one per event, for example your event id, store it with
the event, and use it for every attempt.</p>
${textTable(
  ['You send', 'You get'],
  [
    [
      'The same key, the same body',
      'The first acceptance again, with `idempotent-replayed: true`; no quota used',
    ],
    [
      'Another key, the same event with the same body',
      'The first acceptance again, with its `ingestion_id`; no quota used',
    ],
    ['The same key, another body', '409 `IDEMPOTENCY_CONFLICT`; nothing stored'],
    [
      'Another key, the same `source_event_id`, another body',
      '409 `IDEMPOTENCY_CONFLICT`; nothing stored',
    ],
  ],
)}
<p>The same body means the same JSON values: the order of keys, white space and the way a number or character is written do not matter; every value does,
<code>sent_at</code> included. So store the body, and do not build it anew for a retry. Keys belong to your Site, not to one API key, and do not expire.</p>`;
}
