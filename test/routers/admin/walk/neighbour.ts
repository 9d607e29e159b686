import type { TestDatabase } from '../../../support/database.ts';

/**
 * Everything that is stored of one Site, as one text per table: equal before and after means that nothing of it was
 * touched. Tables are found by their columns, so one added tomorrow is watched as well.
 */
export async function everythingOf(
  database: TestDatabase,
  code: string,
): Promise<Record<string, unknown>> {
  const tables = await database.query<{ name: string }>(
    `select c.table_name as name from information_schema.columns c
     join pg_class on relname = c.table_name and relnamespace = 'public'::regnamespace and not relispartition
     where c.table_schema = 'public' and c.column_name = 'site_id' order by 1`,
  );
  const digest = (name: string, where: string): string =>
    `select '${name}' as name, count(*)::int as rows, md5(string_agg(t::text, '|' order by t::text)) as content
     from ${name} t where ${where}`;
  const site = '(select id from site where code = $1)';
  const rows = await database.query<{ name: string; rows: number; content: string | null }>(
    [
      ...tables.map(({ name }) => digest(name, `site_id = ${site}`)),
      digest('site', `id = ${site}`),
      digest(
        'credential_key',
        `credential_id in (select id from credential where site_id = ${site})`,
      ),
    ].join(' union all '),
    [code],
  );
  return Object.fromEntries(rows.map(({ name, ...rest }) => [name, rest]));
}
