import { expect } from 'chai';
import { redriveTask } from '../../../jobs/redrive.ts';
import { openDeadLetter } from '../../../ledger/failed-attempts.ts';
import { evaluationJobId } from '../../../ledger/ids.ts';
import { findStatesById } from '../../../ledger/status.ts';
import { NOON, refusalOf, startAdminService, type AdminService } from './admin-service.ts';

const HOUR_MS = 3_600_000;

describe('admin: dead letters', () => {
  let service: AdminService;
  let next = 1000;
  before(async () => {
    service = await startAdminService();
    for (const code of ['acme', 'other']) {
      await service
        .as('administrator')
        .sites.create({ code, name: code, customer_type: 'MULTI_MERCHANT' });
    }
  });
  after(() => service.close());
  const operator = () => service.as('operator');
  const viewer = () => service.as('viewer');
  const db = () => service.services.orm.em.fork().getKysely();

  /** Events whose evaluation has stopped, straight in the ledger; ids in the order of the array. */
  async function die(
    site: string,
    causes: readonly string[],
    deadAt = NOON - HOUR_MS,
  ): Promise<string[]> {
    const first = next;
    next += causes.length;
    await service.database.query(
      `with event as (
         insert into ingestion (site_id, id, source_event_id, payload_hash, hash_version, received_at, occurred_at,
           event_type, transaction_type, transaction_status, amount_minor, currency, merchant_subject, credential_id)
         select site.id, $2::bigint + n - 1, 'event-' || ($2::bigint + n - 1), '\\x00', 1, $4, $4, 'PAYMENT_AUTH',
           'AUTH', 'APPROVED', 1, 'KRW', 'm', 1
         from site, unnest($3::text[]) with ordinality as cause (text, n) where site.code = $1
         returning site_id, id),
       letter as (
         insert into dead_letter (site_id, ingestion_id, cause, attempts, dead_at)
         select event.site_id, event.id, ($3::text[])[event.id - $2::bigint + 1], 6, $4 from event returning *),
       attempt as (
         insert into evaluation_attempt (site_id, ingestion_id, attempt, error_class, error_place, failed_at)
         select site_id, ingestion_id, 6, cause, 'risk/evaluate.ts:41', $4 from letter)
       insert into open_dead_letter (site_id, ingestion_id, dead_letter_id, cause, attempts, dead_at)
       select site_id, ingestion_id, id, cause, attempts, dead_at from letter`,
      [site, first, causes, new Date(deadAt)],
    );
    return causes.map((_, index) => `ing_${first + index}`);
  }

  const jobsOf = (ids: readonly string[]) =>
    service.database.query<{ state: string }>(
      `select state::text from pgboss.job where name = 'evaluate' and id = any ($1::uuid[])`,
      [ids.map((id) => evaluationJobId(BigInt(id.slice(4))))],
    );

  it('lists open ones in pages, each once, by Site and cause', async () => {
    const broken = await die('acme', Array<string>(120).fill('RuleError at rules'));
    const [odd] = await die('acme', ['TypeError at features']);
    await die('other', ['RuleError at rules']);
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page = await viewer().dead_letters.list({
        site_code: 'acme',
        cause: 'RuleError at rules',
        ...(cursor === null ? {} : { cursor }),
      });
      expect(page.items.length).to.be.at.most(50);
      seen.push(...page.items.map((item) => item.ingestion_id));
      ({ next_cursor: cursor } = page);
    } while (cursor !== null);
    expect(seen).to.deep.equal(broken);
    const all = await viewer().dead_letters.list({ limit: 500 });
    expect(all.items).to.have.length(122);
    expect(all.items.find((item) => item.ingestion_id === odd)).to.deep.equal({
      ingestion_id: odd,
      site_code: 'acme',
      source_event_id: `event-${odd?.slice(4)}`,
      cause: 'TypeError at features',
      attempts: 6,
      error_place: 'risk/evaluate.ts:41',
      dead_at: new Date(NOON - HOUR_MS).toISOString(),
    });
  });

  it('a redrive by ids queues each once, closes it, and says which ids were not open', async () => {
    const ids = await die('acme', ['Gone', 'Gone', 'Gone']);
    const [one = '', two = ''] = ids;
    const result = await operator().dead_letters.redrive({
      ingestion_ids: [one, two, two, 'ing_999999', 'ing_99999999999999999999'],
      reason: 'model file restored',
    });
    expect(result).to.deep.equal({
      redriven: 2,
      skipped: ['ing_999999', 'ing_99999999999999999999'],
      remaining: 0,
      task_id: null,
    });
    expect((await jobsOf(ids)).map((job) => job.state)).to.deep.equal(['created', 'created']);
    const { total } = await viewer().dead_letters.preview({ filter: { cause: 'Gone' } });
    expect(total).to.equal(1);
    const [entry] = (await viewer().audit.list({ limit: 1 })).items;
    expect(entry).to.deep.include({ procedure: 'dead_letters.redrive', actor: 'a operator' });
    expect(entry?.after).to.deep.include({ redriven: 2, reason: 'model file restored' });
    const again = await refusalOf(
      operator().dead_letters.redrive({ ingestion_ids: [one, two], reason: 'again' }),
    );
    expect(again.code).to.equal('NOT_FOUND');
    expect(again.message).to.equal(
      `${one} and 1 more have no open dead letter; dead_letters.list shows the open ones.`,
    );
  });

  it('one that dies again after a redrive is open again and can be redriven again', async () => {
    const [id = ''] = await die('acme', ['Twice']);
    const redrive = () => operator().dead_letters.redrive({ ingestion_ids: [id], reason: 'fixed' });
    await redrive();
    const [{ site_id: site } = { site_id: '0' }] = await service.database.query<{
      site_id: string;
    }>('select site_id from dead_letter where ingestion_id = $1', [id.slice(4)]);
    const ref = { siteId: BigInt(site), ingestionId: BigInt(id.slice(4)) };
    const letter = { cause: 'Twice', attempts: 6, deadAt: NOON };
    expect(await openDeadLetter(db(), ref, letter)).to.equal(true);
    expect(await openDeadLetter(db(), ref, letter), 'while it is open').to.equal(false);
    expect(await redrive()).to.deep.include({ redriven: 1 });
    expect(await jobsOf([id])).to.have.length(1);
  });

  it('a redrive by filter takes exactly what the preview counted', async () => {
    const old = await die('acme', ['Timed', 'Timed', 'Untimed'], NOON - 10 * HOUR_MS);
    await die('acme', ['Timed'], NOON - 5 * HOUR_MS);
    await die('other', ['Timed'], NOON - 10 * HOUR_MS);
    const filter = {
      site_code: 'acme',
      cause: 'Timed',
      from: new Date(NOON - 10 * HOUR_MS).toISOString(),
      to: new Date(NOON - 5 * HOUR_MS).toISOString(),
    };
    expect(await viewer().dead_letters.preview({ filter })).to.deep.equal({
      total: 2,
      causes: [
        {
          cause: 'Timed',
          count: 2,
          oldest_dead_at: new Date(NOON - 10 * HOUR_MS).toISOString(),
          newest_dead_at: new Date(NOON - 10 * HOUR_MS).toISOString(),
        },
      ],
    });
    expect(
      await operator().dead_letters.redrive({ filter, reason: 'database back' }),
    ).to.deep.equal({ redriven: 2, skipped: [], remaining: 0, task_id: null });
    expect(await jobsOf(old)).to.have.length(2);
    expect(await viewer().dead_letters.preview({ filter })).to.deep.equal({ total: 0, causes: [] });
    expect((await viewer().dead_letters.preview({ filter: { cause: 'Timed' } })).total).to.equal(2);
  });

  it('more than 1,000 are left to a task, which takes what had died until the call', async () => {
    const ids = await die('other', Array<string>(1_205).fill('Many'));
    const first = await operator().dead_letters.redrive({
      filter: { site_code: 'other', cause: 'Many' },
      reason: 'fixed',
    });
    expect(first).to.deep.include({ redriven: 0, skipped: [], remaining: 1_205 });
    const [later = ''] = await die('other', ['Many'], NOON + HOUR_MS);
    const task = { task_id: first.task_id ?? '' };
    expect(await viewer().tasks.status(task)).to.deep.include({
      kind: 'dead_letters.redrive',
      site_code: 'other',
      state: 'QUEUED',
      done: 0,
      total: 1_205,
      created_by: 'a operator',
    });
    const { requeueEvaluations: requeue, clock } = service.services;
    await service.runTasks({ 'dead_letters.redrive': redriveTask({ requeue, clock }) });
    expect(await viewer().tasks.status(task)).to.deep.include({
      state: 'DONE',
      done: 1_205,
      result: { redriven: 1_205 },
    });
    expect(await jobsOf(ids)).to.have.length(1_205);
    const left = await viewer().dead_letters.list({ cause: 'Many' });
    expect(left.items.map((item) => item.ingestion_id)).to.deep.equal([later]);
    const [entry] = await service.database.query(
      `select kind, reason, resolved_by from dead_letter_resolution where ingestion_id = $1`,
      [ids[0]?.slice(4)],
    );
    expect(entry).to.deep.equal({ kind: 'REDRIVEN', reason: 'fixed', resolved_by: 'a operator' });
  });

  it('a discarded one is listed no more, keeps its status DLQ and its reason, and stays as it is', async () => {
    const [one = '', two = ''] = await die('acme', ['Hopeless', 'Hopeless']);
    const discard = (ids: string[]) =>
      operator().dead_letters.discard({ ingestion_ids: ids, reason: 'payload is gone' });
    expect(await discard([one, one, 'ing_999999'])).to.deep.equal({
      discarded: 1,
      skipped: ['ing_999999'],
    });
    const { items } = await viewer().dead_letters.list({ cause: 'Hopeless' });
    expect(items.map((item) => item.ingestion_id)).to.deep.equal([two]);
    const [row] = await service.database.query<{ site_id: string; kind: string; reason: string }>(
      'select site_id, kind, reason from dead_letter_resolution where ingestion_id = $1',
      [one.slice(4)],
    );
    expect(row).to.deep.include({ kind: 'DISCARDED', reason: 'payload is gone' });
    const [state] = await findStatesById(db(), [
      { siteId: BigInt(row?.site_id ?? 0), id: BigInt(one.slice(4)) },
    ]);
    expect(state?.status).to.equal('DLQ');
    for (const again of [
      () => discard([one]),
      () => operator().dead_letters.redrive({ ingestion_ids: [one], reason: 'after all' }),
    ]) {
      expect((await refusalOf(again())).code).to.equal('NOT_FOUND');
    }
    const [entry] = (await viewer().audit.list({ limit: 1 })).items;
    expect(entry?.after).to.deep.equal({
      discarded: 1,
      reason: 'payload is gone',
      ingestion_ids: [one],
    });
  });

  it('open ones outlive whatever the queue forgets', async () => {
    const ids = await die('acme', ['Lasting']);
    await service.database.query('delete from pgboss.job');
    expect((await viewer().dead_letters.list({ cause: 'Lasting' })).items).to.have.length(1);
    expect(
      await operator().dead_letters.redrive({ ingestion_ids: ids, reason: 'now' }),
    ).to.deep.include({ redriven: 1 });
    expect(await jobsOf(ids)).to.have.length(1);
  });

  it('redrives at once queue every dead letter once', async () => {
    const ids = await die('acme', Array<string>(20).fill('Crowded'));
    const results = await Promise.allSettled(
      [1, 2, 3].map(() =>
        operator().dead_letters.redrive({ filter: { cause: 'Crowded' }, reason: 'fixed' }),
      ),
    );
    const redriven = results.map((result) =>
      result.status === 'fulfilled' ? result.value.redriven : 0,
    );
    expect(redriven.reduce((sum, count) => sum + count, 0)).to.equal(20);
    expect(await jobsOf(ids)).to.have.length(20);
  });

  it('without a queue nothing is resolved: both or neither', async () => {
    const [id = ''] = await die('acme', ['Atomic']);
    const { requeueEvaluations } = service.services;
    Object.assign(service.services, {
      requeueEvaluations: async (...args: Parameters<typeof requeueEvaluations>) => {
        await requeueEvaluations(...args);
        throw new Error('lost');
      },
    });
    try {
      const error = await refusalOf(
        operator().dead_letters.redrive({ ingestion_ids: [id], reason: 'fixed' }),
      );
      expect(error.code).to.equal('INTERNAL_SERVER_ERROR');
    } finally {
      Object.assign(service.services, { requeueEvaluations });
    }
    expect(await jobsOf([id])).to.deep.equal([]);
    expect((await viewer().dead_letters.preview({ filter: { cause: 'Atomic' } })).total).to.equal(
      1,
    );
  });

  it('neither or both ways to choose, an empty reason and an unknown Site are refused', async () => {
    const redrive = (input: object) => operator().dead_letters.redrive({ reason: 'x', ...input });
    for (const [input, code, message] of [
      [{}, 'BAD_REQUEST', 'Give either ingestion_ids or filter'],
      [{ ingestion_ids: ['ing_1'], filter: {} }, 'BAD_REQUEST', 'Give either'],
      [{ ingestion_ids: [] }, 'BAD_REQUEST', 'ingestion_ids: must have at least 1 element'],
      [{ ingestion_ids: ['17'] }, 'BAD_REQUEST', 'ingestion_ids[0]: must be ing_'],
      [{ filter: {}, reason: '' }, 'BAD_REQUEST', 'reason: must'],
      [{ filter: { from: 'yesterday' } }, 'BAD_REQUEST', 'filter.from: must be an ISO 8601'],
      [{ filter: { site_code: 'nowhere' } }, 'NOT_FOUND', 'There is no Site nowhere'],
    ] as const) {
      const error = await refusalOf(redrive(input));
      expect(error.code).to.equal(code);
      expect(error.message).to.include(message);
    }
    for (const call of [
      () => viewer().dead_letters.list({ site_code: 'nowhere' }),
      () => viewer().dead_letters.preview({ filter: { site_code: 'nowhere' } }),
    ]) {
      expect((await refusalOf(call())).code).to.equal('NOT_FOUND');
    }
    expect((await refusalOf(viewer().dead_letters.list({ cursor: '1.2.3' }))).code).to.equal(
      'BAD_REQUEST',
    );
  });
});
