import { expect } from 'chai';
import { ERRORS, type ErrorCode } from '../../contract/errors.ts';
import type { Answer } from './merchant.ts';

/** How one property must look: a pattern of its text, the allowed values, or a question. */
type Rule = RegExp | readonly unknown[] | ((value: unknown) => boolean);
type Shape = Record<string, Rule>;

const isInstant = (value: unknown): boolean =>
  typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value);
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;
const isScore = (value: unknown): boolean => isCount(value) && Number(value) <= 100;
const isTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every((line) => typeof line === 'string' && line !== '');
const isObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const REQUEST_ID = /^req_[0-9a-f]{32}$/;
const INGESTION_ID = /^ing_[0-9]+$/;
const EVENT_ID = /^.{1,120}$/su;

const RISK: Shape = {
  score: isScore,
  level: ['low', 'medium', 'high', 'critical'],
  decision: ['ALLOW', 'REVIEW', 'HOLD_RECOMMENDED', 'BLOCK_RECOMMENDED'],
  reasons: isTexts,
  rule_scores: isObject,
  evaluator_version: /^.+$/,
  evaluated_at: isInstant,
};
const isRisk = (value: unknown): boolean => value === null || problemsOf(value, RISK).join() === '';

const STATUS: Shape = {
  request_id: REQUEST_ID,
  ingestion_id: INGESTION_ID,
  source_event_id: EVENT_ID,
  evaluation_status: ['PENDING', 'PROCESSING', 'RETRY_SCHEDULED', 'SUCCEEDED', 'DLQ'],
  risk: isRisk,
};

/** Every success body, written down from section 2 of the contract and from nothing of ours. */
const SHAPES = {
  AcceptedIngestion: {
    request_id: REQUEST_ID,
    ingestion_id: INGESTION_ID,
    status: ['ACCEPTED'],
    received_at: isInstant,
    schema_version: ['1.0'],
    source_event_id: EVENT_ID,
    processing_state: ['QUEUED', 'VALIDATED'],
  },
  SandboxSimulation: {
    request_id: REQUEST_ID,
    environment: ['sandbox'],
    status: ['SIMULATED'],
    accepted: [true],
    persistence: ['NONE'],
    source_event_id: EVENT_ID,
    risk_score: isScore,
    decision: ['ALLOW', 'REVIEW', 'BLOCK'],
    reasons: isTexts,
  },
  IngestionStatus: { ...STATUS, received_at: isInstant },
  TransactionRiskStatus: STATUS,
  OutcomeLabelAccepted: {
    request_id: REQUEST_ID,
    ingestion_id: INGESTION_ID,
    source_event_id: EVENT_ID,
    outcome_label: ['FRAUD_CONFIRMED', 'FALSE_POSITIVE', 'CHARGEBACK_CONFIRMED'],
    status: ['ACCEPTED'],
  },
  SandboxUsage: { environment: ['sandbox'], persistence: ['NONE'], quota: [null] },
  ProductionUsage: {
    environment: ['production'],
    quota: (value: unknown) =>
      problemsOf(value, {
        period: /^[0-9]{4}-[0-9]{2}$/,
        limit: isCount,
        accepted: isCount,
        remaining: isCount,
      }).join() === '',
  },
} satisfies Record<string, Shape>;

/** The name of a success body. */
export type BodyName = keyof typeof SHAPES;

function problemsOf(value: unknown, shape: Shape): string[] {
  if (typeof value !== 'object' || value === null) return ['not an object'];
  const held = value as Record<string, unknown>;
  return [
    ...Object.keys(held).flatMap((name) => (Object.hasOwn(shape, name) ? [] : [`${name}: extra`])),
    ...Object.entries(shape).flatMap(([name, rule]) => {
      if (!Object.hasOwn(held, name)) return [`${name}: missing`];
      return holds(held[name], rule) ? [] : [`${name}: ${JSON.stringify(held[name])}`];
    }),
  ];
}

function holds(value: unknown, rule: Rule): boolean {
  if (rule instanceof RegExp) return typeof value === 'string' && rule.test(value);
  return typeof rule === 'function' ? rule(value) : rule.includes(value);
}

/** What differs between an answer and the error body of the contract (section 2.12); empty when nothing does. */
export function errorBodyProblems(answer: Answer): string[] {
  const requestId = answer.headers.get('x-request-id');
  const problems = problemsOf(answer.body, { request_id: [requestId], error: isObject });
  if (problems.length > 0) return problems;
  const { details, ...error } = answer.body.error as Record<string, unknown>;
  const meaning = Object.hasOwn(ERRORS, String(error['code']))
    ? ERRORS[error['code'] as ErrorCode]
    : undefined;
  if (meaning === undefined) return [`code: ${String(error['code'])}`];
  return [
    ...problemsOf(error, { code: /^[A-Z_]+$/, message: [meaning.message] }),
    ...(REQUEST_ID.test(String(requestId)) ? [] : [`x-request-id: ${String(requestId)}`]),
    ...(meaning.status === answer.status ? [] : [`status: ${answer.status}`]),
    ...(details === undefined || (isTexts(details) && (details as unknown[]).length <= 20)
      ? []
      : ['details']),
    ...(answer.headers.get('content-type') === 'application/json; charset=utf-8'
      ? []
      : ['content-type']),
  ];
}

/** Expects the contract's error body, exactly; and its details, where they are given. */
export function expectError(answer: Answer, code: ErrorCode, details?: readonly string[]): void {
  expect(errorBodyProblems(answer), JSON.stringify(answer.body)).to.deep.equal([]);
  expect(answer.body.error.code, JSON.stringify(answer.body)).to.equal(code);
  if (details !== undefined) expect(answer.body.error.details).to.deep.equal(details);
}

/** Expects a success body, exactly: required properties, no other, and the request id of the header. */
export function expectBody(answer: Answer, status: number, name: BodyName): void {
  expect(answer.status, JSON.stringify(answer.body)).to.equal(status);
  expect(problemsOf(answer.body, SHAPES[name]), JSON.stringify(answer.body)).to.deep.equal([]);
  expect(answer.headers.get('content-type')).to.equal('application/json; charset=utf-8');
  expect(answer.headers.get('x-request-id')).to.match(REQUEST_ID);
  if ('request_id' in SHAPES[name]) {
    expect(answer.body.request_id).to.equal(answer.headers.get('x-request-id'));
  }
}
