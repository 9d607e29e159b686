/** Loaded before the service that is compared with without-limit.ts, so that both start alike. Changes nothing. */
import '../../ledger/ingest-queue.ts';
import '../../server/rate-limiter.ts';
