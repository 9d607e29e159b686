/**
 * The statements that guard a new table against UPDATE, DELETE and TRUNCATE for every role. The functions are made by
 * migration 0002; partitions need the TRUNCATE guard each (`ledger/partitions.ts`), because they do not inherit it.
 */
export const appendOnly = (table: string): string[] => [
  `create trigger ${table}_append_only before update or delete on ${table}
    for each row execute function refuse_change()`,
  `create trigger ${table}_no_truncate before truncate on ${table}
    for each statement execute function refuse_change()`,
];
