import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { entityKey, FEATURES } from '../../risk/index.ts';
import { eventOf, merchant, type Merchant } from '../support/merchant.ts';
import { ADMIN_TOKEN, runService, type RunningService } from '../support/running-service.ts';
import { createSite, type TestSite } from '../support/site.ts';

/** What an answer of `ingestions.explain` holds, as far as it is looked at here. */
interface Explained {
  ingestion_id: string;
  site_code: string;
  source_event_id: string;
  status: string;
  story: ({ what: string; at: string } & Record<string, unknown>)[];
  job: { state: string; claims: number } | null;
  evaluation: {
    score: number;
    decision: string;
    reasons: string[];
    replay: string;
    features: Record<string, number> | null;
    rules: {
      rule: string;
      answer: string;
      points: number;
      counted: boolean;
      thresholds: Record<string, number>;
    }[];
    model: { probability: number } | null;
  } | null;
  deliveries: { endpoint_id: string; state: string }[];
}

describe('one ingestion explained', () => {
  let service: RunningService;
  let site: TestSite;
  let caller: Merchant;
  let credentialId: string;
  const mark = randomUUID().slice(0, 8);

  before(async () => {
    service = await runService({
      environment: { EVALUATION_RETRY_LIMIT: '1', EVALUATION_RETRY_DELAY_SECONDS: '1' },
    });
    site = await createSite(service.database, { code: 'acme' });
    const issued = await site.issue();
    ({ credentialId } = issued);
    caller = merchant(service.url, issued.apiKey);
    await service.database.query(
      `insert into webhook_endpoint (site_id, url, description, event_types, state, activated_at, created_by, created_at,
         changed_by, changed_at)
       values ($1, 'https://merchant.example/hook', 'test', '{transaction.evaluated}', 'ACTIVE', now(), 'ann', now(), 'ann', now())`,
      [site.siteId],
    );
  });
  after(() => service.stop());

  async function admin(
    procedure: string,
    input: object,
    init: { method?: 'GET' | 'POST'; token?: string } = {},
    // oxlint-disable-next-line typescript/no-explicit-any -- answers of any procedure are looked into
  ): Promise<{ status: number; data: any; message: string }> {
    const { method = 'POST', token = ADMIN_TOKEN } = init;
    const query = method === 'GET' ? `?input=${encodeURIComponent(JSON.stringify(input))}` : '';
    const response = await fetch(`${service.url}/admin/trpc/${procedure}${query}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(method === 'GET' ? {} : { body: JSON.stringify(input) }),
    });
    const { result, error } = (await response.json()) as {
      result?: { data: unknown };
      error?: { message: string };
    };
    return {
      status: response.status,
      data: result?.data,
      message: error?.message ?? '',
    };
  }

  const explain = async (id: string): Promise<Explained> =>
    (await admin('ingestions.explain', { ingestion_id: id }, { method: 'GET' })).data;

  const payloadOf = (token: string) => ({
    correlation_id: `correlation-${mark}`,
    payment_method: { type: 'CARD', token },
    customer: { customer_id: `customer-${mark}`, account_age_days: 739_184 },
    device: { device_id: `device-${mark}` },
  });

  it('tells its story in order: acceptance, failures, dead letter, redrive, evaluation, webhook, label', async () => {
    const token = `tok-${mark}-broken`;
    const card = entityKey('card', token);
    await service.database.query(
      `insert into entity_state (site_id, entity_kind, entity_key, state, version) values ($1, 'card', $2::uuid, 'broken', 1)`,
      [site.siteId, card],
    );
    const event = eventOf(payloadOf(token));
    const accepted = await caller.submit(event);
    const id = String(accepted.body.ingestion_id);
    for (const deadline = performance.now() + 40_000; ;) {
      if ((await caller.ingestion(id)).body.evaluation_status === 'DLQ') break;
      if (performance.now() > deadline) throw new Error('never in DLQ');
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const stopped = await explain(id);
    expect(stopped.evaluation).to.equal(null);
    expect(stopped.job).to.deep.include({ state: 'completed' });
    await service.database.query('delete from entity_state where entity_key = $1::uuid', [card]);
    const redrive = await admin('dead_letters.redrive', {
      ingestion_ids: [id],
      reason: 'state repaired',
    });
    expect(redrive.status, redrive.message).to.equal(200);
    await caller.evaluated(id, 20_000);
    await caller.label(String(event['source_event_id']), { outcome_label: 'FALSE_POSITIVE' });

    const explained = await explain(id);
    expect(explained).to.deep.include({
      ingestion_id: id,
      site_code: 'acme',
      source_event_id: event['source_event_id'],
      status: 'SUCCEEDED',
    });
    const story = explained.story.filter(({ what }) => what !== 'WEBHOOK_ATTEMPT');
    expect(story.map(({ what }) => what)).to.deep.equal([
      'ACCEPTED',
      'ATTEMPT_FAILED',
      'ATTEMPT_FAILED',
      'DEAD_LETTER',
      'REDRIVEN',
      'EVALUATED',
      'WEBHOOK_EVENT',
      'LABELLED',
    ]);
    const times = story.map(({ at }) => at);
    expect(times).to.deep.equal([...times].sort());
    expect(story[0]).to.deep.include({
      at: accepted.body.received_at,
      credential_id: credentialId,
      credential_label: 'test',
      environment: 'production',
    });
    expect(story[1]).to.deep.include({ attempt: 1 });
    expect(story[1]?.['error_place']).to.match(/^(risk|ledger|jobs)\/.*\.ts:\d+$/);
    expect(story[3]).to.deep.include({ cause: story[2]?.['error_class'], attempts: 2 });
    expect(story[4]).to.deep.include({ by: 'first administrator', reason: 'state repaired' });
    expect(story[6]).to.deep.include({ event_type: 'transaction.evaluated' });
    expect(story[7]).to.deep.include({
      outcome_label: 'FALSE_POSITIVE',
      credential_id: credentialId,
    });
    expect(explained.job, 'a settled job leaves the queue').to.equal(null);
    expect(explained.deliveries).to.have.length(1);
  });

  it('shows the features it saw, and every rule with its answer, its points and its thresholds', async () => {
    const token = `tok-${mark}-busy`;
    let last = '';
    for (let count = 0; count < 12; count += 1) {
      const accepted = await caller.submit(
        eventOf({
          ...payloadOf(token),
          transaction: { status: 'DECLINED', amount_minor: 1_000 + count },
        }),
      );
      last = String(accepted.body.ingestion_id);
      await caller.evaluated(last);
    }
    const { body } = await caller.ingestion(last);
    const { evaluation } = await explain(last);
    expect(evaluation).to.deep.include({
      score: body.risk.score,
      decision: body.risk.decision,
      reasons: body.risk.reasons,
      replay: 'AGREES',
      model: null,
    });
    const rules = evaluation?.rules ?? [];
    const counted = rules.filter((rule) => rule.counted);
    expect(counted.length).to.be.above(0);
    expect(Object.fromEntries(counted.map(({ rule, points }) => [rule, points]))).to.deep.equal(
      body.risk.rule_scores,
    );
    expect(counted.every(({ answer }) => answer === 'HIT')).to.equal(true);
    expect(counted.some(({ thresholds }) => Object.keys(thresholds).length > 0)).to.equal(true);
    expect(new Set(rules.map(({ answer }) => answer))).to.include('NO_HIT');
    const features = evaluation?.features ?? {};
    const names = new Set<string>(FEATURES.map(({ name }) => name));
    expect(Object.keys(features).every((name) => names.has(name))).to.equal(true);
    expect(Object.values(features)).to.include(11);
  });

  it('shows no field of the payload; its body is for administrators, with a reason, and each look is audited', async () => {
    const event = eventOf({
      ...payloadOf(`tok-${mark}-plain`),
      transaction: { amount_minor: 739_185 },
    });
    const accepted = await caller.submit(event);
    const id = String(accepted.body.ingestion_id);
    await caller.evaluated(id);
    const found = await admin('ingestions.search', { site_code: 'acme' }, { method: 'GET' });
    for (const answer of [await explain(id), found.data]) {
      expect(JSON.stringify(answer)).to.not.include(mark);
      expect(JSON.stringify(answer)).to.not.match(/739184|739185/);
    }
    const look = { ingestion_id: id, reason: 'ticket 17' };
    const created = await admin('operators.create', {
      name: 'olga',
      role: 'operator',
    });
    const refused = await admin('ingestions.payload', look, { token: created.data.token });
    expect(refused.status).to.equal(403);
    const seen = await admin('ingestions.payload', look);
    expect(seen.data.site_code).to.equal('acme');
    expect(seen.data.payload).to.deep.equal(event);
    const audits = await service.database.query<{ after: unknown; row: string }>(
      `select site_code, after, to_jsonb(audit_entry)::text as row from audit_entry where procedure = 'ingestions.payload'`,
    );
    expect(audits).to.have.length(1);
    expect(audits[0]).to.deep.include({ site_code: 'acme', after: look });
    expect(audits[0]?.row).to.not.include(mark);
    expect(service.logLines.join('\n')).to.not.include(mark);
  });

  it('an id that names nothing is missing, whatever its size', async () => {
    for (const id of ['ing_0', 'ing_999999999', `ing_${'9'.repeat(30)}`]) {
      const explained = await admin('ingestions.explain', { ingestion_id: id }, { method: 'GET' });
      const payload = await admin('ingestions.payload', { ingestion_id: id, reason: 'x' });
      expect([explained.status, payload.status]).to.deep.equal([404, 404]);
    }
  });

  it('a body and features past their retention are said to be gone', async () => {
    const accepted = await caller.submit(eventOf(payloadOf(`tok-${mark}-old`)));
    const id = String(accepted.body.ingestion_id);
    await caller.evaluated(id);
    for (const table of ['ingestion_payload', 'evaluation_features']) {
      await service.database.query(`alter table ${table} disable trigger user`);
      await service.database.query(`delete from ${table} where ingestion_id = $1`, [id.slice(4)]);
    }
    const { evaluation } = await explain(id);
    expect(evaluation).to.deep.include({ replay: 'UNAVAILABLE', features: null });
    const payload = await admin('ingestions.payload', { ingestion_id: id, reason: 'x' });
    expect(payload.status).to.equal(404);
    expect(payload.message).to.include('was dropped after its retention');
  });
});
