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

  it('no stored text can steer the terminal', () => {
    const shown = show({ items: [{ name: 'a\u001b[2J\r\n\u202eb\u0007' }], next_cursor: null });
    expect(shown.split('\n')[2]).to.equal('a�[2J���b�');
  });
});
