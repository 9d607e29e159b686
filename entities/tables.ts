/** Tables whose rows are never changed: guarded by triggers, and by privileges where the application has its own role. */
export const APPEND_ONLY_TABLES = [
  'ingestion',
  'ingestion_payload',
  'idempotency_key',
  'outcome_label',
  'evaluation',
  'evaluation_features',
  'evaluation_attempt',
  'entity_label',
  'dead_letter',
  'dead_letter_resolution',
  'gate_record',
  'audit_entry',
  'operator_event',
  'webhook_event',
  'webhook_attempt',
  'model',
  'model_release',
  'model_shadow_score',
  'rule_set',
  'rule_release',
  'rule_shadow_difference',
] as const;

/** Tables that the application changes in place. */
export const MUTABLE_TABLES = [
  'site',
  'contract',
  'credential',
  'credential_key',
  'auth_version',
  'usage_counter',
  'entity_state',
  'evaluation_turn',
  'sweep_watermark',
  'rate_window',
  'operator',
  'failed_login',
  'webhook_endpoint',
  'webhook_secret',
  'webhook_endpoint_health',
  'webhook_delivery',
  'task',
  'open_dead_letter',
  'credential_key_use',
  'report_hour',
  'report_score_day',
  'report_rule_day',
  'report_progress',
  'report_backlog',
  'service_hour',
  'entity_label_day',
  'model_settings',
  'list_entry',
  'rule_shadow_hour',
  'rule_block_hour',
  'evaluation_worker',
  'history_import',
  'history_import_line',
  'history_import_problem',
] as const;

/**
 * Bulk tables cut into daily partitions, so that expired days are dropped instead of deleted; `keptFor` says which
 * setting counts the days.
 */
export const PARTITIONED_TABLES = [
  { table: 'ingestion_payload', column: 'received_at', keptFor: 'payloads' },
  { table: 'evaluation_features', column: 'evaluated_at', keptFor: 'payloads' },
  { table: 'webhook_event', column: 'created_at', keptFor: 'webhooks' },
  { table: 'webhook_delivery', column: 'created_at', keptFor: 'webhooks' },
  { table: 'webhook_attempt', column: 'attempted_at', keptFor: 'webhooks' },
  { table: 'model_shadow_score', column: 'evaluated_at', keptFor: 'payloads' },
  { table: 'rule_shadow_difference', column: 'evaluated_at', keptFor: 'payloads' },
] as const;

/**
 * Columns that nothing is looked up by and whose values are long: the planner keeps no samples of them. Reading, sorting and
 * compressing those was most of what keeping statistics costs, and samples would outlive the rows they were taken from.
 */
export const UNSAMPLED_COLUMNS = [
  { table: 'ingestion_payload', column: 'body' },
  { table: 'evaluation', column: 'reasons' },
  { table: 'evaluation', column: 'rule_scores' },
  { table: 'evaluation_features', column: 'features' },
  { table: 'entity_state', column: 'state' },
  { table: 'webhook_event', column: 'body' },
  { table: 'webhook_attempt', column: 'answer' },
  { table: 'history_import_line', column: 'body' },
] as const;
