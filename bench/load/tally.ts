import { summarise } from '../statistics.ts';
import type { LoadResult } from './protocol.ts';

/** Counts answers of the measured phase; what is answered before it begins is forgotten. */
export class Tally {
  readonly #accepted: number[] = [];
  readonly #refused: number[] = [];
  readonly #late: number[] = [];
  readonly #statuses: Record<string, number> = {};
  #began = 0;
  #cpu = process.cpuUsage();

  /** Starts the measured phase. */
  begin(): void {
    this.#began = performance.now();
    this.#cpu = process.cpuUsage();
  }

  /** One answer: its status (0 for a broken connection) and what it took, ms. */
  record(status: number, milliseconds: number): void {
    if (this.#began === 0) return;
    this.#statuses[status] = (this.#statuses[status] ?? 0) + 1;
    if (status === 200 || status === 202) this.#accepted.push(milliseconds);
    else if (status === 503) this.#refused.push(milliseconds);
  }

  /** A request was sent that much after it was due though a lane was free, ms: the load's own fault. */
  sentLate(milliseconds: number): void {
    if (this.#began !== 0) this.#late.push(milliseconds);
  }

  /** Ends the measured phase. */
  end(): Omit<LoadResult, 'next' | 'unsent' | 'withoutRetryAfter'> {
    const seconds = (performance.now() - this.#began) / 1000;
    const { user, system } = process.cpuUsage(this.#cpu);
    this.#began = 0;
    return {
      seconds,
      accepted: this.#accepted.length,
      perSecond: this.#accepted.length / seconds,
      latencies: summarise(this.#accepted),
      refusalLatencies: summarise(this.#refused),
      sentLate: summarise(this.#late),
      statuses: this.#statuses,
      cpuShare: (user + system) / 1e6 / seconds,
    };
  }
}
