import type { Db } from '../ledger/database.ts';
import { readListChanges } from '../ledger/lists.ts';
import { ALL_SITES } from '../ledger/rule-sets.ts';
import { LISTS, SINGLE_KINDS, type EntityRef, type Listing, type ListName } from '../risk/index.ts';

/** When each list that an entity is on lets it go, ms since 1970 UTC. */
type Entry = Partial<Record<ListName, number>>;

/** The lists of one scope, as far as they were followed. */
interface Followed {
  version: bigint;
  /** The global version up to which nothing was missed. */
  checked: bigint;
  readonly entries: Map<string, Entry>;
}

/** The lists that count for one Site. */
export interface SiteLists {
  /** Names their state in results. */
  readonly version: string;
  /** The lists that entities of an event are on at an instant, ms since 1970 UTC. */
  listed(entities: readonly EntityRef[], now: number): readonly Listing[];
}

const KINDS: ReadonlySet<string> = new Set(SINGLE_KINDS);

/** Follows the lists of the Sites that are asked for: read whole once, then change by change. */
export class ListSource {
  readonly #scopes = new Map<bigint, Followed>();

  /** Whether lists have to be read before they are what they were at a version. */
  isBehind(siteId: bigint, version: bigint): boolean {
    return [ALL_SITES, siteId].some((scope) => (this.#scopes.get(scope)?.checked ?? -1n) < version);
  }

  /** Brings the lists of a Site, and those of all Sites, up to a version. */
  async follow(db: Db, siteId: bigint, version: bigint): Promise<void> {
    for (const scope of [ALL_SITES, siteId]) {
      const known = this.#scopes.get(scope) ?? { version: 0n, checked: -1n, entries: new Map() };
      if (known.checked >= version) continue;
      for (const change of await readListChanges(db, scope, known.version)) {
        const name = `${change.kind}/${change.key}`;
        known.entries.set(name, { ...known.entries.get(name), [change.list]: change.until });
        known.version = change.version;
      }
      known.checked = version;
      this.#scopes.set(scope, known);
    }
  }

  /** The lists of a Site as they were followed; undefined where there are none. */
  of(siteId: bigint): SiteLists | undefined {
    const scopes = [ALL_SITES, siteId].flatMap((scope) => {
      const followed = this.#scopes.get(scope);
      return followed === undefined || followed.entries.size === 0 ? [] : [followed];
    });
    if (scopes.length === 0) return undefined;
    const version = scopes.reduce((most, each) => (each.version > most ? each.version : most), 0n);
    return { version: String(version), listed: (entities, now) => find(scopes, entities, now) };
  }
}

function find(
  scopes: readonly Followed[],
  entities: readonly EntityRef[],
  now: number,
): readonly Listing[] {
  const found: Listing[] = [];
  for (const { kind, key } of entities) {
    if (!KINDS.has(kind)) continue;
    const name = `${kind}/${key}`;
    for (const list of LISTS) {
      if (scopes.some(({ entries }) => (entries.get(name)?.[list] ?? -Infinity) > now)) {
        found.push({ list, kind: kind as Listing['kind'] });
      }
    }
  }
  return found;
}
