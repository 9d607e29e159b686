import { ERRORS } from '../../contract/errors.ts';
import type { ApiDocument } from '../document-types.ts';
import { markup, type Markup } from './markup.ts';
import { badge, commonRefusals } from './operation-section.ts';
import { identifier, inline, textTable } from './prose.ts';

/** Every error code with its advice, from the one table that the answers themselves come from. */
export function errorSection(document: ApiDocument): Markup {
  return markup`<p>Every refusal has the same body: <code>request_id</code>, and <code>error</code> with a stable <code>code</code>, a sentence for people in
<code>message</code>, and, where something can be named, <code>details</code>: one line per problem, <code>path: what is wrong</code>. Values you sent are never
repeated, nor are names of fields the contract does not know (they appear as <code>&lt;undeclared&gt;</code>).</p>
<h3 id="error-codes">Error codes</h3>
${textTable(
  ['Code', 'Status', 'Meaning', 'What to do', 'Retry'],
  Object.entries(ERRORS).map(([code, { status, message, advice }]) => [
    identifier(code),
    badge(String(status)),
    message,
    advice,
    retryRule(status),
  ]),
)}
<h3 id="any-operation">Refusals of any operation</h3>
<p>The operations above list what is particular to them. Any of them may also answer:</p>
${textTable(
  ['Status', 'When'],
  [...commonRefusals(document)].map(([status, { description }]) => [
    badge(status),
    markup`${description.split('\n\n').map((line) => markup`<p>${inline(line)}</p>`)}`,
  ]),
)}
<p>A path that does not exist is 404 <code>NOT_FOUND</code>; a path with another method is 405 <code>METHOD_NOT_ALLOWED</code>, and <code>Allow</code> names those it has.
Something that belongs to another Site is answered exactly like something that does not exist.</p>
<h3 id="retries">Retry rules</h3>
<ol>
<li>Retry only 429, 5xx and network errors, with exponential back-off and random jitter, and with the <strong>same Idempotency-Key and the same body</strong>.</li>
<li>Where the answer has <code>Retry-After</code>, wait that many seconds; then the same call can succeed.</li>
<li>Never retry 400, 401, 403, 404 or 409 unchanged: correct the payload, the API key or the idempotency key first.</li>
<li>After a network error or a 500 you do not know whether the call took effect. Repeat it: a call that did is answered as it was the first time, with the header
<code>idempotent-replayed: true</code>.</li>
</ol>`;
}

/** The contract's retry rules (section 7), for one status. */
export function retryRule(status: number): string {
  if (status === 429 || status === 503) return 'After `Retry-After`';
  if (status >= 500) return 'With back-off';
  if (status === 408) return 'Like a network error';
  return 'Not unchanged';
}
