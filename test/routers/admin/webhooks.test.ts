import { expect } from 'chai';
import {
  deliveryIdOf,
  parseDeliveryId,
  WebhookChallenge,
  webhookEventIdOf,
} from '../../../contract/webhook.ts';
import { createRecoverHandler, RECOVER } from '../../../jobs/webhook-recover.ts';
import { createSecretBox } from '../../../ledger/secret-box.ts';
import { outcomeRecorded } from '../../../ledger/webhook-causes.ts';
import { activateByChallenge, disableEndpoint } from '../../../ledger/webhook-endpoints.ts';
import { deliveryJobId } from '../../../ledger/webhook-ids.ts';
import { checkSecrets, readSecrets } from '../../../ledger/webhook-secrets.ts';
import { everyRow } from '../../support/traces.ts';
import { NOON, refusalOf, startAdminService, type AdminService } from './admin-service.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

describe('admin: webhooks', () => {
  let service: AdminService;
  let sites = 0;
  before(async () => {
    service = await startAdminService();
  });
  beforeEach(() => {
    service.clock.at = NOON;
  });
  after(() => service.close());

  const administrator = () => service.as('administrator');
  const operator = () => service.as('operator');
  const viewer = () => service.as('viewer');
  const db = () => service.services.orm.em.fork().getKysely();
  const inTransaction = <T>(work: (transaction: ReturnType<typeof db>) => Promise<T>): Promise<T> =>
    service.services.orm.em.fork().transactional((em) => work(em.getKysely()));

  async function newSite(): Promise<string> {
    sites += 1;
    const code = `hooks-${sites}`;
    await administrator().sites.create({ code, name: code, customer_type: 'SINGLE_COMPANY' });
    return code;
  }

  interface Endpoint {
    readonly id: string;
    readonly secret: string;
    readonly ref: { readonly siteId: bigint; readonly endpointId: bigint };
  }

  async function register(
    code: string,
    types: ('outcome.recorded' | 'transaction.evaluated')[] = ['outcome.recorded'],
  ): Promise<Endpoint> {
    const answer = await administrator().webhooks.register({
      site_code: code,
      url: 'https://receiver.example.com/hook/path-is-a-secret-too',
      event_types: types,
    });
    const [site] = await service.database.query<{ id: string }>(
      'select id from site where code = $1',
      [code],
    );
    const ref = { siteId: BigInt(site?.id ?? 0), endpointId: BigInt(answer.endpoint_id) };
    return { id: answer.endpoint_id, secret: answer.signing_secret, ref };
  }

  const rowOf = async ({ id }: Endpoint) =>
    (await service.database.query('select * from webhook_endpoint where id = $1', [id]))[0] ?? {};
  const challengeOf = async (endpoint: Endpoint): Promise<string> =>
    String((await rowOf(endpoint))['challenge_event_id']);
  const answered = async (endpoint: Endpoint, challenge: string): Promise<boolean> =>
    inTransaction((transaction) =>
      activateByChallenge(transaction, endpoint.ref, challenge, service.clock.at),
    );

  async function registerActive(code: string): Promise<Endpoint> {
    const endpoint = await register(code);
    await operator().webhooks.activate({ endpoint_id: endpoint.id });
    expect(await answered(endpoint, await challengeOf(endpoint))).to.equal(true);
    return endpoint;
  }

  /** Something happens to a transaction of the endpoint's Site. */
  let happened = 0;
  async function happen({ ref }: Endpoint): Promise<void> {
    happened += 1;
    const event = outcomeRecorded(
      { siteId: ref.siteId, ingestionId: BigInt(happened), sourceEventId: `event-${happened}` },
      'FRAUD_CONFIRMED',
    );
    await inTransaction((transaction) =>
      service.services.webhooks.record(transaction, [event], service.clock.at),
    );
  }

  const deliveriesOf = ({ id }: Endpoint) =>
    service.database.query<{ event_id: string; state: string; next_attempt_at: Date | null }>(
      `select event_id, state, next_attempt_at, step from webhook_delivery
       where endpoint_id = $1 and event_type <> 'webhook.challenge' order by event_id`,
      [id],
    );
  const jobsOf = ({ ref }: Endpoint, events: readonly string[]) =>
    service.database.query<{ state: string; after: number; data: Record<string, unknown> }>(
      `select state::text, data, group_id, extract(epoch from start_after - created_on)::float as after
       from pgboss.job where name = 'webhook' and id = any ($1::uuid[]) order by start_after`,
      [events.map((eventId) => deliveryJobId({ endpointId: ref.endpointId, eventId }))],
    );
  const settle = (endpoint: Endpoint, state: 'DELIVERED' | 'FAILED', step = 8): Promise<unknown> =>
    service.database.query(
      `update webhook_delivery set state = $2::text, step = $3::int, attempts = $3::int, next_attempt_at = null,
         failure = case when $2::text = 'FAILED' then 'EXHAUSTED' end, settled_at = now() where endpoint_id = $1`,
      [endpoint.id, state, step],
    );

  describe('register', () => {
    it('shows the secret once; sealed in the database and nowhere else', async () => {
      const endpoint = await register(await newSite());
      expect(endpoint.secret).to.match(/^trk_whs_[0-9A-Za-z]{43}$/);
      await administrator().webhooks.rotate_secret({ endpoint_id: endpoint.id });
      const [row] = await service.database.query(
        'select key_id, length(sealed) as bytes from webhook_secret where endpoint_id = $1 limit 1',
        [endpoint.id],
      );
      expect(row).to.deep.equal({ key_id: 'test', bytes: 12 + endpoint.secret.length + 16 });
      const all = JSON.stringify([...(await everyRow(service.database))]);
      const listed = JSON.stringify(await viewer().webhooks.list({}));
      for (const text of [all, listed]) {
        expect(text).to.not.include(endpoint.secret);
        expect(text).to.not.include(Buffer.from(endpoint.secret).toString('hex'));
      }
      const audit = await service.database.query('select * from audit_entry');
      expect(JSON.stringify(audit)).to.include('receiver.example.com');
      expect(JSON.stringify(audit)).to.not.include('path-is-a-secret-too');
    });

    const REFUSED: [url: string, says: string][] = [
      ['http://receiver.example.com/hook', 'must begin with https://'],
      ['ftp://receiver.example.com/hook', 'must begin with https://'],
      ['https://user:hunter2@receiver.example.com/', 'must not hold a user name or password'],
      ['https://receiver.example.com/#part', 'must not have a fragment'],
      ['not a url', 'must be a URL'],
      ['https://127.0.0.1/', 'loopback'],
      ['https://2130706433/', 'loopback'],
      ['https://0x7f.1/', 'loopback'],
      ['https://0177.0.0.01/', 'loopback'],
      ['https://10.1.2.3/', 'must not point to'],
      ['https://169.254.169.254/latest', 'link-local'],
      ['https://[::1]/', 'loopback'],
      ['https://[::ffff:10.0.0.1]/', 'must not point to'],
      ['https://localhost:8443/', 'known on the public internet'],
      ['https://db.internal/', 'known on the public internet'],
      ['https://receiver.example.com/4539148803436467', 'must not hold a card number'],
      [`https://receiver.example.com/${'a'.repeat(2048)}`, 'url'],
    ];
    for (const [url, says] of REFUSED) {
      it(`refuses ${url.slice(0, 60)} without quoting it`, async () => {
        const code = await newSite();
        const call = administrator().webhooks.register({
          site_code: code,
          url,
          event_types: ['outcome.recorded'],
        });
        const error = await refusalOf(call);
        expect(error.code).to.equal('BAD_REQUEST');
        expect(error.message).to.include('url: ');
        expect(error.message).to.include(says);
        expect(error.message).to.not.include('hunter2');
        expect(error.message).to.not.include('453914');
        expect((await viewer().webhooks.list({ site_code: code })).items).to.deep.equal([]);
      });
    }

    it('takes public literal addresses, and refuses unknown Sites, unknown types and types named twice', async () => {
      const code = await newSite();
      const base = { site_code: code, url: 'https://8.8.8.8:8443/in?x=1' };
      await administrator().webhooks.register({ ...base, event_types: ['outcome.recorded'] });
      const wrong = async (input: object) =>
        (await refusalOf(administrator().webhooks.register({ ...base, ...input } as never))).code;
      expect(await wrong({ event_types: ['webhook.challenge'] })).to.equal('BAD_REQUEST');
      expect(await wrong({ event_types: [] })).to.equal('BAD_REQUEST');
      expect(await wrong({ event_types: ['outcome.recorded', 'outcome.recorded'] })).to.equal(
        'BAD_REQUEST',
      );
      expect(await wrong({ site_code: 'nobody', event_types: ['outcome.recorded'] })).to.equal(
        'NOT_FOUND',
      );
    });

    it('takes at most 20 endpoints that are not disabled', async () => {
      const code = await newSite();
      const first = await register(code);
      for (let count = 1; count < 20; count += 1) await register(code);
      expect((await refusalOf(register(code))).code).to.equal('CONFLICT');
      await operator().webhooks.disable({ endpoint_id: first.id });
      await register(code);
      const again = operator().webhooks.activate({ endpoint_id: first.id });
      expect((await refusalOf(again)).code).to.equal('CONFLICT');
    });
  });

  describe('activate', () => {
    it('queues a challenge in the transaction that makes the endpoint pending, and only its answer activates', async () => {
      const endpoint = await register(await newSite());
      const pending = await operator().webhooks.activate({ endpoint_id: endpoint.id });
      expect(pending.state).to.equal('PENDING');
      const challenge = await challengeOf(endpoint);
      const [event] = await service.database.query<{ body: string; type: string }>(
        'select body, type from webhook_event where id = $1',
        [challenge],
      );
      const body = WebhookChallenge.parse(JSON.parse(event?.body ?? ''));
      expect(body).to.deep.equal({
        event_id: webhookEventIdOf(challenge),
        event_type: 'webhook.challenge',
        created_at: new Date(NOON).toISOString(),
        data: { endpoint_id: endpoint.id },
      });
      expect(await jobsOf(endpoint, [challenge])).to.deep.equal([
        {
          state: 'created',
          group_id: endpoint.id,
          after: 0,
          data: {
            site_id: String(endpoint.ref.siteId),
            endpoint_id: endpoint.id,
            event_id: challenge,
          },
        },
      ]);
      expect(await answered(endpoint, '0199e2a4-b7c0-7d3e-9f1a-2b3c4d5e6f70')).to.equal(false);
      expect(await answered(endpoint, challenge)).to.equal(true);
      expect(await answered(endpoint, challenge), 'a second time').to.equal(false);
      const [view] = (await viewer().webhooks.list({ limit: 1 })).items;
      expect(view).to.include({ endpoint_id: endpoint.id, state: 'ACTIVE' });
      expect(
        (await refusalOf(operator().webhooks.activate({ endpoint_id: endpoint.id }))).code,
      ).to.equal('CONFLICT');
    });

    it('twice at once: one challenge counts, the other is void', async () => {
      const endpoint = await register(await newSite());
      await Promise.all([
        operator().webhooks.activate({ endpoint_id: endpoint.id }),
        operator().webhooks.activate({ endpoint_id: endpoint.id }),
      ]);
      const sent = await service.database.query<{ event_id: string }>(
        'select event_id from webhook_delivery where endpoint_id = $1',
        [endpoint.id],
      );
      expect(sent).to.have.length(2);
      const current = await challengeOf(endpoint);
      const former = sent.find(({ event_id: id }) => id !== current)?.event_id ?? '';
      expect(await answered(endpoint, former), 'the former').to.equal(false);
      expect(await answered(endpoint, current), 'the present').to.equal(true);
    });

    it('a changed URL is challenged again: an old answer cannot activate it, and nothing is lost meanwhile', async () => {
      const endpoint = await register(await newSite());
      await happen(endpoint);
      expect(await deliveriesOf(endpoint), 'never active yet').to.deep.equal([]);
      await operator().webhooks.activate({ endpoint_id: endpoint.id });
      const old = await challengeOf(endpoint);
      const update = { endpoint_id: endpoint.id, url: 'https://other.example.com/' };
      await administrator().webhooks.update(update);
      expect(await answered(endpoint, old), 'an old answer').to.equal(false);
      expect(await answered(endpoint, await challengeOf(endpoint))).to.equal(true);
      const moved = await administrator().webhooks.update({
        ...update,
        url: 'https://third.example.com/',
      });
      expect(moved.state).to.equal('PENDING');
      await happen(endpoint);
      const [held, ...more] = await deliveriesOf(endpoint);
      expect(more).to.deep.equal([]);
      expect(held).to.include({ state: 'PENDING', next_attempt_at: null });
      expect(await jobsOf(endpoint, [held?.event_id ?? '']), 'held, not queued').to.deep.equal([]);
      const same = await administrator().webhooks.update({
        endpoint_id: endpoint.id,
        url: 'https://third.example.com/',
        description: 'the same URL',
      });
      expect(await answered(endpoint, await challengeOf(endpoint)), 'no new challenge').to.equal(
        true,
      );
      expect(same.description).to.equal('the same URL');
    });
  });

  describe('rotate_secret', () => {
    const secretsAt = async (endpoint: Endpoint) =>
      (
        await readSecrets(
          db(),
          service.services.secretBox,
          [endpoint.ref.endpointId],
          service.clock.at,
        )
      ).get(endpoint.ref.endpointId);

    it('the previous secret signs for 24 hours, to the millisecond', async () => {
      const endpoint = await register(await newSite());
      const { signing_secret: second } = await administrator().webhooks.rotate_secret({
        endpoint_id: endpoint.id,
      });
      expect(await secretsAt(endpoint)).to.deep.equal({
        current: second,
        previous: endpoint.secret,
      });
      service.clock.at += DAY_MS - 1;
      expect((await secretsAt(endpoint))?.previous).to.equal(endpoint.secret);
      service.clock.at += 1;
      expect(await secretsAt(endpoint)).to.deep.equal({ current: second, previous: undefined });
    });

    it('refuses a second time within 24 hours and says what would break, unless forced', async () => {
      const endpoint = await register(await newSite());
      const rotate = (force?: boolean) =>
        administrator().webhooks.rotate_secret({
          endpoint_id: endpoint.id,
          ...(force === undefined ? {} : { force }),
        });
      const { signing_secret: second } = await rotate();
      service.clock.at += HOUR_MS;
      for (const force of [undefined, false]) {
        const error = await refusalOf(rotate(force));
        expect(error.code).to.equal('CONFLICT');
        expect(error.message).to.include('breaks every receiver at receiver.example.com');
        expect(error.message).to.include(new Date(NOON + DAY_MS).toISOString());
        expect(error.message).to.not.include(second);
      }
      expect(await secretsAt(endpoint)).to.deep.equal({
        current: second,
        previous: endpoint.secret,
      });
      const forced = await rotate(true);
      expect(await secretsAt(endpoint)).to.deep.equal({
        current: forced.signing_secret,
        previous: second,
      });
      service.clock.at += DAY_MS;
      await rotate();
    });

    it('two at once: one is done, the other refused', async () => {
      const endpoint = await register(await newSite());
      const outcomes = await Promise.allSettled([
        administrator().webhooks.rotate_secret({ endpoint_id: endpoint.id }),
        administrator().webhooks.rotate_secret({ endpoint_id: endpoint.id }),
      ]);
      expect(outcomes.map(({ status }) => status).sort()).to.deep.equal(['fulfilled', 'rejected']);
    });
  });

  describe('rewrap', () => {
    it('encrypts everything with the first key of SECRETS_KEY: the old one is needed no more', async () => {
      const endpoint = await register(await newSite());
      await administrator().webhooks.rotate_secret({ endpoint_id: endpoint.id });
      const oldKey = { id: 'test', key: Buffer.alloc(32, 7) };
      const newKey = { id: 'new', key: Buffer.alloc(32, 8) };
      const both = createSecretBox([newKey, oldKey]);
      const only = createSecretBox([newKey]);
      const before = await readSecrets(db(), both, [endpoint.ref.endpointId], NOON);
      expect(before.get(endpoint.ref.endpointId)?.previous).to.equal(endpoint.secret);
      expect(await checkSecrets(db(), only)).to.deep.equal({ unreadable: ['test'], idle: [] });
      const imposter = createSecretBox([{ id: 'test', key: Buffer.alloc(32, 9) }]);
      expect((await checkSecrets(db(), imposter)).unreadable).to.deep.equal(['test']);
      const services = service.services as { secretBox: typeof both };
      const { secretBox } = services;
      services.secretBox = both;
      try {
        const [{ count } = { count: 0 }] = await service.database.query<{ count: number }>(
          'select count(*)::int as count from webhook_secret',
        );
        expect(await administrator().webhooks.rewrap({})).to.deep.equal({
          key: 'new',
          rewrapped: count,
        });
        expect(await administrator().webhooks.rewrap({})).to.deep.equal({
          key: 'new',
          rewrapped: 0,
        });
        expect(await checkSecrets(db(), only)).to.deep.equal({ unreadable: [], idle: [] });
        expect(await checkSecrets(db(), both)).to.deep.equal({ unreadable: [], idle: ['test'] });
        expect(await readSecrets(db(), only, [endpoint.ref.endpointId], NOON)).to.deep.equal(
          before,
        );
        services.secretBox = createSecretBox([oldKey, newKey]);
        await administrator().webhooks.rewrap({});
      } finally {
        services.secretBox = secretBox;
      }
    });

    it('a sealed secret opens for its own endpoint only', async () => {
      const [one, other] = [await register(await newSite()), await register(await newSite())];
      await service.database.query(
        `update webhook_secret set sealed = (select sealed from webhook_secret where endpoint_id = $1)
         where endpoint_id = $2`,
        [one.id, other.id],
      );
      const { secretBox } = service.services;
      const open = readSecrets(db(), secretBox, [other.ref.endpointId], NOON);
      const error: unknown = await open.catch((caught: unknown) => caught);
      expect(error).to.have.property('name', 'SecretUnreadable');
      expect(String(error)).to.not.include(one.secret);
      await service.database.query('delete from webhook_secret where endpoint_id = $1', [other.id]);
    });
  });

  describe('deliveries', () => {
    it('are listed newest first, in pages, by state; another endpoint shows none of them', async () => {
      const code = await newSite();
      const [endpoint, other] = [await registerActive(code), await register(code)];
      for (let i = 0; i < 5; i += 1) {
        service.clock.at = NOON + i * 1000;
        await happen(endpoint);
      }
      const seen: string[] = [];
      let cursor: string | null = null;
      do {
        const page: Awaited<ReturnType<ReturnType<typeof viewer>['webhooks']['deliveries']>> =
          await viewer().webhooks.deliveries({
            endpoint_id: endpoint.id,
            limit: 2,
            ...(cursor === null ? {} : { cursor }),
          });
        seen.push(...page.items.map(({ created_at: at }) => at));
        ({ next_cursor: cursor } = page);
      } while (cursor !== null);
      expect(seen).to.have.length(6);
      expect(seen).to.deep.equal(seen.toSorted().toReversed());
      const failed = { endpoint_id: endpoint.id, state: 'FAILED' as const };
      expect((await viewer().webhooks.deliveries(failed)).items).to.deep.equal([]);
      const none = await viewer().webhooks.deliveries({ endpoint_id: other.id });
      expect(none.items).to.deep.equal([]);
      const missing = viewer().webhooks.deliveries({ endpoint_id: '999999' });
      expect((await refusalOf(missing)).code).to.equal('NOT_FOUND');
    });

    it('of no moment that there can be are wrong input, not a fault', async () => {
      const endpoint = await registerActive(await newSite());
      const code = async (call: Promise<unknown>) => (await refusalOf(call)).code;
      for (const [digit, expected] of [
        ['f', 'BAD_REQUEST'],
        ['d', 'NOT_FOUND'],
      ] as const) {
        const id = `dlv_${endpoint.id}_${digit.repeat(32)}`;
        expect(await code(operator().webhooks.resend({ delivery_id: id }))).to.equal(expected);
      }
      const id = `dlv_${endpoint.id}_${'f'.repeat(32)}`;
      expect(await code(viewer().webhooks.attempts({ delivery_id: id }))).to.equal('BAD_REQUEST');
      const page = viewer().webhooks.deliveries({ endpoint_id: endpoint.id, cursor: id });
      expect(await code(page)).to.equal('BAD_REQUEST');
      const none = { delivery_id: `dlv_${endpoint.id}_${'d'.repeat(32)}` };
      expect((await viewer().webhooks.attempts(none)).items).to.deep.equal([]);
    });

    it('show their newest attempt, and webhooks.attempts all of them', async () => {
      const endpoint = await registerActive(await newSite());
      service.clock.at += 500;
      await happen(endpoint);
      const [delivery] = await deliveriesOf(endpoint);
      const eventId = delivery?.event_id ?? '';
      for (const attempt of [1, 2, 3]) {
        await service.database.query(
          `insert into webhook_attempt (site_id, endpoint_id, event_id, attempt, attempted_at, outcome, duration_ms,
             http_status, error_class, address, answer)
           values ($1, $2, $3, $4, $5, $6, 12, 503, null, '192.0.2.1', 'busy')`,
          [
            endpoint.ref.siteId,
            endpoint.id,
            eventId,
            attempt,
            new Date(NOON + attempt * 1000),
            attempt === 3 ? 'FAILED' : 'RETRY',
          ],
        );
      }
      await service.database.query(
        `update webhook_delivery set attempts = 3, last_attempt_at = $2 where event_id = $1`,
        [eventId, new Date(NOON + 3000)],
      );
      const id = deliveryIdOf(endpoint.ref.endpointId, eventId);
      expect(parseDeliveryId(id)).to.deep.equal({ endpointId: endpoint.ref.endpointId, eventId });
      const { items } = await viewer().webhooks.deliveries({ endpoint_id: endpoint.id, limit: 1 });
      expect(items[0]).to.include({
        delivery_id: id,
        event_id: webhookEventIdOf(eventId),
        event_type: 'outcome.recorded',
        ingestion_id: `ing_${happened}`,
        attempts: 3,
      });
      expect(items[0]?.last_attempt).to.deep.equal({
        attempt: 3,
        attempted_at: new Date(NOON + 3000).toISOString(),
        outcome: 'FAILED',
        duration_ms: 12,
        http_status: 503,
        error_class: null,
        address: '192.0.2.1',
        answer: 'busy',
        next_attempt_at: null,
      });
      const page = await viewer().webhooks.attempts({ delivery_id: id, limit: 2 });
      expect(page.items.map(({ attempt }) => attempt)).to.deep.equal([3, 2]);
      const rest = await viewer().webhooks.attempts({
        delivery_id: id,
        cursor: page.next_cursor ?? '',
      });
      expect(rest.items.map(({ attempt }) => attempt)).to.deep.equal([1]);
    });
  });

  describe('resend', () => {
    it('queues the same event again, once, whatever became of it', async () => {
      const endpoint = await registerActive(await newSite());
      await happen(endpoint);
      const eventId = (await deliveriesOf(endpoint))[0]?.event_id ?? '';
      const id = deliveryIdOf(endpoint.ref.endpointId, eventId);
      for (const state of ['DELIVERED', 'FAILED'] as const) {
        await settle(endpoint, state);
        await service.database.query(`delete from pgboss.job where name = 'webhook'`);
        const answer = await operator().webhooks.resend({ delivery_id: id });
        expect(answer).to.deep.equal({ delivery_id: id, state: 'PENDING' });
        expect(await deliveriesOf(endpoint)).to.deep.equal([
          { event_id: eventId, state: 'PENDING', step: 0, next_attempt_at: new Date(NOON) },
        ]);
        expect(await jobsOf(endpoint, [eventId])).to.have.length(1);
      }
      await operator().webhooks.resend({ delivery_id: id });
      expect(await jobsOf(endpoint, [eventId]), 'while it waits').to.have.length(1);
    });

    it('refuses challenges, endpoints that are not active, and ids of nobody', async () => {
      const endpoint = await registerActive(await newSite());
      await happen(endpoint);
      const all = await viewer().webhooks.deliveries({ endpoint_id: endpoint.id });
      const idOf = (type: string) =>
        all.items.find((item) => item.event_type === type)?.delivery_id ?? '';
      const resend = async (id: string) =>
        (await refusalOf(operator().webhooks.resend({ delivery_id: id }))).code;
      expect(await resend(idOf('webhook.challenge'))).to.equal('CONFLICT');
      const nobody = `dlv_${endpoint.id}_${'0'.repeat(32)}`;
      expect(await resend(nobody)).to.equal('NOT_FOUND');
      expect(await resend(`dlv_999999_${'0'.repeat(32)}`)).to.equal('NOT_FOUND');
      const elsewhere = await registerActive(await newSite());
      const foreign = idOf('outcome.recorded').replace(`_${endpoint.id}_`, `_${elsewhere.id}_`);
      expect(await resend(foreign), "another endpoint's").to.equal('NOT_FOUND');
      await operator().webhooks.disable({ endpoint_id: endpoint.id });
      expect(await resend(idOf('outcome.recorded'))).to.equal('CONFLICT');
    });
  });

  describe('recover', () => {
    const handlers = () => ({
      [RECOVER]: createRecoverHandler({
        requeue: service.services.webhooks.requeue,
        clock: service.services.clock,
      }),
    });

    it('sends what failed and what happened while the endpoint was off, since a moment, spread over time', async () => {
      const endpoint = await registerActive(await newSite());
      const at = async (hours: number, times = 1): Promise<void> => {
        service.clock.at = NOON + hours * HOUR_MS;
        for (let i = 0; i < times; i += 1) await happen(endpoint);
      };
      await at(0);
      await settle(endpoint, 'FAILED'); // before the moment asked for
      await at(1);
      const delivered = (await deliveriesOf(endpoint)).at(-1)?.event_id ?? '';
      await service.database.query(
        `update webhook_delivery set state = 'DELIVERED', next_attempt_at = null where event_id = $1`,
        [delivered],
      );
      await at(2, 3);
      const failed = (await deliveriesOf(endpoint)).slice(2).map(({ event_id: id }) => id);
      await service.database.query(
        `update webhook_delivery set state = 'FAILED', step = 8, next_attempt_at = null where event_id = any ($1)`,
        [failed],
      );
      await inTransaction((transaction) =>
        disableEndpoint(
          transaction,
          { ...endpoint.ref, urlVersion: 1 },
          'FAILING',
          service.clock.at,
        ),
      );
      await at(3, 2);
      expect(await deliveriesOf(endpoint), 'none while it is off').to.have.length(5);
      const recover = (since: number) =>
        operator().webhooks.recover({
          endpoint_id: endpoint.id,
          since: new Date(since).toISOString(),
          per_second: 2,
        });
      expect((await refusalOf(recover(NOON))).code, 'while it is off').to.equal('CONFLICT');
      await operator().webhooks.activate({ endpoint_id: endpoint.id });
      await answered(endpoint, await challengeOf(endpoint));
      await service.database.query(`delete from pgboss.job where name = 'webhook'`);
      const { task_id: task } = await recover(NOON + HOUR_MS);
      await service.runTasks(handlers());
      const status = await viewer().tasks.status({ task_id: task });
      expect(status).to.include({ state: 'DONE', done: 5 });
      expect(status.result).to.deep.equal({ recovered: 5, looked_at: 6 });
      const rows = await deliveriesOf(endpoint);
      expect(rows.map(({ state }) => state)).to.deep.equal([
        'FAILED',
        'DELIVERED',
        ...Array.from({ length: 5 }, () => 'PENDING'),
      ]);
      const due = rows
        .slice(2)
        .map((row) => (row.next_attempt_at?.getTime() ?? 0) - service.clock.at);
      expect(due).to.deep.equal([0, 500, 1000, 1500, 2000]);
      const jobs = await jobsOf(
        endpoint,
        rows.map(({ event_id: id }) => id),
      );
      expect(jobs.map(({ after }) => after)).to.deep.equal([0, 0.5, 1, 1.5, 2]);
      await recover(NOON + HOUR_MS);
      await service.runTasks(handlers());
      expect(await deliveriesOf(endpoint), 'again: all on their way already').to.deep.equal(rows);
    });

    it('goes on where it was after a crash, and stops when the endpoint is disabled', async () => {
      const endpoint = await registerActive(await newSite());
      await service.database.query(
        `insert into webhook_event (site_id, id, created_at, type, ingestion_id, body)
         select $1, (lpad(to_hex($2::bigint + n), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid,
           to_timestamp(($2::bigint + n) / 1000.0), 'outcome.recorded', n, '{}' from generate_series(1, 1200) as n`,
        [endpoint.ref.siteId, NOON],
      );
      service.clock.at = NOON + DAY_MS;
      const recover = () =>
        operator().webhooks.recover({
          endpoint_id: endpoint.id,
          since: new Date(NOON).toISOString(),
          per_second: 100,
        });
      const { task_id: task } = await recover();
      let pages = 0;
      const dying = createRecoverHandler({
        clock: service.services.clock,
        requeue: (transaction, rows) => {
          pages += 1;
          // As after a kill -9 in the second page: its transaction is gone, and the task is begun again.
          const gone = Object.assign(new Error('terminating'), { code: '57P01' });
          return pages === 2
            ? Promise.reject(gone)
            : service.services.webhooks.requeue(transaction, rows);
        },
      });
      await service.runTasks({ [RECOVER]: dying });
      expect(await viewer().tasks.status({ task_id: task })).to.include({
        state: 'DONE',
        done: 1200,
      });
      expect(pages).to.equal(4);
      const [{ count, last } = { count: 0, last: 0 }] = await service.database.query<{
        count: number;
        last: number;
      }>(
        `select count(*)::int as count, extract(epoch from max(next_attempt_at) - min(next_attempt_at))::float as last
         from webhook_delivery where endpoint_id = $1 and event_type = 'outcome.recorded'`,
        [endpoint.id],
      );
      expect({ count, last }).to.deep.equal({ count: 1200, last: 11.99 });
      const { task_id: second } = await recover();
      await operator().webhooks.disable({ endpoint_id: endpoint.id });
      await service.runTasks(handlers());
      const refused = await viewer().tasks.status({ task_id: second });
      expect(refused.state).to.equal('FAILED');
      expect(refused.error).to.include('not active');
    });
  });
});
