import type { TestDatabase } from './database.ts';

/** Where a value was found. */
export interface Trace {
  /** `ingestion_payload`, `pgboss.job`, `log`, … */
  readonly place: string;
  readonly excerpt: string;
}

/**
 * The text of every row of every table, pg-boss's included, as `schema.table` (without `public.`) and text. Bytes that are
 * UTF-8 are shown as such beside their hexadecimal form.
 */
export async function everyRow(database: TestDatabase): Promise<Map<string, string>> {
  const tables = await database.query<{ place: string; name: string }>(
    `select format('%I.%I', n.nspname, c.relname) as name,
            case n.nspname when 'public' then '' else n.nspname || '.' end || c.relname as place
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p', 'm') and not c.relispartition
       and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname not like 'pg_toast%'`,
  );
  const rows = new Map<string, string>();
  for (const { place, name } of tables) {
    const [all] = await database.query<{ text: string | null }>(
      `select string_agg(held::text, E'\\n') as text from ${name} as held`,
    );
    const text = all?.text ?? '';
    const bytes = text.matchAll(/\\x([0-9a-f]{8,})/g);
    rows.set(
      place,
      text + Array.from(bytes, ([, hex]) => Buffer.from(hex ?? '', 'hex').toString()).join('\n'),
    );
  }
  return rows;
}

/** Looks for marks in texts: as they are, and with what people put between digits taken out and wide digits narrowed. */
export function findTraces(texts: ReadonlyMap<string, string>, marks: readonly string[]): Trace[] {
  const traces: Trace[] = [];
  for (const [place, text] of texts) {
    const folded = fold(text);
    for (const mark of marks) {
      for (const [kind, haystack] of [
        ['', text],
        [' (folded)', folded],
      ] as const) {
        const at = haystack.indexOf(mark);
        if (at === -1) continue;
        const excerpt = haystack.slice(Math.max(0, at - 60), at + mark.length + 20);
        traces.push({ place: place + kind, excerpt });
        break;
      }
    }
  }
  return traces;
}

function fold(text: string): string {
  return text
    .replaceAll(/[！-～]/g, (wide) => String.fromCharCode(wide.charCodeAt(0) - 0xfee0))
    .replaceAll(/(?<=\d)[ \u00a0\u2009-\u2014.-](?=\d)/g, '');
}
