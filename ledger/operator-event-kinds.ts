/** Every kind of event that operators are told of, and what it means; the documentation shows the same list. */
export const OPERATOR_EVENT_KINDS = {
  site_suspended: 'An operator ended the production traffic of a Site.',
  site_resumed: 'An administrator let it begin again.',
  gate_failed:
    'A gate of an approved Site was recorded as FAILED: its production keys stopped working.',
  failed_logins: 'An address failed to log in 120 times or more within a minute.',
  ledger_rows_requeued:
    'The sweeper found accepted events without evaluation, job or dead letter, and queued them again.',
  task_failed: 'Long work ended with an error; tasks.status has it.',
  webhook_endpoint_activated: 'An endpoint answered its challenge and gets deliveries.',
  webhook_endpoint_disabled: 'An endpoint was turned off because of how it answers.',
  model_learned: 'A training made a new model.',
  model_not_learned: 'A training made none, because labels are too few.',
  model_unusable: 'A stored model cannot be read; the rules judge alone.',
} as const;

/** A kind of event. */
export type OperatorEventKind = keyof typeof OPERATOR_EVENT_KINDS;
