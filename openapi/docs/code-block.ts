import { markup, type Child, type Markup } from './markup.ts';

/**
 * A titled block of code. It can be scrolled by keyboard, so it takes the focus and has a name.
 *
 * @param title what a reader is looking at, in a few words
 */
export function codeBlock(title: string, code: Child): Markup {
  return markup`<figure class="code"><figcaption>${title}</figcaption><pre tabindex="0" role="group" aria-label="${title}"><code>${code}</code></pre></figure>`;
}

const TOKEN =
  /("(?:[^"\\]|\\.)*")(\s*:)?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\b(?:true|false|null)\b/g;

/** A JSON value with two spaces, its names, strings, numbers and words told apart. */
export function json(value: unknown): Markup {
  const text = JSON.stringify(value, null, 2);
  const parts: Child[] = [];
  let at = 0;
  for (const match of text.matchAll(TOKEN)) {
    parts.push(text.slice(at, match.index), token(match));
    at = match.index + match[0].length;
  }
  return markup`${[...parts, text.slice(at)]}`;
}

function token([whole, quoted, colon]: RegExpExecArray): Markup {
  if (quoted === undefined) return markup`<span class="t-word">${whole}</span>`;
  if (colon === undefined) return markup`<span class="t-text">${quoted}</span>`;
  return markup`<span class="t-name">${quoted}</span>${colon}`;
}
