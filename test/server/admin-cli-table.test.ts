import { expect } from 'chai';
import { show } from '../../server/admin-cli/table.ts';

describe('what the admin command line prints on a terminal', () => {
  it('a list is a table whose columns line up in every script', () => {
    const items = [
      { name: 'Acme', state: 'ACTIVE' },
      { name: '주식회사', state: 'CREATED' },
      { name: '🛒', state: null },
    ];
    expect(show({ items, next_cursor: null }).split('\n')).to.deep.equal([
      'name      state',
      '--------  -------',
      'Acme      ACTIVE',
      '주식회사  CREATED',
      '🛒        -',
    ]);
  });

  it('objects and lists in a cell are short, and a long cell is cut', () => {
    const items = [
      { gates: { QUALITY: 'PASSED', SECURITY: null }, names: ['a', 'b'], text: 'x'.repeat(100) },
    ];
    const row = show({ items, next_cursor: '17' }).split('\n');
    expect(row[2]).to.equal(`QUALITY=PASSED SECURITY=-  a, b   ${'x'.repeat(60)}…`);
    expect(row.at(-1)).to.equal('More: --cursor 17');
  });

  it('an empty list says so', () => {
    expect(show({ items: [], next_cursor: null })).to.equal('Nothing to show.');
  });

  it('one object is a line for each field, never cut: a key is shown once', () => {
    const key = 'k'.repeat(100);
    expect(show({ credential_id: '1', api_key: key })).to.equal(
      `  credential_id  1\n  api_key        ${key}`,
    );
    expect(show({ total: 1, causes: [{ cause: 'A', count: 1 }] })).to.equal(
      '  total  1\n\ncauses\ncause  count\n-----  -----\nA      1',
    );
  });

  it('what is too large for a line has a section of its own: an event is explained in lines, not in one', () => {
    const features = Object.fromEntries(
      Array.from({ length: 300 }, (_, index) => [`card_attempts_${index}`, index]),
    );
    const reasons = Array.from({ length: 3 }, (_, index) => `${index} declines `.repeat(5).trim());
    const rules = [{ rule: 'velocity', answer: 'HIT', thresholds: { limit: 4 } }];
    const lines = show({
      ingestion_id: 'ing_1',
      story: [{ what: 'ACCEPTED' }],
      evaluation: { score: 98, reasons, features, rules, model: null },
    }).split('\n');
    expect(Math.max(...lines.map((line) => line.length))).to.be.at.most(120);
    for (const line of [
      '  ingestion_id  ing_1',
      'evaluation',
      '  score  98',
      'evaluation.reasons',
      `  ${reasons[2]}`,
      'evaluation.rules',
      'velocity  HIT     limit=4',
    ]) {
      expect(lines).to.include(line);
    }
    const from = lines.indexOf('evaluation.features');
    const shown = lines
      .slice(from + 1, lines.indexOf('', from))
      .join(' ')
      .split(/ {2,}/)
      .slice(1);
    expect(shown).to.have.length(600);
    for (const [name, value] of Object.entries(features)) {
      expect(shown[shown.indexOf(name) + 1]).to.equal(String(value));
    }
  });

  it('whole numbers are whole, and shares as long as people compare them', () => {
    const items = [{ amount: 129_000_001, share: 28 / 37, mean: 54_321_098.51237, least: 1e-7 }];
    const row = show({ items, next_cursor: null }).split('\n')[2];
    expect(row?.split(/ +/)).to.deep.equal(['129000001', '0.7568', '54321098.512', '1e-7']);
  });

  it('no stored text can steer the terminal', () => {
    const shown = show({ items: [{ name: 'a\u001b[2J\r\n\u202eb\u0007' }], next_cursor: null });
    expect(shown.split('\n')[2]).to.equal('a�[2J���b�');
  });
});
