import type { ApiDocument } from '../document-types.ts';
import type { Bench, Case, Group } from './cases/case.ts';
import { allCases } from './cases/index.ts';
import { describe } from './description.ts';
import { EventMaker } from './events.ts';
import { credentialOf, Lost, NotPossible, Probe, type Time } from './probe.ts';
import { createTransport } from './transport.ts';
import type { CaseResult, CheckReport } from './types.ts';

/** What a run is started with. */
export interface RunOptions {
  readonly baseUrl: URL;
  readonly document: ApiDocument;
  readonly sandboxKey: string;
  readonly productionKey?: string;
  readonly restrictedKey?: string;
  readonly skip?: ReadonlySet<Group>;
  readonly evaluationMs?: number;
  /** Longest wait for one answer, ms. */
  readonly patienceMs?: number;
  readonly time?: Time;
  /** Told before each case: how many are done, of how many, and which comes. */
  readonly onCase?: (done: number, of: number, next: string) => void;
  /** Told why it waits. */
  readonly onWait?: (line: string) => void;
}

/** The machine's time. */
const REAL_TIME: Time = {
  now: () => performance.now(),
  sleep: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
};

/**
 * Checks a running gateway against the description: every case, one after another, each call paced.
 *
 * @returns a report, also when the gateway falls silent in between (`lost`)
 * @throws Lost when it never answered
 */
export async function runCheck(options: RunOptions): Promise<CheckReport> {
  const { baseUrl, sandboxKey, productionKey, restrictedKey, time = REAL_TIME } = options;
  const started = performance.now();
  const startedAt = new Date().toISOString();
  const transport = createTransport(baseUrl, options.patienceMs);
  const probe = new Probe(
    describe(options.document),
    transport,
    time,
    options.onWait ?? (() => undefined),
  );
  const bench: Bench = {
    probe,
    events: new EventMaker(),
    sandbox: credentialOf(sandboxKey),
    ...(productionKey === undefined ? {} : { production: credentialOf(productionKey) }),
    ...(restrictedKey === undefined ? {} : { restricted: credentialOf(restrictedKey) }),
    host: baseUrl.host,
    prefix: baseUrl.pathname.replace(/\/$/, ''),
    evaluationMs: options.evaluationMs ?? 300_000,
  };
  const cases = allCases(bench, options.skip ?? new Set());
  const results: CaseResult[] = [];
  let lost = false;
  try {
    for (const [i, item] of cases.entries()) {
      options.onCase?.(i, cases.length, `${item.operation}: ${item.name}`);
      const { result, gone } = await runCase(probe, item);
      results.push(result);
      if (gone === undefined) continue;
      if (!probe.answered) throw gone;
      lost = true;
      break;
    }
  } finally {
    transport.close();
  }
  const skipped = cases.slice(results.length).map((item): CaseResult => {
    const { group, operation, name } = item;
    return { group, operation, name, outcome: 'skipped', milliseconds: 0, deviations: [] };
  });
  return {
    baseUrl: baseUrl.origin + baseUrl.pathname,
    startedAt,
    seconds: Math.round((performance.now() - started) / 100) / 10,
    requests: probe.requests,
    sandboxKeyId: /^trk_sbx_([0-9A-Za-z]{8})_/.exec(sandboxKey)?.[1] ?? null,
    cases: [...results, ...skipped],
    notSeen: probe.notSeen(),
    lost,
  };
}

async function runCase(probe: Probe, item: Case): Promise<{ result: CaseResult; gone?: Lost }> {
  const { group, operation, name } = item;
  const started = performance.now();
  let skipped = false;
  let gone: Lost | undefined;
  try {
    await item.run();
  } catch (error: unknown) {
    if (error instanceof NotPossible) skipped = true;
    else if (error instanceof Lost) gone = error;
    else throw error;
  }
  const deviations = probe.takeDeviations();
  const outcome = deviations.length > 0 ? 'deviates' : skipped ? 'skipped' : 'agrees';
  const milliseconds = Math.round(performance.now() - started);
  const result = { group, operation, name, outcome, milliseconds, deviations } as const;
  return gone === undefined ? { result } : { result, gone };
}
