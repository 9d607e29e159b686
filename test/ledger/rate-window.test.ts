import { expect } from 'chai';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

describe('the window of the rate limit', () => {
  let database: TestDatabase;

  before(async () => {
    database = await createTestDatabase();
  });

  after(() => database.drop());

  // The statement of an older process leaves the count without the sum; both kinds run while a deployment replaces them.
  const NEWER = `(select result.buckets, result.counted % 1000 as granted, result.counted from count_in_window(
      $1::bigint[], $2::int, $3::bigint, $4::int, 120) as result)`;
  const OLDER = `(select result.buckets, result.granted, result.granted as counted from admit_to_window(
      $1::bigint[], $3::bigint, $4::int, 120 + 0 * $2::int) as result)`;

  interface Row {
    readonly buckets: string[];
    readonly granted: number;
    readonly counted: number;
  }

  const admit = async (
    statement: string,
    held: Pick<Row, 'buckets' | 'counted'>,
    second: number,
    wanted: number,
  ): Promise<Row> => {
    const [row] = await database.query<Row & Record<string, unknown>>(statement, [
      held.buckets,
      held.counted,
      second,
      wanted,
    ]);
    return row as Row;
  };

  it('is the same whether its sum is kept or added up, processes of both kinds in turn', async () => {
    let kept: Pick<Row, 'buckets' | 'counted'> = { buckets: ['100001'], counted: 1 };
    let added = kept;
    let second = 100;
    let refused = 0;
    for (let step = 0; step < 400; step += 1) {
      // Pauses, bursts, seconds of several requests and a clock that steps back.
      second += step % 97 === 96 ? 70 : step % 41 === 40 ? -3 : (step * 7) % 4;
      const wanted = 1 + ((step * 11) % 17) * (step % 5 === 0 ? 3 : 1);
      const mixed = step % 3 === 2 ? OLDER : NEWER;
      const one = await admit(mixed, kept, second, wanted);
      const other = await admit(OLDER, added, second, wanted);
      expect([one.buckets, one.granted], `step ${step}`).to.deep.equal([
        other.buckets,
        other.granted,
      ]);
      const used = one.buckets.reduce((sum, bucket) => sum + (Number(bucket) % 1000), 0);
      expect(used).to.be.at.most(120);
      if (mixed === NEWER) expect(Math.floor(one.counted / 1000)).to.equal(used);
      if (one.granted === 0) refused += 1;
      [kept, added] = [one, other];
    }
    expect(refused).to.be.within(20, 380);
  });
});
