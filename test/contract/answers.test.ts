import { expect } from 'chai';
import { z } from 'zod';
import { ErrorResponse } from '../../contract/error-response.ts';
import {
  AcceptedIngestion,
  IngestionStatus,
  SandboxSimulation,
  TransactionRiskStatus,
} from '../../contract/ingestion.ts';
import { EvaluateJob } from '../../contract/jobs.ts';
import { OutcomeLabelAccepted, OutcomeLabelRequest } from '../../contract/outcome.ts';
import { Risk } from '../../contract/risk.ts';
import { ApiUsageSummary } from '../../contract/usage.ts';

const ids = { request_id: 'req_1', ingestion_id: 'ing_1', source_event_id: 'order-17' };
const received_at = '2026-03-01T00:00:00.000Z';
const risk = {
  score: 12,
  level: 'low',
  decision: 'ALLOW',
  reasons: [],
  rule_scores: { velocity: 3 },
  evaluator_version: '1',
  evaluated_at: received_at,
};
const status = { ...ids, evaluation_status: 'SUCCEEDED', risk };
const quota = { period: '2026-03', limit: 10, accepted: 0, remaining: 10 };

type Row = [name: string, schema: z.ZodType, right: object, wrong: object[]];
const table: Row[] = [
  [
    'Risk',
    Risk,
    risk,
    [
      { score: 101 },
      { score: 1.5 },
      { level: 'LOW' },
      { decision: 'BLOCK' },
      { reasons: null },
      { evaluated_at: undefined },
    ],
  ],
  [
    'AcceptedIngestion',
    AcceptedIngestion,
    { ...ids, status: 'ACCEPTED', received_at, schema_version: '1.0', processing_state: 'QUEUED' },
    [
      { ingestion_id: '1' },
      { status: 'QUEUED' },
      { processing_state: 'PENDING' },
      { received_at: '' },
    ],
  ],
  [
    'SandboxSimulation',
    SandboxSimulation,
    {
      request_id: 'r',
      environment: 'sandbox',
      status: 'SIMULATED',
      accepted: true,
      persistence: 'NONE',
      source_event_id: 'x',
      risk_score: 100,
      decision: 'BLOCK',
    },
    [
      { accepted: false },
      { decision: 'HOLD_RECOMMENDED' },
      { risk_score: -1 },
      { environment: 'production' },
    ],
  ],
  [
    'IngestionStatus',
    IngestionStatus,
    { ...status, received_at },
    [{ evaluation_status: 'EVALUATED' }, { risk: undefined }, { received_at: undefined }],
  ],
  [
    'TransactionRiskStatus',
    TransactionRiskStatus,
    status,
    [{ received_at }, { risk: undefined }, { source_event_id: '' }],
  ],
  [
    'OutcomeLabelRequest',
    OutcomeLabelRequest,
    { outcome_label: 'FRAUD_CONFIRMED' },
    [{ outcome_label: 'FRAUD' }, { outcome_label: null }, { note: 'x' }],
  ],
  [
    'OutcomeLabelAccepted',
    OutcomeLabelAccepted,
    { ...ids, outcome_label: 'FALSE_POSITIVE', status: 'ACCEPTED' },
    [{ status: 'OK' }, { extra: 1 }],
  ],
  [
    'ApiUsageSummary of the sandbox',
    ApiUsageSummary,
    { environment: 'sandbox', persistence: 'NONE', quota: null },
    [{ quota: undefined }, { period: '2026-03' }, { persistence: 'ALL' }],
  ],
  [
    'ApiUsageSummary of production',
    ApiUsageSummary,
    { environment: 'production', quota },
    [
      { quota: null },
      { persistence: 'NONE' },
      { quota: { ...quota, remaining: -1 } },
      { quota: { ...quota, period: '2026-3' } },
    ],
  ],
  [
    'ErrorResponse',
    ErrorResponse,
    { request_id: 'r', error: { code: 'X', message: 'y', details: ['a: b'] } },
    [{ error: { code: 'X' } }, { error: { code: 'X', message: 'y', stack: 'z' } }, { extra: 1 }],
  ],
  [
    'EvaluateJob',
    EvaluateJob,
    { site_id: '1', ingestion_id: '9223372036854775807' },
    [{ site_id: 1 }, { ingestion_id: 'ing_1' }, { ingestion_id: '0' }, { payload: {} }],
  ],
];

describe('contract/answers', () => {
  for (const [name, schema, right, wrong] of table) {
    it(`${name} has the contract's shape`, () => {
      expect(schema.parse(right)).to.deep.equal(right);
      for (const over of wrong) {
        expect(schema.safeParse({ ...right, ...over }).success, JSON.stringify(over)).to.equal(
          false,
        );
      }
    });
  }

  it('risk is null before the evaluation, in both look-ups', () => {
    expect(IngestionStatus.safeParse({ ...status, received_at, risk: null }).success).to.equal(
      true,
    );
    expect(TransactionRiskStatus.safeParse({ ...status, risk: null }).success).to.equal(true);
  });

  it('usage is described as exactly one of two shapes', () => {
    expect(z.toJSONSchema(ApiUsageSummary, { target: 'openapi-3.0' })).to.have.nested.property(
      'definitions.ApiUsageSummary.oneOf',
    );
  });
});
