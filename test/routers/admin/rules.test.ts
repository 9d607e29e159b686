import { expect } from 'chai';
import { forgetEntries } from '../../../ledger/lists.ts';
import { DEFAULT_RULE_SET } from '../../../risk/index.ts';
import { everyRow, findTraces } from '../../support/traces.ts';
import {
  createActiveSite,
  refusalOf,
  startAdminService,
  type AdminService,
} from './admin-service.ts';

const RULE = {
  id: 'large_amount',
  reason: 'AMOUNT',
  points: 40,
  when: 'event.amount_minor >= limit',
  limits: { limit: 1_000_000 },
  message: 'An amount of at least {limit}.',
  cases: [{ event: { amount_minor: 1_000_000 }, answer: 'HIT' as const }],
};

describe('admin: rules', () => {
  let service: AdminService;

  before(async () => {
    service = await startAdminService();
    await createActiveSite(service.as('administrator'), 'acme');
    await createActiveSite(service.as('administrator'), 'other');
  });
  after(() => service.close());

  const draft = (rule: object = RULE, more: object = {}) => ({
    site_code: 'acme',
    comment: 'a test',
    content: { rules: [rule as typeof RULE], ...more },
  });
  const save = async (): Promise<number> =>
    (await service.as('operator').rules.save_draft(draft())).version;
  const refusedDraft = async (change: object, more: object = {}): Promise<string> =>
    (await refusalOf(service.as('operator').rules.save_draft(draft({ ...RULE, ...change }, more))))
      .message;

  it('are refused on save with the rule, the place and the character that is wrong', async () => {
    expect(
      await refusedDraft({ when: 'event.amount_minor >= 10.0 && event.chanel == "POS"' }),
    ).to.match(/^The rules are wrong: content\.rules\[0\]\.when at character 37: /);
    expect(await refusedDraft({ when: 'features.card_attempts_1h' })).to.match(
      /must be true or false/,
    );
    expect(await refusedDraft({ applies: 'event.is_payment &&' })).to.match(
      /content\.rules\[0\]\.applies at character \d+: /,
    );
    expect(await refusedDraft({ needs: { nothing: 1 } })).to.match(/content\.rules\[0\]\.needs: /);
    expect(await refusedDraft({ points: 101 })).to.match(/content\.rules\[0\]\.points: /);
    expect(await refusedDraft({}, { without: ['nothing'] })).to.match(
      /content\.without\[0\]: is no rule/,
    );
    expect(await refusedDraft({ cases: [{ features: { nothing: 1 }, answer: 'HIT' }] })).to.match(
      /content\.rules\[0\]\.cases\[0\]\.features: names what is no feature/,
    );
    expect(await refusedDraft({}, { thresholds: { review: 90, hold: 60, block: 85 } })).to.match(
      /content\.thresholds: must be integers/,
    );
    expect(await refusedDraft({ code: 'process.exit()' })).to.match(
      /content\.rules\[0\]\.<undeclared>/,
    );
    const { items } = await service.as('viewer').rules.list({ site_code: 'acme' });
    expect(items).to.deep.equal([]);
  });

  it('may not show a field of the payload in a reason, nor an amount', async () => {
    for (const message of [
      'From {event.currency}.',
      'Of {customer.customer_id}.',
      'Usually {features.card_amount_mean_30d}.',
    ]) {
      expect(await refusedDraft({ message }), message).to.match(
        /content\.rules\[0\]\.message: may not show/,
      );
    }
  });

  it('cannot loop, backtrack or reach for anything but event, features and labels', async () => {
    for (const when of [
      "event.channel.matches('(a+)+$')",
      '[1, 2].exists(x, x > 1)',
      'process.exit == 1',
      `${'event.is_payment && '.repeat(90)}true`,
    ]) {
      expect(await refusedDraft({ when }), when).to.match(/content\.rules\[0\]\.when/);
    }
  });

  it('that came with the service can be saved, pass their cases and are shown as version 0', async () => {
    const shipped = await service.as('viewer').rules.get({});
    expect(shipped).to.include({ version: 0, live_version: 0, shadow_version: null });
    const { version } = await service.as('administrator').rules.save_draft({
      content: shipped.content as ReturnType<typeof draft>['content'],
      comment: 'as they are',
    });
    const tested = await service.as('administrator').rules.test({ version });
    expect(tested).to.include({
      cases: DEFAULT_RULE_SET.rules.reduce((sum, { cases = [] }) => sum + cases.length, 0),
    });
    expect(tested.failed).to.deep.equal([]);
    expect(tested.without_case).to.deep.equal([]);
    const saved = await service.as('viewer').rules.get({ version });
    expect(saved.content).to.deep.equal(shipped.content);
  });

  it('for all Sites are an administrator’s', async () => {
    const { site_code: _site, ...forAll } = draft();
    const refused = await refusalOf(service.as('operator').rules.save_draft(forAll));
    expect(refused.code).to.equal('FORBIDDEN');
    const listed = await refusalOf(
      service
        .as('operator')
        .lists.put({ list: 'block', entity: 'card', values: ['tok-1'], reason: 'a test' }),
    );
    expect(listed.code).to.equal('FORBIDDEN');
  });

  it('are published by somebody else than their author, after the shadow or with a reason', async () => {
    const admin = service.as('administrator');
    const own = await admin.rules.save_draft(draft());
    await admin.rules.shadow({ site_code: 'acme', version: own.version });
    const byAuthor = await refusalOf(
      admin.rules.publish({ site_code: 'acme', version: own.version }),
    );
    expect(byAuthor.message).to.match(/another administrator than its author/);
    const version = await save();
    const untried = await refusalOf(admin.rules.publish({ site_code: 'acme', version }));
    expect(untried.message).to.match(/never been in the shadow/);
    const urgent = await admin.rules.publish({
      site_code: 'acme',
      version,
      urgent_reason: 'an attack is under way',
    });
    expect(urgent).to.deep.equal({
      site_code: 'acme',
      live_version: version,
      shadow_version: own.version,
    });
    const shown = await service.as('viewer').rules.get({ site_code: 'acme' });
    expect(shown.version).to.equal(version);
    expect(shown.releases[0]).to.include({
      kind: 'PUBLISH',
      reason: 'an attack is under way',
      released_by: 'a administrator',
    });
    const again = await refusalOf(admin.rules.publish({ site_code: 'acme', version }));
    expect(again.message).to.match(/is live already/);
    await admin.rules.stop_shadow({ site_code: 'acme' });
  });

  it('with a case that fails are neither tried nor published', async () => {
    const wrong = { ...RULE, cases: [{ event: { amount_minor: 1 }, answer: 'HIT' }] };
    const { version } = await service.as('operator').rules.save_draft(draft(wrong));
    const tested = await service.as('operator').rules.test({ site_code: 'acme', version });
    expect(tested.failed).to.deep.equal([
      { rule: 'large_amount', case: 0, expected: 'HIT', answered: 'NO_HIT' },
    ]);
    const named = { site_code: 'acme', version };
    for (const call of [
      service.as('operator').rules.shadow(named),
      service.as('administrator').rules.publish({ ...named, urgent_reason: 'a test' }),
    ]) {
      expect((await refusalOf(call)).message).to.match(/1 fixed cases of version \d+ fail/);
    }
  });

  it('go back one publication at a time, to what came with the service in the end', async () => {
    const admin = service.as('administrator');
    const first = await save();
    const second = await save();
    for (const version of [first, second]) {
      await admin.rules.publish({ site_code: 'acme', version, urgent_reason: 'a test' });
    }
    const back = () =>
      service.as('operator').rules.rollback({ site_code: 'acme', reason: 'a test' });
    expect((await back()).live_version).to.equal(first);
    const { items } = await service.as('viewer').rules.list({ site_code: 'acme' });
    const states = new Map(items.map(({ state, version }) => [version, state]));
    expect([states.get(first), states.get(second)]).to.deep.equal(['LIVE', 'RETIRED']);
    await back();
    expect((await back()).live_version).to.equal(0);
  });

  it('never change once they are saved', async () => {
    const version = await save();
    for (const statement of [
      `update rule_set set content = '{}'`,
      'delete from rule_set',
      'truncate rule_release',
    ]) {
      const error: unknown = await service.database.query(statement).catch((caught) => caught);
      expect(String(error)).to.include('append-only');
    }
    const versions = await Promise.all([save(), save(), save()]);
    expect(versions.toSorted((a, b) => a - b)).to.deep.equal([
      version + 1,
      version + 2,
      version + 3,
    ]);
  });

  it('are of no other Site: its version is answered like one that does not exist', async () => {
    const version = await save();
    for (const call of ['test', 'shadow'] as const) {
      const foreign = await refusalOf(
        service.as('operator').rules[call]({ site_code: 'other', version }),
      );
      expect(foreign.code).to.equal('NOT_FOUND');
      expect(foreign.message).to.equal(
        `There is no version ${version} of these rules; rules.list shows all.`,
      );
    }
  });
});

