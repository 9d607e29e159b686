import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { writeOf, type Json } from '../events.ts';
import type { Expectation } from '../judge.ts';
import { NotPossible, type Credential } from '../probe.ts';
import type { Answer } from '../types.ts';
import { casesOf, invalid, SUBMIT, USAGE, type Bench, type Case } from './case.ts';
import { outcomeCases } from './outcomes.ts';

/** What the production cases tell each other. */
export interface Story {
  /** The accepted event, its key and the answer to it; set by the first case. */
  accepted?: { event: Json; key: string; body: Json };
  /** The quota before anything was sent. */
  quota?: Json;
  /** Events accepted for the first time so far. */
  firstAcceptances: number;
}

const ACCEPTED = { status: 202 } as const;
const CONFLICT = { status: 409, code: 'IDEMPOTENCY_CONFLICT' } as const;

/** A Site's whole way: submit, repeat, conflict, follow, label, count. Uses 3 events of the quota. */
export function productionCases(bench: Bench, production: Credential): Case[] {
  const { probe, events } = bench;
  const story: Story = { firstAcceptances: 0 };
  const make = casesOf('production', 'submitTransaction');
  const submit = async (
    body: unknown,
    key: string = randomUUID(),
    expected: Expectation = ACCEPTED,
  ): Promise<Answer | undefined> =>
    probe.call('submitTransaction', production, { ...SUBMIT, ...writeOf(body, key) }, expected);
  const first = (): NonNullable<Story['accepted']> => {
    if (story.accepted === undefined) throw new NotPossible('no event was accepted');
    return story.accepted;
  };
  const sameAgain = async (answer: Answer | undefined): Promise<void> => {
    if (answer === undefined) return;
    const replayed = answer.headers.get('idempotent-replayed')?.[0];
    probe.equal('header idempotent-replayed', replayed, 'true');
    const { request_id: _, ...body } = answer.body as Json;
    const { request_id: __, ...wanted } = first().body;
    for (const name of Object.keys(wanted))
      probe.equal(`body.${name}`, body[name], wanted[name], 'as in the first answer');
  };
  return [
    casesOf('production', 'getApiUsage')('the usage is that of this UTC month', async () => {
      const answer = await probe.call('getApiUsage', production, USAGE, { status: 200 });
      if (answer === undefined) return;
      story.quota = (answer.body as { quota?: Json }).quota ?? {};
      probe.equal('body.environment', (answer.body as Json)['environment'], 'production');
      probe.equal('body.quota.period', story.quota['period'], thisMonth(), 'the current UTC month');
    }),
    make('a valid event is accepted', async () => {
      const event = events.event();
      const key = randomUUID();
      const answer = await submit(event, key);
      if (answer === undefined) return;
      story.firstAcceptances += 1;
      story.accepted = { event, key, body: answer.body as Json };
      const id = story.accepted.body['source_event_id'];
      probe.equal('body.source_event_id', id, event['source_event_id'], 'the id that was sent');
      if (answer.headers.has('idempotent-replayed'))
        probe.report('header idempotent-replayed', 'none on a first acceptance', 'one');
    }),
    make('the same call again gets the same answer', async () =>
      sameAgain(await submit(first().event, first().key)),
    ),
    make('the order of keys and white space make no other payload', async () => {
      const reversed = Object.fromEntries(Object.entries(first().event).reverse());
      await sameAgain(await submit(JSON.stringify(reversed, undefined, 2), first().key));
    }),
    make('the same event under a new key is the same transaction', async () =>
      sameAgain(await submit(first().event)),
    ),
    make('the same key with another payload is a conflict', async () => {
      await submit({ ...first().event, sent_at: '2026-03-01T00:00:00Z' }, first().key, CONFLICT);
    }),
    make('the same key with another event is a conflict', async () => {
      await submit(events.event(), first().key, CONFLICT);
    }),
    make('the same source_event_id with another payload is a conflict', async () => {
      const other = { ...first().event, source_system: 'contract-check-2' };
      await submit(other, randomUUID(), CONFLICT);
    }),
    make('a refused event is not kept: corrected, it is accepted under its key', async () => {
      const event = events.event();
      const key = randomUUID();
      await submit({ ...event, sent_at: 'now' }, key, invalid('sent_at'));
      if ((await submit(event, key)) !== undefined) story.firstAcceptances += 1;
    }),
    ...followCases(bench, production, first),
    ...tidCases(bench, production, story),
    ...outcomeCases(bench, production, () => String(first().event['source_event_id'])),
    casesOf('production', 'getApiUsage')('the usage counts first acceptances only', async () => {
      if (story.quota === undefined) throw new NotPossible('the usage before is not known');
      const answer = await probe.call('getApiUsage', production, USAGE, { status: 200 });
      const quota = (answer?.body as { quota?: Json | null } | undefined)?.quota;
      if (quota === undefined || quota === null) return;
      // A run over midnight of the last day of a month sees two counters.
      if (quota['period'] !== story.quota['period']) return;
      const [accepted, limit] = [Number(quota['accepted']), Number(quota['limit'])];
      const before = Number(story.quota['accepted']);
      if (accepted !== before + story.firstAcceptances) {
        const came = `${accepted - before} more`;
        probe.report('body.quota.accepted', `${story.firstAcceptances} more than before`, came);
      }
      if (Number(quota['remaining']) !== Math.max(0, limit - accepted))
        probe.report('body.quota.remaining', 'limit less accepted', 'another number');
    }),
  ];
}

