/** A piece of finished HTML; only {@link markup} and {@link trusted} make one. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** What may stand in a template: text is escaped, finished pieces are not, lists are joined, nothing is nothing. */
export type Child = Markup | string | number | undefined | readonly Child[];

/** Builds HTML; every interpolated text goes through {@link escapeHtml}. */
export function markup(strings: TemplateStringsArray, ...children: readonly Child[]): Markup {
  return new Markup(String.raw({ raw: strings }, ...children.map(render)));
}

/** Text that is HTML already: our own constants, never anything that was sent. */
export function trusted(text: string): Markup {
  return new Markup(text);
}

/** Makes a text safe between tags and inside quoted attributes. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}

function render(child: Child): string {
  if (child === undefined) return '';
  if (child instanceof Markup) return child.text;
  if (typeof child === 'string' || typeof child === 'number') return escapeHtml(String(child));
  return child.map(render).join('');
}
