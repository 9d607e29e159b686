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
  webhook_challenge_failed:
    'An endpoint did not answer its challenge in any attempt: it stays PENDING until webhooks.activate.',
  webhook_endpoint_disabled: 'An endpoint was turned off because of how it answers.',
  model_learned: 'A training made a new model.',
  model_not_learned: 'A training made none, because labels are too few.',
  model_unusable: 'A stored model cannot be read; the rules judge alone.',
  rules_published: 'A version of the rules judges live traffic.',
  rules_rolled_back: 'The version of the rules before judges live traffic again.',
  rules_unusable:
    'Published rules read something that this version of the service does not have; they answer ERROR, the others count.',
  rule_capped:
    'A rule has blocked its share of the traffic of an hour; what it alone would block is reviewed.',
} as const;

/** A kind of event. */
export type OperatorEventKind = keyof typeof OPERATOR_EVENT_KINDS;
