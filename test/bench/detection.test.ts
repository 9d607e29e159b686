import { expect } from 'chai';
import { createPartitions } from '../../ledger/partitions.ts';
import { createOrm } from '../../entities/orm.ts';
import { replay, type Replayed } from '../../bench/detection/replay.ts';
import { scoredRows } from '../../bench/detection/scored-rows.ts';
import type { Part, StreamLine } from '../../bench/detection/stream.ts';
import { LEARNING } from '../../risk/model/learn.ts';
import { randomSource } from '../risk/events.ts';
import { createTestDatabase } from '../support/database.ts';
import { createSite } from '../support/site.ts';

const DAY = 86_400_000;
const START = Date.UTC(2018, 5, 25);
const partOf = (day: number): Part =>
  day < 30 ? 'history' : day < 37 ? 'train' : day < 44 ? 'delay' : 'test';

/** A stream of 51 days; two thirds of the payments at ten of forty terminals are frauds from the second week on. */
function makeStream(count: number): StreamLine[] {
  const random = randomSource(5);
  return Array.from({ length: count }, (_, i) => {
    const at = START + Math.floor((i * 51 * DAY) / count);
    const terminal = random(40);
    const day = Math.floor((at - START) / DAY);
    return {
      part: partOf(day),
      sourceEventId: `line-${i}`,
      occurredAt: new Date(at).toISOString(),
      at,
      customerId: `cus-${random(80)}`,
      terminalId: `ter-${terminal}`,
      amountMinor: 1_000 + random(9_000),
      isFraud: terminal < 10 && day > 8 && random(3) > 0,
    };
  });
}

/** The outcome of a part turned round: what was fraud is genuine, and some of the rest is fraud. */
const turned = (lines: readonly StreamLine[], part: Part): StreamLine[] =>
  lines.map((line, i) =>
    line.part === part ? { ...line, isFraud: !line.isFraud && i % 5 === 0 } : line,
  );

async function replayed(lines: readonly StreamLine[], withLabels: boolean): Promise<Replayed> {
  const database = await createTestDatabase();
  try {
    const orm = createOrm({
      url: database.ownerUrl,
      poolSize: 1,
      applicationName: 'test partitions',
      statementTimeoutMs: 0,
    });
    await createPartitions(orm.em.getKysely(), START, 52);
    await orm.close(true);
    const site = await createSite(database, { customerType: 'MULTI_MERCHANT' });
    const { credentialId } = await site.issue();
    return await replay(toAsync(lines), {
      appUrl: database.appUrl,
      target: {
        siteId: BigInt(site.siteId),
        credentialId: BigInt(credentialId),
        defaultSubject: 'none',
      },
      withLabels,
      learning: { ...LEARNING, trees: 20, rate: 0.2 },
      onEvents: () => undefined,
      onTraining: () => undefined,
    });
  } finally {
    await database.drop();
  }
}

async function* toAsync(lines: readonly StreamLine[]): AsyncGenerator<StreamLine> {
  yield* lines;
}

describe('the detection bench', () => {
  it('scores every test event by what is known when it happens: outcomes not yet labelled change nothing', async () => {
    const lines = makeStream(900);
    const lived = await replayed(lines, true);
    const tests = lines.filter(({ part }) => part === 'test');
    expect([...lived.scores.keys()].sort()).to.deep.equal(
      tests.map(({ sourceEventId }) => sourceEventId).sort(),
    );
    expect(lived.training).to.have.property('model_id').that.is.a('string');
    // Labels of the test part are due after its end, so turning its outcomes round must not show anywhere.
    const otherwise = await replayed(turned(lines, 'test'), true);
    expect([...otherwise.scores]).to.deep.equal([...lived.scores]);
    // What was labelled in time is used: the rules alone would give whole numbers.
    expect([...lived.scores.values()].some((score) => !Number.isInteger(score))).to.equal(true);
    expect(lived.labels).to.be.greaterThan(80);
  }).timeout(120_000);

  it('with the rules alone sends no label and learns nothing', async () => {
    const lines = makeStream(200);
    const { labels, scores, training } = await replayed(lines, false);
    expect({ labels, training }).to.deep.equal({ labels: 0, training: null });
    expect([...scores.values()].every(Number.isInteger)).to.equal(true);
  }).timeout(60_000);

  it('leaves out the test rows of cards that are known to be compromised, from the eighth day on', () => {
    const line = (part: Part, day: number, customerId: string, isFraud: boolean): StreamLine => ({
      part,
      sourceEventId: `${customerId}-${day}`,
      occurredAt: '',
      at: START + day * DAY,
      customerId,
      terminalId: 't',
      amountMinor: 1,
      isFraud,
    });
    const lines = [
      line('delay', 43, 'a', true),
      line('test', 50, 'a', false),
      line('test', 51, 'a', false),
      line('test', 51, 'b', true),
    ];
    const scores = new Map(lines.map(({ sourceEventId }) => [sourceEventId, 1]));
    expect(scoredRows(lines, scores).map(({ card, day }) => `${card} ${day}`)).to.deep.equal(
      [lines[1], lines[3]].map((each) => `${each?.customerId} ${(each?.at ?? 0) / DAY}`),
    );
  });
});
