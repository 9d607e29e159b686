/** Lines of two columns, indented. */
export function columns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(0, ...rows.map(([name]) => name.length));
  return rows.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`.trimEnd()).join('\n');
}

/** An answer for people: a list as a table, an object as lines and sections, with the way to the next page. */
export function show(result: unknown): string {
  if (!isRecord(result)) return cell(result);
  const { items, next_cursor: next } = result;
  if (Array.isArray(items)) {
    const more = typeof next === 'string' ? `\n\nMore: --cursor ${cell(next)}` : '';
    return `${items.length === 0 ? 'Nothing to show.' : tableOf(items)}${more}`;
  }
  return sectionsOf(result).join('\n\n');
}

/** Terminal columns of a line that holds more than one value. */
const LINE_COLUMNS = 120;

/** An object with more values than these is shown in several columns. */
const LONG = 40;

/**
 * An object as lines, then what is too large for a line in sections of its own: a list of objects as a table, a list of
 * texts line by line, an object by this same rule.
 *
 * @param title the fields that lead to it
 */
function sectionsOf(record: Readonly<Record<string, unknown>>, title = ''): string[] {
  const lines: [string, string][] = [];
  const sections: string[] = [];
  for (const [name, value] of Object.entries(record)) {
    const heading = cell(title === '' ? name : `${title}.${name}`);
    if (Array.isArray(value) && value.length > 0 && value.every(isRecord)) {
      sections.push(`${heading}\n${tableOf(value)}`);
    } else if (Array.isArray(value) && isLarge(value)) {
      sections.push([heading, ...value.map((item) => `  ${cell(item)}`)].join('\n'));
    } else if (isRecord(value) && isLarge(value)) {
      sections.push(...sectionsOf(value, heading));
    } else {
      lines.push([cell(name), cell(value)]);
    }
  }
  if (lines.length === 0) return sections;
  const shown = lines.length > LONG ? sideBySide(lines) : columns(lines);
  return [title === '' ? shown : `${title}\n${shown}`, ...sections];
}

const isLarge = (value: object): boolean => widthOf(textOf(value)) > LINE_COLUMNS;

/** Lines of two columns, several beside each other, read from the top to the bottom. */
function sideBySide(lines: readonly (readonly [string, string])[]): string {
  const nameWidth = Math.max(...lines.map(([name]) => widthOf(name)));
  const texts = lines.map(([name, text]) => `  ${padded(name, nameWidth)}  ${text}`);
  const width = Math.max(...texts.map(widthOf));
  const rows = Math.ceil(texts.length / Math.max(1, Math.floor(LINE_COLUMNS / width)));
  return texts
    .slice(0, rows)
    .map((_, row) =>
      texts
        .filter((_text, index) => index % rows === row)
        .map((text) => padded(text, width))
        .join('')
        .trimEnd(),
    )
    .join('\n');
}

const padded = (text: string, width: number): string =>
  text + ' '.repeat(Math.max(0, width - widthOf(text)));

function tableOf(rows: readonly unknown[]): string {
  const records = rows.map((row) => (isRecord(row) ? row : { value: row }));
  const names = [...new Set(records.flatMap((record) => Object.keys(record)))];
  const lines = [names, ...records.map((record) => names.map((name) => cut(cell(record[name]))))];
  const widths = names.map((_, column) =>
    Math.max(...lines.map((line) => widthOf(line[column] ?? ''))),
  );
  const draw = (line: readonly string[]): string =>
    line
      .map((text, column) => padded(text, widths[column] ?? 0))
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
  if (Array.isArray(value) && value.length === 0) return '-';
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) {
    return value.map(textOf).join(value.some((item) => isRecord(item)) ? '; ' : ', ');
  }
  if (typeof value === 'number') return numberText(value);
  if (!isRecord(value)) return JSON.stringify(value);
  return Object.entries(value)
    .map(([name, inner]) => `${name}=${textOf(inner)}`)
    .join(' ');
}

/** Shares and means to four digits, which is what people compare; --json has all of them. */
const numberText = (value: number): string =>
  String(
    Number.isInteger(value)
      ? value
      : Number(Math.abs(value) < 1 ? value.toPrecision(4) : value.toFixed(3)),
  );

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
