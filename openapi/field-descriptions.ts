/**
 * What fields mean, where their schema does not say so itself. Names without a schema apply to every schema; building the
 * document fails for an entry that describes nothing, or something that its schema describes already.
 */
export const FIELD_DESCRIPTIONS: Readonly<Record<string, string>> = {
  source_event_id: 'Your event id, or the TID where one was sent.',
  ingestion_id: 'Id of the ledger entry; use it to follow the evaluation.',
  evaluation_status: 'Progress of the evaluation.',
  risk: 'The result; null until evaluation_status is SUCCEEDED.',

  'TransactionEvent.schema_version': 'Version of the contract.',
  'TransactionEvent.occurred_at': 'When it happened, with an offset.',
  'TransactionEvent.sent_at':
    'When you sent it. Part of the payload: a repeated call sends the same value.',
  'TransactionEvent.source_system': 'Your name for the system that sends this event.',
  'TransactionEvent.event_type': 'What happened to the payment.',
  'TransactionEvent.correlation_id': 'Your own id to find related events by.',
  'TransactionEvent.profile_version':
    'Version of the profile in a PROFILE_UPSERT; an older one changes nothing.',
  'TransactionEvent.transaction': 'The payment itself.',
  'TransactionEvent.payment_method':
    'What was paid with. The evaluation also reads bin, last4 and issuer_country here.',
  'TransactionEvent.order': 'Any JSON object. The evaluation reads shipping_country.',
  'TransactionEvent.customer':
    'Any JSON object. The evaluation reads customer_id and account_age_days.',
  'TransactionEvent.device': 'Any JSON object. The evaluation reads device_id.',
  'TransactionEvent.session': 'Any JSON object.',
  'TransactionEvent.network':
    'Any JSON object. The evaluation reads ip_prefix (at most /24 or /64, never an address) and country.',
  'TransactionEvent.velocity': 'Any JSON object.',

  'CanonicalTransaction.type': 'What kind of transaction this is.',
  'CanonicalTransaction.status': 'State of the payment after the event.',
  'CanonicalTransaction.occurred_at':
    'When the payment took place; the evaluation goes by this time.',
  'CanonicalTransaction.currency': 'ISO 4217 code.',
  'CanonicalTransaction.channel': 'Where the payment was made.',
  'CanonicalTransaction.response_code': "The acquirer's or issuer's response.",
  'CanonicalTransaction.reason_code': 'Why it was declined, canceled or reversed.',
  'CanonicalTransaction.is_cross_border': 'Whether the payment crosses a border.',
  'CanonicalTransaction.requested_at': 'When the payment was requested, with an offset.',
  'CanonicalTransaction.business_type': "The merchant's line of business.",

  'PaymentMethodContext.type': 'Kind of payment method, such as CARD.',

  'AcceptedIngestion.status': 'The event is accepted.',
  'AcceptedIngestion.received_at': 'When the service received the first acceptance, UTC.',
  'AcceptedIngestion.schema_version': 'Version of the contract.',
  'AcceptedIngestion.processing_state':
    'QUEUED: stored and queued, in one commit. VALIDATED is reserved.',

  'SandboxSimulation.environment': 'Which kind of key was used.',
  'SandboxSimulation.status': 'This is no real evaluation.',
  'SandboxSimulation.accepted': 'The event satisfies the contract.',
  'SandboxSimulation.persistence': 'What was stored: nothing.',
  'SandboxSimulation.risk_score': 'Higher is riskier.',
  'SandboxSimulation.decision': 'What the evaluation would advise; the sandbox knows no hold.',
  'SandboxSimulation.reasons': 'Most important first.',

  'IngestionStatus.received_at': 'When the service received the event, UTC.',

  'Risk.score': 'Higher is riskier.',
  'Risk.level': 'Band of the score: low from 0, medium from 30, high from 60, critical from 85.',
  'Risk.decision': 'What the service advises, following the level; you decide.',
  'Risk.evaluator_version': 'Code, rule set and model that gave this result.',
  'Risk.evaluated_at': 'When it was evaluated, UTC.',

  'OutcomeLabelRequest.outcome_label': 'What the payment turned out to be.',
  'OutcomeLabelAccepted.outcome_label': 'The label as sent.',
  'OutcomeLabelAccepted.status': 'The label is accepted.',

  'SandboxUsage.environment': 'Which kind of key was used.',
  'SandboxUsage.persistence': 'What is stored: nothing.',
  'SandboxUsage.quota': 'Always null today: the sandbox consumes no quota.',
  'ProductionUsage.environment': 'Which kind of key was used.',
  'ProductionUsage.quota': 'Quota of the calling credential.',
  'ProductionQuota.limit': 'Acceptances that the active contract allows in the month.',
  'ProductionQuota.accepted': 'Events accepted for the first time; repeated calls do not count.',
  'ProductionQuota.remaining': 'What is left, never below 0.',

  event_type: 'What happened.',
  data: 'What it is about.',
  'TransactionEvaluatedWebhook.data.risk': 'The result, as GET .../risk answers it.',
  'TransactionEvaluationFailedWebhook.data.evaluation_status':
    'Automatic retries have stopped; if an operator starts them again, transaction.evaluated follows.',
  'OutcomeRecordedWebhook.data.outcome_label': 'The label that was appended.',

  'ErrorResponse.error': 'What was refused and why.',
  'ErrorResponse.error.code': 'Stable code to branch on.',
  'ErrorResponse.error.message': 'A sentence for people; do not branch on it.',
};

/** Descriptions of the schemas themselves, where they bring none. */
export const SCHEMA_DESCRIPTIONS: Readonly<Record<string, string>> = {
  CanonicalTransaction: 'The payment of an event, in canonical form.',
  PaymentMethodContext: 'What was paid with. Further properties are allowed.',
  AcceptedIngestion: 'The event is stored durably and queued.',
  SandboxSimulation: 'A simulated evaluation; nothing was persisted.',
  IngestionStatus: 'Where one ingestion stands.',
  TransactionRiskStatus: 'Where the evaluation of one transaction stands.',
  Risk: 'Result of one evaluation. Holds nothing of what was sent.',
  OutcomeLabelRequest: 'A confirmed outcome.',
  OutcomeLabelAccepted: 'The outcome is in the ledger.',
  ApiUsageSummary: 'Usage of the calling credential in this UTC month.',
  SandboxUsage: 'Usage, with a sandbox key.',
  ProductionUsage: 'Usage, with a production key.',
  ProductionQuota: 'Quota of one credential in one UTC month.',
  ErrorResponse: 'Body of every refusal.',
  WebhookChallenge:
    'Sent when an endpoint is activated; a 2xx answer within 10 seconds activates it.',
  TransactionEvaluatedWebhook: 'An event was evaluated.',
  TransactionEvaluationFailedWebhook: 'Automatic retries of an evaluation have stopped.',
  OutcomeRecordedWebhook: 'An outcome label was appended; repeating a label causes none.',
};
