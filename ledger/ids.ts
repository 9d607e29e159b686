import { run, type Db } from './database.ts';

/** Ids taken from the sequence at once; a restart wastes what is left of a block, of 2^63. */
const BLOCK = 1_000n;

/** Hands out 64-bit ingestion ids, unique over all processes and nearly ascending. */
export interface IdSource {
  /** Takes `count` ids; asks the database once per thousand. @throws what the database throws */
  take(db: Db, count: number): Promise<bigint[]>;
}

/** Builds an id source. Ids are known before the first statement of a group, because idempotency keys name them. */
export function createIdSource(): IdSource {
  let next = 0n;
  let end = 0n;
  return {
    async take(db, count) {
      const ids: bigint[] = [];
      while (ids.length < count) {
        if (next === end) {
          const { rows } = await run<{ block: string }>(
            db,
            `select nextval('ingestion_id_block')::text as block`,
          );
          next = BigInt(rows[0]?.block ?? '0') * BLOCK;
          end = next + BLOCK;
        }
        ids.push(next);
        next += 1n;
      }
      return ids;
    },
  };
}

/**
 * The id of an ingestion's evaluation job: a UUIDv8 (RFC 9562) that holds all 64 bits of the ingestion id, so that
 * the status of an ingestion needs no mapping table. Ascending ids give ascending UUIDs.
 */
export function evaluationJobId(ingestionId: bigint): string {
  const hex = ingestionId.toString(16).padStart(16, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(12, 15)}-8${hex.slice(15)}00-000000000000`;
}
