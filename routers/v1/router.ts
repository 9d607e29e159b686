import { router } from '../procedure.ts';
import { appendTransactionOutcome } from './append-outcome.ts';
import { getIngestion } from './get-ingestion.ts';
import { getTransactionRisk } from './get-transaction-risk.ts';
import { getApiUsage } from './get-usage.ts';
import { submitTransaction } from './submit-transaction.ts';

/** The public interface, version 1: what openapi/ puts on the REST paths. Not mounted as tRPC over HTTP. */
export const v1Router = router({
  submitTransaction,
  getIngestion,
  getTransactionRisk,
  appendTransactionOutcome,
  getApiUsage,
});
