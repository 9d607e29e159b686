import { median } from './statistics.ts';

/** A table with its heading, ready to be printed; cells are texts. */
export interface Table {
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** Sentences below the table: ratios, verdicts, limits. */
  readonly notes: readonly string[];
}

/** A number for people; `-` where it could not be measured. */
export function shown(value: number, digits = 0): string {
  if (!Number.isFinite(value)) return '-';
  return value.toLocaleString('en-US', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}

/** The median of several rounds with the smallest and the largest of them. */
export function withSpread(values: readonly number[], digits = 0): string {
  const middle = shown(median(values), digits);
  if (values.length < 2) return middle;
  return `${middle} (${shown(Math.min(...values), digits)}..${shown(Math.max(...values), digits)})`;
}

/** `1.53x`, or `-`. */
export const ratio = (value: number, to: number): string =>
  Number.isFinite(value / to) ? `${(value / to).toFixed(2)}x` : '-';

/** A table as Markdown, which also reads well on a terminal. */
export function markdownOf(table: Table): string {
  const all = [table.head, ...table.rows];
  const widths = table.head.map((_, column) =>
    Math.max(...all.map((row) => (row[column] ?? '').length)),
  );
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join(' | ')} |`;
  const rule = `| ${widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(Math.max(1, width - 1))}:`)).join(' | ')} |`;
  const notes =
    table.notes.length === 0 ? '' : `\n${table.notes.map((note) => `- ${note}`).join('\n')}\n`;
  return `### ${table.title}\n\n${[line(table.head), rule, ...table.rows.map(line)].join('\n')}\n${notes}`;
}
