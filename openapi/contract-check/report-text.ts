import type { CaseResult, CheckReport, Coverage } from './types.ts';

const WORD = { agrees: 'ok', deviates: 'DEVIATES', skipped: 'skipped' } as const;

/** The report for people: a table of all cases, each deviation in full, what nobody saw, and one closing line. */
export function textReport(report: CheckReport): string {
  const parts = [table(report.cases), deviationLines(report.cases), notSeenLines(report.notSeen)];
  return [...parts.filter((part) => part !== ''), closingLine(report)].join('\n\n');
}

function table(cases: readonly CaseResult[]): string {
  const rows = [
    ['', 'part', 'operation', 'case', 'ms'],
    ...cases.map((item) => [
      WORD[item.outcome],
      item.group,
      item.operation,
      item.name,
      item.outcome === 'skipped' ? '' : String(item.milliseconds),
    ]),
  ];
  const widths = [0, 1, 2, 3].map((column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  );
  return rows
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function deviationLines(cases: readonly CaseResult[]): string {
  const deviating = cases.filter(({ deviations }) => deviations.length > 0);
  if (deviating.length === 0) return '';
  const lines = deviating.flatMap(({ operation, name, deviations }) => [
    `  ${operation}: ${name}`,
    ...deviations.map((d) => `    ${d.aspect}: expected ${d.expected}; came ${d.came}`),
  ]);
  return ['Deviations:', ...lines].join('\n');
}

function notSeenLines(notSeen: readonly Coverage[]): string {
  if (notSeen.length === 0) return '';
  const byAnswer = Map.groupBy(notSeen, ({ status, code }) => `${status} ${code ?? ''}`.trim());
  const lines = [...byAnswer]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([answer, group]) => `  ${answer}: ${group.map(({ operation }) => operation).join(', ')}`);
  return ['Documented, but met by no case:', ...lines].join('\n');
}

/** The one line that says how it ended. */
export function closingLine({ cases, seconds, requests, lost }: CheckReport): string {
  const count = (outcome: CaseResult['outcome']): number =>
    cases.filter((item) => item.outcome === outcome).length;
  const skipped = count('skipped') > 0 ? `, ${count('skipped')} skipped` : '';
  const end = lost ? '; the gateway stopped answering' : '';
  return `${count('agrees')} agree, ${count('deviates')} deviate${skipped} (${requests} requests in ${seconds} s)${end}`;
}
