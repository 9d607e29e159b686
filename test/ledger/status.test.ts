import { expect } from 'chai';
import { evaluationJobId } from '../../ledger/ids.ts';
import { evaluationStatus, needsRequeue, JOB_ID_SQL } from '../../ledger/status.ts';
import { createTestDatabase } from '../support/database.ts';

describe('the status of an ingestion', () => {
  // Every combination of what it is derived from; status and sweeper read the same table.
  const rows: [boolean, boolean, string | null, string, boolean][] = [
    [false, false, 'created', 'PENDING', false],
    [false, false, 'retry', 'RETRY_SCHEDULED', false],
    [false, false, 'active', 'PROCESSING', false],
    [false, false, 'completed', 'PENDING', true],
    [false, false, 'cancelled', 'PENDING', true],
    [false, false, 'failed', 'PENDING', true],
    [false, false, null, 'PENDING', true],
    ...(['created', 'retry', 'active', 'completed', 'cancelled', 'failed', null] as const).flatMap(
      (state): [boolean, boolean, string | null, string, boolean][] => [
        [false, true, state, 'DLQ', false],
        [true, false, state, 'SUCCEEDED', false],
        [true, true, state, 'SUCCEEDED', false],
      ],
    ),
  ];

  for (const [evaluated, deadLetterOpen, jobState, status, requeue] of rows) {
    const facts = { evaluated, deadLetterOpen, jobState };
    const words = `${evaluated ? 'evaluated' : 'not evaluated'}, ${deadLetterOpen ? 'dead letter' : 'no dead letter'}, job ${jobState ?? 'missing'}`;
    it(`is ${status} when ${words}${requeue ? ', and the sweeper queues it again' : ''}`, () => {
      expect(evaluationStatus(facts)).to.equal(status);
      expect(needsRequeue(facts)).to.equal(requeue);
    });
  }

  it('finds its job by the id that SQL and program compute alike', async () => {
    const database = await createTestDatabase({ migrated: false });
    const ids = [0n, 1n, 1000n, 0xdeadbeefn, 2n ** 62n + 12345n, 2n ** 63n - 1n];
    const answers = await database.query<{ id: string; job: string }>(
      `select id::text, ${JOB_ID_SQL('id')} as job from unnest($1::bigint[]) as given (id)`,
      [ids.map(String)],
    );
    expect(answers.map(({ job }) => job)).to.deep.equal(ids.map(evaluationJobId));
    expect(new Set(answers.map(({ job }) => job)).size).to.equal(ids.length);
    for (const { job } of answers) expect(job).to.match(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8/);
    await database.drop();
  });
});
