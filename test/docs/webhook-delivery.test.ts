import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RESERVED_RANGES } from '../../contract/address-ranges.ts';
import { createTestDatabase } from '../support/database.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/webhook-delivery.md'), 'utf8');

describe('docs/webhook-delivery.md', () => {
  it('lists every range of the address guard with its reason and document, in its order', () => {
    const rows = PAGE.split('\n').flatMap((line) => {
      const cells = line.split('|').map((cell) => cell.trim());
      const cidr = /^`([^`]+\/\d+)`$/.exec(cells[1] ?? '')?.[1];
      return cidr === undefined ? [] : [{ cidr, reason: cells[2], rfc: cells[3] }];
    });
    expect(rows).to.deep.equal(RESERVED_RANGES);
  });

  it('has SQL that runs', async () => {
    const [, sql] = /```sql\n([^`]+)```/.exec(PAGE) ?? [];
    const database = await createTestDatabase();
    try {
      expect(await database.query(sql ?? '')).to.deep.equal([]);
    } finally {
      await database.drop();
    }
  });
});
