import { expect } from 'chai';
import type { Measurement } from '../../bench/measure.ts';
import { readTrainingOptions } from '../../bench/training/options.ts';
import { tablesOf, type TrainingRun } from '../../bench/training/report.ts';
import { busiestNewThread, threadCpuSeconds } from '../../bench/training/thread-cpu.ts';
import type { JsonValue } from '../../ledger/operator-events.ts';

const LIMITS = { seconds: 300, p99: 2 };

const METRICS = {
  rows: 500_000,
  frauds: 4_000,
  trees: 200,
  features: 454,
  auc_roc: 0.8,
  average_precision: 0.2,
  card_precision_100: 0.1,
  log_loss: 0.04,
  answered: { average_precision: 0.03 },
};

const phase = (p99: number): Measurement => ({
  seconds: 60,
  accepted: 30_000,
  perSecond: 500,
  latencies: { p50: 2, p95: 5, p99, max: 50 },
  refusalLatencies: { p50: Number.NaN, p95: Number.NaN, p99: Number.NaN, max: Number.NaN },
  sentLate: { p50: 0, p95: 0, p99: 0, max: 0 },
  withoutRetryAfter: 0,
  statuses: { 202: 30_000 },
  cpuShare: 0.05,
  unsent: 0,
  next: 30_000,
  serviceCpu: 0.5,
  databaseCpu: 0.3,
  walBytes: 7_000,
  fsyncs: 0.5,
  residentMegabytes: 900,
  otherCores: 0,
});

const runOf = (
  seconds: number,
  p99: number,
  result: JsonValue = { metrics: METRICS },
): TrainingRun => ({
  filled: { events: 550_000, seconds: 300 },
  phases: { before: phase(10), during: phase(p99), after: phase(11) },
  training: { seconds, threadSeconds: 120, result },
  idleMegabytes: 500,
  rate: 500,
});

describe('the training bench', () => {
  it('says whether a training kept its limits', () => {
    expect(tablesOf(runOf(299, 19), LIMITS).isWithin).to.equal(true);
    const slow = tablesOf(runOf(301, 19), LIMITS);
    expect(slow.isWithin).to.equal(false);
    expect(slow.tables[0]?.notes[0]).to.match(/^301 s by the clock .*MISSED/);
    const slowing = tablesOf(runOf(299, 21), LIMITS);
    expect(slowing.isWithin).to.equal(false);
    expect(slowing.tables[1]?.notes[0]).to.match(/2\.10x .*MISSED.*after it to before: 1\.10x/);
  });

  it('fails with the reason where nothing was learned', () => {
    const run = runOf(10, 10, { model_id: null, reason: 'too few frauds' });
    expect(() => tablesOf(run, LIMITS)).to.throw('too few frauds');
  });

  it('reads its command line', () => {
    expect(readTrainingOptions([])).to.deep.equal({
      rows: 500_000,
      rate: 500,
      seconds: 60,
      write: false,
    });
    expect(readTrainingOptions(['--help'])).to.equal('help');
    for (const wrong of [['--rows', '700000'], ['--rows', 'many'], ['--rate', '0'], ['--fast']]) {
      expect(readTrainingOptions(wrong), wrong.join(' ')).to.equal(undefined);
    }
  });

  it('tells the CPU of a thread that came later from that of those before', () => {
    const before = new Map([
      ['1', 100],
      ['2', 3],
    ]);
    expect(Number.isNaN(busiestNewThread(before, before))).to.equal(true);
    const now = new Map([...before, ['3', 2], ['4', 7]] as [string, number][]);
    expect(busiestNewThread(before, now)).to.equal(7);
    // Linux alone tells of threads.
    if (process.platform === 'linux') {
      expect(threadCpuSeconds(process.pid).get(String(process.pid))).to.be.above(0);
    }
  });
});
