import { run, type Db } from '../database.ts';

const HOUR_MS = 3_600_000;

/** Sums held in memory at most; past it only those of the whole service go on, until they can be written. */
const LIMIT = 50_000;

/** Stands for the whole service. */
const WHOLE_SERVICE = 0n;

/**
 * Counts how operations end, by Site and hour, in memory; `flush` adds it to `service_hour`. What a killed process had
 * not written yet is lost: half a minute, numerator and denominator alike. Nothing here is on a request's way but one
 * look into a map.
 */
export class HourlyTally {
  #sums = new Map<string, number>();

  /**
   * @param siteId     undefined where no Site is known; every count also goes to the whole service
   * @param operation  a name from our own code, never one that was sent
   */
  add(siteId: bigint | undefined, at: number, operation: string, outcome: string, count = 1): void {
    const what = `${Math.floor(at / HOUR_MS)} ${operation} ${outcome}`;
    this.#raise(`${WHOLE_SERVICE} ${what}`, count);
    if (siteId !== undefined && this.#sums.size < LIMIT) this.#raise(`${siteId} ${what}`, count);
  }

  #raise(key: string, count: number): void {
    this.#sums.set(key, (this.#sums.get(key) ?? 0) + count);
  }

  /** Adds what was counted since the last time, in one statement. @throws what the database throws; nothing is lost then */
  async flush(db: Db): Promise<void> {
    if (this.#sums.size === 0) return;
    const sums = this.#sums;
    this.#sums = new Map();
    const rows = [...sums].map(([key, count]) => {
      const [siteId = '', hour, operation = '', ...outcome] = key.split(' ');
      const at = new Date(Number(hour) * HOUR_MS).toISOString();
      return { siteId, at, operation, outcome: outcome.join(' '), count };
    });
    try {
      await run(
        db,
        `insert into service_hour as total (site_id, hour, operation, outcome, count)
         select site_id, hour, operation, outcome, count
         from unnest($1::bigint[], $2::timestamptz[], $3::text[], $4::text[], $5::bigint[])
           as counted (site_id, hour, operation, outcome, count)
         order by 1, 2, 3, 4
         on conflict (site_id, hour, operation, outcome) do update set count = total.count + excluded.count`,
        [
          rows.map((row) => row.siteId),
          rows.map((row) => row.at),
          rows.map((row) => row.operation),
          rows.map((row) => row.outcome),
          rows.map((row) => row.count),
        ],
      );
    } catch (error: unknown) {
      for (const [key, count] of sums) this.#raise(key, count);
      throw error;
    }
  }
}
