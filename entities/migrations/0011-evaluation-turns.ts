import { Migration } from '@mikro-orm/migrations';

/**
 * What an evaluation batch costs the database: states are found by a narrow key and compressed quickly, and which
 * worker changed a Site's states last is known, so that it need not read again what it wrote.
 * docs/decisions/0008-evaluation-worker.md argues the choices.
 */
export class Migration0011EvaluationTurns extends Migration {
  override name = '0011-evaluation-turns';

  override up(): void {
    for (const statement of STATEMENTS) this.addSql(statement);
  }
}

const STATEMENTS = [
  // Whose turn it is with the states of a Site. Locked over many Sites at once, so it stays a plain table on Citus.
  `create table evaluation_turn (
    site_id bigint primary key,
    holder uuid not null
  ) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.2)`,
  // The key is a hash over the kind, too: as a third column of the index it only made every probe dearer.
  `alter table entity_state drop constraint entity_state_pkey`,
  `alter table entity_state add constraint entity_state_pkey primary key (site_id, entity_key)`,
  // The largest states are rewritten in every batch; the default compression is several times slower. Not every build
  // of PostgreSQL has the faster one.
  `do $$ begin
    alter table entity_state alter column state set compression lz4;
  exception when feature_not_supported then null;
  end $$`,
];