/** Following the accepted event by both ids until it is evaluated. */
function followCases(
  { probe, evaluationMs }: Bench,
  production: Credential,
  first: () => { event: Json; body: Json },
): Case[] {
  let evaluated: unknown;
  const path = (): string =>
    `/v1/transactions/${encodeURIComponent(String(first().event['source_event_id']))}/risk`;
  return [
    casesOf('production', 'getIngestion')('the ingestion is followed to SUCCEEDED', async () => {
      const id = String(first().body['ingestion_id']);
      const deadline = probe.now() + evaluationMs;
      for (let wait = 100; ; wait = Math.min(wait * 2, 5_000)) {
        const call = { method: 'GET', path: `/v1/ingestions/${encodeURIComponent(id)}` };
        const answer = await probe.call('getIngestion', production, call, { status: 200 });
        if (answer === undefined) return;
        const body = answer.body as Json;
        const status = body['evaluation_status'];
        probe.equal('body.ingestion_id', body['ingestion_id'], id, 'the id that was asked for');
        for (const name of ['source_event_id', 'received_at'])
          probe.equal(`body.${name}`, body[name], first().body[name], 'as accepted');
        if ((body['risk'] !== null) !== (status === 'SUCCEEDED')) {
          probe.report(
            'body.risk',
            'a result exactly when SUCCEEDED',
            `otherwise (${String(status)})`,
          );
          return;
        }
        if (status === 'SUCCEEDED') evaluated = body['risk'];
        if (status === 'SUCCEEDED' || !isUnderWay(status)) {
          probe.equal('body.evaluation_status', status, 'SUCCEEDED');
          return;
        }
        if (probe.now() > deadline) {
          const expected = `SUCCEEDED within ${evaluationMs / 1000} s`;
          probe.report('body.evaluation_status', expected, String(status));
          return;
        }
        await probe.sleep(wait);
      }
    }),
    casesOf('production', 'getTransactionRisk')('the risk by event id is the same', async () => {
      const call = { method: 'GET', path: path() };
      const answer = await probe.call('getTransactionRisk', production, call, { status: 200 });
      if (answer === undefined) return;
      const body = answer.body as Json;
      const ids = ['ingestion_id', 'source_event_id'];
      for (const name of ids)
        probe.equal(`body.${name}`, body[name], first().body[name], 'as accepted');
      if (evaluated !== undefined && !isDeepStrictEqual(body['risk'], evaluated))
        probe.report('body.risk', 'as by ingestion id', 'another result');
    }),
  ];
}

const isUnderWay = (status: unknown): boolean =>
  status === 'PENDING' || status === 'PROCESSING' || status === 'RETRY_SCHEDULED';

function tidCases({ probe, events }: Bench, production: Credential, story: Story): Case[] {
  const tid = events.newId();
  const event = events.event({}, { tid });
  let isAccepted = false;
  const look = async (id: unknown, expected: Expectation): Promise<void> => {
    if (!isAccepted) throw new NotPossible('the event with a tid was not accepted');
    const path = `/v1/transactions/${encodeURIComponent(String(id))}/risk`;
    await probe.call('getTransactionRisk', production, { method: 'GET', path }, expected);
  };
  return [
    casesOf('production', 'submitTransaction')('a tid becomes the source_event_id', async () => {
      const call = { ...SUBMIT, ...writeOf(event) };
      const answer = await probe.call('submitTransaction', production, call, ACCEPTED);
      if (answer === undefined) return;
      isAccepted = true;
      story.firstAcceptances += 1;
      const id = (answer.body as Json)['source_event_id'];
      probe.equal('body.source_event_id', id, tid, 'the tid that was sent');
    }),
    casesOf('production', 'getTransactionRisk')('the tid finds the transaction', () =>
      look(tid, { status: 200 }),
    ),
    casesOf('production', 'getTransactionRisk')('the id that the tid replaced does not', () =>
      look(event['source_event_id'], { status: 404, code: 'TRANSACTION_NOT_FOUND' }),
    ),
  ];
}

const thisMonth = (): string => new Date().toISOString().slice(0, 7);
