import { run, type Db } from './database.ts';

/** Ids taken from the sequence at once; a restart wastes what is left of a block, of 2^63. */
const BLOCK = 1_000n;

/** Hands out 64-bit ingestion ids, unique over all processes and nearly ascending. */
export interface IdSource {
  /** Takes `count` ids; asks the database once per thousand. @throws what the database throws */
  take(db: Db, count: number): Promise<bigint[]>;
}

/** Ids left when the next block is asked for, so that no group waits for it. */
const ASK_AT = 512n;

/** Builds an id source. Ids are known before the first statement of a group, because idempotency keys name them. */
export function createIdSource(): IdSource {
  let next = 0n;
  let end = 0n;
  let asked: Promise<bigint> | undefined;
  const ask = (db: Db): Promise<bigint> => {
    const block = nextBlock(db);
    // Whoever needs it sees the failure; the next one asks again.
    block.catch(() => {
      asked = undefined;
    });
    return block;
  };
  return {
    async take(db, count) {
      const ids: bigint[] = [];
      while (ids.length < count) {
        if (end - next < ASK_AT) asked ??= ask(db);
        if (next === end) {
          const block = asked;
          const first = await block;
          // Of several that waited for the same block one begins it; the others find it begun.
          if (first === undefined || asked !== block) continue;
          asked = undefined;
          next = first;
          end = next + BLOCK;
        }
        ids.push(next);
        next += 1n;
      }
      return ids;
    },
  };
}

async function nextBlock(db: Db): Promise<bigint> {
  const { rows } = await run<{ block: string }>(
    db,
    `select nextval('ingestion_id_block')::text as block`,
  );
  return BigInt(rows[0]?.block ?? '0') * BLOCK;
}

/**
 * The id of an ingestion's evaluation job: a UUIDv8 (RFC 9562) that holds all 64 bits of the ingestion id, so that
 * the status of an ingestion needs no mapping table. Ascending ids give ascending UUIDs.
 */
export function evaluationJobId(ingestionId: bigint): string {
  const hex = ingestionId.toString(16).padStart(16, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(12, 15)}-8${hex.slice(15)}00-000000000000`;
}
