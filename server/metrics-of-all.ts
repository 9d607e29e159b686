import cluster, { type Worker } from 'node:cluster';
import { AggregatorRegistry, type MetricObject, type Registry } from 'prom-client';

/** How long the first process waits for the answer of each of the others, ms; a scrape gets what came until then. */
const ANSWER_MS = 2_000;

/** How long a process waits for the first one, ms. */
const GATHER_MS = 5_000;

/** What processes tell each other about metrics. `id` belongs to whoever asks. */
type Message =
  | { readonly type: 'metrics of all?'; readonly id: number }
  | { readonly type: 'metrics of all'; readonly id: number; readonly text: string }
  | { readonly type: 'metrics?'; readonly id: number }
  | { readonly type: 'metrics'; readonly id: number; readonly metrics: MetricObject[] };

function isMessage(message: unknown): message is Message {
  return (
    typeof message === 'object' &&
    message !== null &&
    'type' in message &&
    typeof message.type === 'string' &&
    message.type.startsWith('metrics')
  );
}

let asked = 0;

/**
 * The metrics of the service for a scrape: with PROCESSES above 1, those of all of its processes added up, whichever of
 * them is asked. A process that does not answer in time is left out.
 */
export async function readMetrics(registry: Registry): Promise<string> {
  if (!cluster.isWorker) return registry.metrics();
  const id = (asked += 1);
  const answer = await new Promise<string | undefined>((resolve) => {
    const timer = setTimeout(() => finish(undefined), GATHER_MS);
    const listen = (message: unknown): void => {
      if (isMessage(message) && message.type === 'metrics of all' && message.id === id) {
        finish(message.text);
      }
    };
    const finish = (text: string | undefined): void => {
      clearTimeout(timer);
      process.off('message', listen);
      resolve(text);
    };
    process.on('message', listen);
    tell(process, { type: 'metrics of all?', id });
  });
  return answer ?? registry.metrics();
}

/** Lets a child of the first process answer for itself; called once when it starts. */
export function answerForMetrics(registry: Registry): void {
  if (!cluster.isWorker) return;
  process.on('message', (message: unknown) => {
    if (!isMessage(message) || message.type !== 'metrics?') return;
    void registry
      .getMetricsAsJSON()
      .then((metrics) => tell(process, { type: 'metrics', id: message.id, metrics }));
  });
}

/**
 * The first process's part: gathers and adds up. What a child that died had counted stays in the sums: a counter that
 * falls would look like a restart of all, and like a burst in every rate.
 */
export class MetricsOfAll {
  readonly #registry: Registry;
  readonly #last = new Map<number, MetricObject[]>();
  #departed: MetricObject[] = [];

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  /** Answers the children from now on. */
  start(): void {
    cluster.on('message', this.#hear);
    cluster.on('exit', this.#bury);
  }

  stop(): void {
    cluster.off('message', this.#hear);
    cluster.off('exit', this.#bury);
  }

  readonly #hear = (worker: Worker, message: unknown): void => {
    if (!isMessage(message) || message.type !== 'metrics of all?') return;
    void this.#gather().then((text) => {
      if (worker.isConnected()) tell(worker, { type: 'metrics of all', id: message.id, text });
    });
  };

  readonly #bury = (worker: Worker): void => {
    const last = this.#last.get(worker.id);
    this.#last.delete(worker.id);
    if (last === undefined) return;
    const counted = last.filter(({ type }) => isCounted(type));
    void AggregatorRegistry.aggregate([this.#departed, counted])
      .getMetricsAsJSON()
      .then((sum) => {
        this.#departed = sum;
      });
  };

  async #gather(): Promise<string> {
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
    const answers = await Promise.all(workers.map((worker) => this.#ask(worker)));
    const own = await this.#registry.getMetricsAsJSON();
    const all = [own, this.#departed, ...answers].filter((metrics) => metrics.length > 0);
    return AggregatorRegistry.aggregate(all).metrics();
  }

  /** What a child counts now; while it does not answer, what it had counted last. */
  async #ask(worker: Worker): Promise<MetricObject[]> {
    const id = (asked += 1);
    const metrics = await new Promise<MetricObject[] | undefined>((resolve) => {
      const timer = setTimeout(() => finish(undefined), ANSWER_MS);
      const listen = (message: unknown): void => {
        if (isMessage(message) && message.type === 'metrics' && message.id === id) {
          finish(message.metrics);
        }
      };
      const finish = (found: MetricObject[] | undefined): void => {
        clearTimeout(timer);
        worker.off('message', listen);
        resolve(found);
      };
      worker.on('message', listen);
      if (worker.isConnected()) tell(worker, { type: 'metrics?', id });
      else finish(undefined);
    });
    if (metrics !== undefined && !worker.isDead()) this.#last.set(worker.id, metrics);
    return metrics ?? this.#last.get(worker.id) ?? [];
  }
}

const isCounted = (type: unknown): boolean => type === 'counter' || type === 'histogram';

/** Where a message goes: a child, or from a child the first process. */
interface Channel {
  send?(message: Message, handle: undefined, options: undefined, sent: () => void): boolean;
}

/** A channel that has just closed has nobody at its other end: nothing to report. */
function tell(to: Channel, message: Message): void {
  to.send?.(message, undefined, undefined, () => undefined);
}
