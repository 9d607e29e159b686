import type { CaseResult, CheckReport } from './types.ts';

/** The report as JUnit XML: a suite for each part, a test case for each case. */
export function junitReport(report: CheckReport): string {
  const suites = [...Map.groupBy(report.cases, ({ group }) => group)].map(([group, cases]) =>
    suite(group, cases, report.startedAt),
  );
  const head = counts('contract-check', report.cases);
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites ${head} time="${report.seconds}">\n${suites.join('')}</testsuites>\n`;
}

function suite(name: string, cases: readonly CaseResult[], startedAt: string): string {
  const seconds = cases.reduce((sum, { milliseconds }) => sum + milliseconds, 0) / 1000;
  const head = `${counts(name, cases)} time="${seconds}" timestamp="${escape(startedAt)}"`;
  return `  <testsuite ${head}>\n${cases.map(testCase).join('')}  </testsuite>\n`;
}

function counts(name: string, cases: readonly CaseResult[]): string {
  const of = (outcome: CaseResult['outcome']): number =>
    cases.filter((item) => item.outcome === outcome).length;
  return `name="${escape(name)}" tests="${cases.length}" failures="${of('deviates')}" errors="0" skipped="${of('skipped')}"`;
}

function testCase({ operation, name, outcome, milliseconds, deviations }: CaseResult): string {
  const head = `classname="${escape(`contract-check.${operation}`)}" name="${escape(name)}" time="${milliseconds / 1000}"`;
  if (outcome === 'agrees') return `    <testcase ${head}/>\n`;
  if (outcome === 'skipped') return `    <testcase ${head}><skipped/></testcase>\n`;
  const lines = deviations.map((d) => `${d.aspect}: expected ${d.expected}; came ${d.came}`);
  const message = escape(lines[0] ?? '');
  const text = escape(lines.join('\n'));
  return `    <testcase ${head}>\n      <failure message="${message}">${text}</failure>\n    </testcase>\n`;
}

function escape(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
