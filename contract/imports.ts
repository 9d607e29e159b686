/** The kind of task that brings uploaded history into the ledger. */
export const IMPORT = 'imports.run';
