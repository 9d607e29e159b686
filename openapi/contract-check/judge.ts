import type { Header } from '../document-types.ts';
import type { DescribedAnswer, Description } from './description.ts';
import { schemaProblems, worded } from './schema-problems.ts';
import type { Answer, Deviation } from './types.ts';

/** What a case expects of an answer beside what the description says of every one. */
export interface Expectation {
  readonly status: number;
  /** For refusals. */
  readonly code?: string;
  /** Paths of which each must begin one of the details, as in `transaction.amount_minor: …`. */
  readonly details?: readonly string[];
  /** False where the request is refused before the credential is counted. */
  readonly counted?: boolean;
  /** Texts that the answer must not hold: refused values, the API key. */
  readonly secrets?: readonly string[];
  /** HEAD: an answer without a body. */
  readonly bodiless?: boolean;
}

/** The answer to a path that the description does not know, or that the HTTP parser refused. */
const UNDESCRIBED: Omit<DescribedAnswer, 'codes'> = {
  headers: new Map(),
  schema: { $ref: '#/components/schemas/ErrorResponse' },
};

/** Everything in an answer that differs from the description and from what the case expects. Pure. */
export function judge(
  description: Description,
  operation: string,
  answer: Answer,
  expected: Expectation,
): Deviation[] {
  const problems: Deviation[] = [];
  const described = description.operations.get(operation);
  const promised = described?.answers.get(answer.status) ?? UNDESCRIBED;
  if (answer.status !== expected.status) {
    problems.push({
      aspect: 'status',
      expected: String(expected.status) + (expected.code === undefined ? '' : ` ${expected.code}`),
      came: `${answer.status}${codeIn(answer)}`,
    });
  }
  if (described !== undefined && !described.answers.has(answer.status)) {
    problems.push({
      aspect: 'status',
      expected: 'a documented status',
      came: String(answer.status),
    });
  }
  problems.push(...headerProblems(promised.headers, answer));
  if (expected.counted === true) problems.push(...countedProblems(answer));
  if (expected.bodiless !== true) {
    problems.push(...bodyProblems(description, promised, answer));
    problems.push(...refusalProblems(described?.answers.get(answer.status), answer, expected));
  }
  const held = (expected.secrets ?? []).some(
    (secret) =>
      answer.text.includes(secret) ||
      [...answer.headers.values()].some((values) => values.some((v) => v.includes(secret))),
  );
  if (held) {
    problems.push({
      aspect: 'answer',
      expected: 'nothing of what was refused and no API key',
      came: 'a repetition of it',
    });
  }
  return problems;
}

/** ` CODE` of a refusal, for people. */
function codeIn({ body, status }: Answer): string {
  const { error } = (body ?? {}) as { error?: { code?: unknown } };
  return status >= 400 && typeof error?.code === 'string' ? ` ${worded(error.code)}` : '';
}

function headerProblems(promised: ReadonlyMap<string, Header>, answer: Answer): Deviation[] {
  const problems: Deviation[] = [];
  const ids = answer.headers.get('x-request-id') ?? [];
  if (ids.length !== 1 || ids[0] === '') {
    problems.push({
      aspect: 'header x-request-id',
      expected: 'one x-request-id',
      came: ids.length === 1 ? 'an empty one' : ids.length === 0 ? 'none' : `${ids.length} of them`,
    });
  }
  for (const [name, { required, schema }] of promised) {
    const values = answer.headers.get(name.toLowerCase());
    const aspect = `header ${name}`;
    if (name.toLowerCase() === 'x-request-id') continue;
    if (values === undefined) {
      if (required === true) problems.push({ aspect, expected: 'a required header', came: 'none' });
      continue;
    }
    const text = values.join(', ');
    const value = schema.type === 'integer' && /^\d+$/.test(text) ? Number(text) : text;
    problems.push(...schemaProblems(schema, value, {}, aspect));
  }
  return problems;
}

/** The RateLimit headers are on every answer to a request whose credential was recognised, 503 excepted. */
function countedProblems({ status, headers }: Answer): Deviation[] {
  if (status >= 500) return [];
  return ['RateLimit', 'RateLimit-Policy']
    .filter((name) => !headers.has(name.toLowerCase()))
    .map((name) => ({
      aspect: `header ${name}`,
      expected: 'present, since the credential was recognised',
      came: 'none',
    }));
}

function bodyProblems(
  description: Description,
  { schema }: Pick<DescribedAnswer, 'schema'>,
  answer: Answer,
): Deviation[] {
  const problems: Deviation[] = [];
  const types = answer.headers.get('content-type') ?? [];
  if (types.length !== 1 || !/^application\/json(; ?charset="?utf-8"?)?$/i.test(types[0] ?? '')) {
    const came = types[0] ?? 'none';
    problems.push({
      aspect: 'header content-type',
      expected: 'application/json, in UTF-8',
      came: /^[\w/+.;= -]{1,60}$/.test(came) ? came : 'another',
    });
  }
  if (answer.body === undefined) {
    const came = answer.text === '' ? 'an empty body' : 'a body that is no JSON';
    return [...problems, { aspect: 'body', expected: 'JSON', came }];
  }
  problems.push(...schemaProblems(schema, answer.body, description.schemas));
  const { request_id: id } = (answer.body ?? {}) as { request_id?: unknown };
  const sent = answer.headers.get('x-request-id')?.[0];
  if (typeof id === 'string' && sent !== undefined && id !== sent) {
    problems.push({
      aspect: 'body.request_id',
      expected: 'equal to the header x-request-id',
      came: 'another id',
    });
  }
  return problems;
}

function refusalProblems(
  described: DescribedAnswer | undefined,
  answer: Answer,
  expected: Expectation,
): Deviation[] {
  if (answer.status < 400) return [];
  const { error } = (answer.body ?? {}) as { error?: { code?: unknown; details?: unknown } };
  const problems: Deviation[] = [];
  const code = error?.code;
  const isExpectedStatus = answer.status === expected.status;
  if (isExpectedStatus && expected.code !== undefined && code !== expected.code) {
    problems.push({ aspect: 'error.code', expected: expected.code, came: worded(code) });
  } else if (described !== undefined && !described.codes.has(String(code))) {
    problems.push({
      aspect: 'error.code',
      expected: `one of ${[...described.codes].join(', ')}`,
      came: worded(code),
    });
  }
  const lines = Array.isArray(error?.details) ? error.details.map(String) : [];
  for (const path of isExpectedStatus ? (expected.details ?? []) : []) {
    if (lines.some((line) => line.startsWith(`${path}: `))) continue;
    problems.push({
      aspect: 'error.details',
      expected: `a line about ${path}`,
      came: lines.length === 0 ? 'no details' : `${lines.length} other lines`,
    });
  }
  return problems;
}
