import type Koa from 'koa';
import { unavailable } from '../ledger/ingest-queue.ts';

/** Whether this process can serve: its parts are started and the database answers. */
export interface Readiness {
  /** True from the moment migrations are current and the parts are started. */
  readonly started: boolean;
  /** Asks the database as well. */
  check(): Promise<boolean>;
}

/** Answers 503 under a path until the process has started: the database may be down when we are not. */
export function requireReady(readiness: Readiness, prefix: string): Koa.Middleware {
  return (ctx, next) => {
    if (!readiness.started && ctx.path.startsWith(prefix)) throw unavailable();
    return next();
  };
}
