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
  const lines = [names, ...records.map((record) => names.map((name) => cell(record[name])))];
  const widths = names.map((_, column) =>
    Math.max(...lines.map((line) => [...(line[column] ?? '')].length)),
  );
  const draw = (line: readonly string[]): string =>
    line
      .map((text, column) => text + ' '.repeat((widths[column] ?? 0) - [...text].length))
      .join('  ')
      .trimEnd();
  const [head = [], ...body] = lines;
  return [draw(head), widths.map((width) => '-'.repeat(width)).join('  '), ...body.map(draw)].join(
    '\n',
  );
}

/** Control characters of stored texts must not reach the terminal: they could move the cursor or hide a line. */
function cell(value: unknown): string {
  if (value === null || value === undefined) return '-';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  // oxlint-disable-next-line no-control-regex -- exactly these are meant
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g, '\ufffd');
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