describe('admin: lists', () => {
  let service: AdminService;

  before(async () => {
    service = await startAdminService();
    await createActiveSite(service.as('administrator'), 'acme');
    await createActiveSite(service.as('administrator'), 'other');
  });
  after(() => service.close());

  const entry = {
    site_code: 'acme',
    list: 'block' as const,
    entity: 'customer' as const,
    values: ['customer-of-the-list', 'customer-two'],
    reason: 'chargebacks',
  };

  it('keep digests, never the values: not in a table, an answer, the audit or a log', async () => {
    const operator = service.as('operator');
    const put = await operator.lists.put({ ...entry, values: [...entry.values, entry.values[0]!] });
    expect(put.put).to.equal(2);
    const listed = await operator.lists.list({ site_code: 'acme' });
    expect(listed.items).to.have.length(2);
    const found = await operator.lists.list({
      site_code: 'acme',
      entity: 'customer',
      value: 'customer-two',
    });
    expect(found.items.map(({ reason }) => reason)).to.deep.equal(['chargebacks']);
    const texts = await everyRow(service.database);
    texts.set('answers', JSON.stringify([put, listed, found]));
    expect(findTraces(texts, entry.values)).to.deep.equal([]);
  });

  it('are of one Site', async () => {
    const other = await service.as('viewer').lists.list({ site_code: 'other' });
    expect(other.items).to.deep.equal([]);
    const refused = await refusalOf(
      service.as('operator').lists.remove({ ...entry, site_code: 'other' }),
    );
    expect(refused.code).to.equal('NOT_FOUND');
    expect(refused.message).not.to.include('customer-two');
  });

  it('show what counts now, page by page, and not what has expired or was removed', async () => {
    const operator = service.as('operator');
    const expires = new Date(service.clock.at + 60_000).toISOString();
    await operator.lists.put({ ...entry, list: 'watch', values: ['a', 'b'], expires_at: expires });
    const first = await operator.lists.list({ site_code: 'acme', limit: 3 });
    expect(first.items).to.have.length(3);
    const second = await operator.lists.list({
      site_code: 'acme',
      limit: 3,
      cursor: first.next_cursor ?? '',
    });
    expect(second.items).to.have.length(1);
    service.clock.at += 60_000;
    const { removed } = await operator.lists.remove({ ...entry, values: ['customer-two'] });
    expect(removed).to.equal(1);
    const left = await operator.lists.list({ site_code: 'acme' });
    expect(left.items).to.have.length(1);
    expect(
      await forgetEntries(service.services.orm.em.fork().getKysely(), service.clock.at),
    ).to.equal(0);
    const later = service.clock.at + 8 * 86_400_000;
    expect(await forgetEntries(service.services.orm.em.fork().getKysely(), later)).to.equal(3);
    const kept = await operator.lists.list({ site_code: 'acme' });
    expect(kept.items).to.deep.equal(left.items);
    const past = await refusalOf(operator.lists.put({ ...entry, expires_at: expires }));
    expect(past.message).to.match(/expires_at: must be in the future/);
  });
});
