/** What a call may refer to: made before anything is measured. */
export interface Known {
  readonly rows: number;
  /** First event that was redriven and judged; those before it are open dead letters. */
  readonly judgedFrom: number;
  /** Ids of credentials that may be rotated. */
  readonly credentialIds: readonly string[];
  readonly endpointId: string;
  readonly taskId: string;
}

/** One administrative call that is measured; `input` differs from call to call, so that no answer is simply remembered. */
export interface MeasuredCall {
  readonly path: string;
  /** What is special about this call of the procedure. */
  readonly about: string;
  /** Longest p95, ms. */
  readonly limit: number;
  readonly input: (n: number, known: Known) => Record<string, unknown>;
}

const DAY_MS = 86_400_000;
const SEARCH_LIMIT = 50;
const LIMIT = 100;

const site = (n: number): string => `bench-${1 + (n % 20)}`;
const daysAgo = (days: number): string => new Date(Date.now() - days * DAY_MS).toISOString();
const eventAt = (n: number, { rows, judgedFrom }: Known): number =>
  judgedFrom + ((n * 7_919) % (rows - judgedFrom - 3_000));

const search = (
  about: string,
  input: (n: number, known: Known) => Record<string, unknown>,
): MeasuredCall => ({ path: 'ingestions.search', about, limit: SEARCH_LIMIT, input });

const call = (
  path: string,
  input: (n: number, known: Known) => Record<string, unknown>,
  about = '',
): MeasuredCall => ({ path, about, limit: LIMIT, input });

/** Reads and small mutations. Long work (training, imports, bulk redrives, recovery) answers with a task and is not here. */
export const CALLS: readonly MeasuredCall[] = [
  search('the newest of all Sites', () => ({})),
  search('the newest of one Site', (n) => ({ site_code: site(n) })),
  search('all Sites before a day', (n) => ({ to: daysAgo(n % 28) })),
  search('one Site, one day', (n) => ({
    site_code: site(n),
    from: daysAgo((n % 28) + 1),
    to: daysAgo(n % 28),
  })),
  search('PENDING', () => ({ status: 'PENDING' })),
  search('RETRY_SCHEDULED', () => ({ status: 'RETRY_SCHEDULED' })),
  search('PROCESSING', () => ({ status: 'PROCESSING' })),
  search('SUCCEEDED, behind the backlog', () => ({ status: 'SUCCEEDED' })),
  search('SUCCEEDED of one Site, before a day', (n) => ({
    status: 'SUCCEEDED',
    site_code: site(n),
    to: daysAgo((n % 26) + 1),
  })),
  search('DLQ of one Site', (n) => ({ status: 'DLQ', site_code: site(n) })),
  search('by source_event_id, all Sites', (n) => ({ source_event_id: `event-of-${n}` })),
  call('ingestions.explain', (n, known) => ({ ingestion_id: `ing_${eventAt(n, known)}` })),
  call('ingestions.payload', (n, known) => ({
    ingestion_id: `ing_${eventAt(n, known)}`,
    reason: 'bench',
  })),
  call('dead_letters.list', (n) => ({ site_code: site(n) }), 'one Site'),
  call('dead_letters.list', (n) => ({ cause: `Error${n % 7}` }), 'one cause, all Sites'),
  call('dead_letters.preview', () => ({ filter: {} }), 'everything that is open'),
  call('dead_letters.preview', (n) => ({ filter: { site_code: site(n) } }), 'one Site'),
  call(
    'dead_letters.redrive',
    (n) => ({
      ingestion_ids: Array.from({ length: 10 }, (_, each) => `ing_${1_000 + n * 20 + each}`),
      reason: 'bench',
    }),
    'ten events',
  ),
  call(
    'dead_letters.discard',
    (n) => ({ ingestion_ids: [`ing_${1_000 + n * 20 + 15}`], reason: 'bench' }),
    'one event',
  ),
  call('tasks.list', () => ({})),
  call('tasks.status', (_n, { taskId }) => ({ task_id: taskId })),
  call('sites.list', () => ({})),
  call('sites.get', (n) => ({ site_code: site(n) })),
  call('gates.list', (n) => ({ site_code: site(n) })),
  call('gates.record', (n) => ({
    site_code: site(n),
    gate: 'QUALITY',
    result: 'PASSED',
    evidence: `bench ${n}`,
  })),
  call('contracts.list', (n) => ({ site_code: site(n) })),
  call('credentials.list', (n) => ({ site_code: site(n) })),
  call('credentials.issue', (n) => ({
    site_code: site(n),
    environment: 'production',
    label: `bench ${n}`,
  })),
  call('credentials.rotate', (n, { credentialIds }) => ({
    credential_id: credentialIds[n % credentialIds.length],
    overlap_seconds: 60,
  })),
  call('sites.suspend', (n) => ({ site_code: site(n), reason: 'bench' }), 'each once'),
  call('sites.resume', (n) => ({ site_code: site(n), reason: 'bench' }), 'each once'),
  call('webhooks.list', (n) => ({ site_code: site(n) })),
  call('webhooks.deliveries', (_n, { endpointId }) => ({ endpoint_id: endpointId })),
  call('reports.overview', (n) => ({ site_code: site(n) }), 'one Site'),
  call('reports.overview', () => ({}), 'all Sites'),
  call('reports.rule_quality', () => ({})),
  call('reports.score_distribution', () => ({})),
  call('reports.slo', () => ({})),
  call('models.list', (n) => ({ site_code: site(n) })),
  call('operators.list', () => ({})),
  call('events.list', () => ({})),
  call('audit.list', () => ({}), 'the newest'),
  call(
    'audit.list',
    (n) => ({ site_code: site(n), actor: `operator ${n % 9}` }),
    'one Site, one operator',
  ),
];

/** Calls of one kind at most, where each can only be made once on each Site. */
export const ONCE_PER_SITE = new Set(['sites.suspend', 'sites.resume']);
