/** Lines of two columns, indented. */
export function columns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(0, ...rows.map(([name]) => name.length));
  return rows.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`.trimEnd()).join('\n');
}

/** An answer for people: a list as a table, an object as lines, with the way to the next page. */
export function show(result: unknown): string {
  if (!isRecord(result)) return cell(result);
  const { items, next_cursor: next } = result;
  if (Array.isArray(items)) {
    const more = typeof next === 'string' ? `\n\nMore: --cursor ${cell(next)}` : '';
    return `${items.length === 0 ? 'Nothing to show.' : tableOf(items)}${more}`;
  }
  const tables: string[] = [];
  const lines: [string, string][] = [];
  for (const [name, value] of Object.entries(result)) {
    if (Array.isArray(value) && value.length > 0 && value.every(isRecord)) {
      tables.push(`${name}\n${tableOf(value)}`);
    } else {
      lines.push([name, cell(value)]);
    }
  }
  return [columns(lines), ...tables].filter((part) => part !== '').join('\n\n');
}

function tableOf(rows: readonly unknown[]): string {
  const records = rows.map((row) => (isRecord(row) ? row : { value: row }));
  const names = [...new Set(records.flatMap((record) => Object.keys(record)))];
  const lines = [names, ...records.map((record) => names.map((name) => cut(cell(record[name]))))];
  const widths = names.map((_, column) =>
    Math.max(...lines.map((line) => widthOf(line[column] ?? ''))),
  );
  const draw = (line: readonly string[]): string =>
    line
      .map((text, column) => text + ' '.repeat((widths[column] ?? 0) - widthOf(text)))
      .join('  ')
      .trimEnd();
  const [head = [], ...body] = lines;
  return [draw(head), widths.map((width) => '-'.repeat(width)).join('  '), ...body.map(draw)].join(
    '\n',
  );
}

/** Wide in every terminal: Hangul, Kana, Han, full-width forms, emoji (Unicode Standard Annex 11, roughly). */
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;

/** Terminal columns of a text, so that rows with names in any script line up. */
function widthOf(text: string): number {
  let width = 0;
  for (const character of text) {
    if (!/\p{M}/u.test(character)) width += WIDE.test(character) ? 2 : 1;
  }
  return width;
}

/** A cell of a table; what is longer is shown whole by --json. */
const CELL_COLUMNS = 60;

function cut(text: string): string {
  let kept = '';
  let width = 0;
  for (const character of text) {
    width += widthOf(character);
    if (width > CELL_COLUMNS) return `${kept}…`;
    kept += character;
  }
  return kept;
}

// oxlint-disable-next-line no-control-regex -- exactly these are meant
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;

/** Control characters of stored texts must not reach the terminal: they could move the cursor or hide a line. */
const cell = (value: unknown): string => textOf(value).replaceAll(CONTROLS, '\ufffd');

/** A value on one line, without the noise of JSON. */
function textOf(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) {
    return value.map(textOf).join(value.some((item) => isRecord(item)) ? '; ' : ', ');
  }
  if (!isRecord(value)) return JSON.stringify(value);
  return Object.entries(value)
    .map(([name, inner]) => `${name}=${textOf(inner)}`)
    .join(' ');
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
