import { expect } from 'chai';
import { evaluationJobId } from '../../../ledger/ids.ts';
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
         returning site_id, id)
       insert into dead_letter (site_id, ingestion_id, cause, attempts, dead_at)
       select event.site_id, event.id, ($3::text[])[event.id - $2::bigint + 1], 6, $4 from event`,
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
    await service.database.query(
      `insert into dead_letter (site_id, ingestion_id, cause, attempts, dead_at)
       select site_id, ingestion_id, 'Twice', 6, dead_at from dead_letter where ingestion_id = $1`,
      [id.slice(4)],
    );
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
    ).to.deep.equal({ redriven: 2, skipped: [], remaining: 0 });
    expect(await jobsOf(old)).to.have.length(2);
    expect(await viewer().dead_letters.preview({ filter })).to.deep.equal({ total: 0, causes: [] });
    expect((await viewer().dead_letters.preview({ filter: { cause: 'Timed' } })).total).to.equal(2);
  });

  it('takes at most 1,000 at once and says how many remain', async () => {
    await die('other', Array<string>(1_005).fill('Many'));
    const redrive = () =>
      operator().dead_letters.redrive({ filter: { cause: 'Many' }, reason: 'fixed' });
    expect(await redrive()).to.deep.equal({ redriven: 1_000, skipped: [], remaining: 5 });
    expect(await redrive()).to.deep.equal({ redriven: 5, skipped: [], remaining: 0 });
    expect(await redrive()).to.deep.equal({ redriven: 0, skipped: [], remaining: 0 });
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
    expect((await refusalOf(viewer().dead_letters.list({ cursor: '1.2' }))).code).to.equal(
      'BAD_REQUEST',
    );
  });
});
