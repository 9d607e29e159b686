import type { ApiDocument } from './document-types.ts';

/** Title, version and the sentences everything else stands under. */
export const INFO: ApiDocument['info'] = {
  title: 'Transaction Risk Ingestion API',
  version: '1.0',
  description:
    'Send payment transaction events from your server, and read back how risky each one is.\n\n' +
    'An event is stored in a durable ledger and queued; its evaluation (score, level, decision, reasons) is read afterwards, by ingestion id or by your own event id. ' +
    'Confirmed outcomes are appended as labels. Nothing that was accepted is ever modified.\n\n' +
    'Each call is bound to the one Site its API key belongs to. A sandbox key uses the same contract, persists nothing and answers with a simulation.',
  contact: { name: 'The operator of this service' },
  license: { name: 'MIT', url: 'https://opensource.org/license/mit' },
};

/** Relative: the address this document was read from. */
export const SERVERS: ApiDocument['servers'] = [
  { url: '/', description: 'The service that publishes this document' },
];

/** Tags of the operations, in reading order. */
export const TAGS: ApiDocument['tags'] = [
  {
    name: 'Transactions',
    description: 'Send events, read their risk, append what they turned out to be.',
  },
  { name: 'Ingestions', description: 'Follow an accepted event by its ingestion id.' },
  { name: 'Usage', description: 'What is used and left of the monthly quota.' },
];

/** Descriptions of the path parameters, by name. */
export const PARAMETER_DESCRIPTIONS: Readonly<Record<string, string>> = {
  ingestionId: 'The ingestion_id of an AcceptedIngestion.',
  sourceEventId:
    'The source_event_id of an accepted event, percent-encoded. Where transaction.tid was sent, the TID.',
};
