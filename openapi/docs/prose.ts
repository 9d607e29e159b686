import { markup, trusted, type Child, type Markup } from './markup.ts';

/** The two marks of CommonMark that our descriptions use: blank lines between paragraphs, and `code`. */
export function paragraphs(text: string): Markup[] {
  return text.split('\n\n').map((paragraph) => markup`<p>${inline(paragraph)}</p>`);
}

/** One paragraph without its tag; text between backticks becomes code. */
export function inline(text: string): Markup {
  const parts = text.split('`');
  return markup`${parts.map((part, index) => (index % 2 === 1 ? markup`<code>${part}</code>` : part))}`;
}

const MAY_BREAK = trusted('<wbr>');

/** A name in code, which may break after an underscore where the column is narrow. */
export function identifier(name: string): Markup {
  const parts = name.split(/(?<=_)/).flatMap((part): Child[] => [part, MAY_BREAK]);
  return markup`<code>${parts.slice(0, -1)}</code>`;
}

/** A table of short texts, each read by {@link inline} unless it is finished. The first column heads its row. */
export function textTable(
  columns: readonly string[],
  rows: readonly (readonly (string | Markup)[])[],
): Markup {
  const cell = (value: string | Markup): Markup =>
    typeof value === 'string' ? inline(value) : value;
  return markup`<table class="rows">
<thead><tr>${columns.map((column) => markup`<th scope="col">${column}</th>`)}</tr></thead>
<tbody>${rows.map(
    ([head = '', ...cells]) => markup`
<tr><th scope="row">${cell(head)}</th>${cells.map(
      (value, index) => markup`<td data-label="${columns[index + 1]}">${cell(value)}</td>`,
    )}</tr>`,
  )}
</tbody></table>`;
}
