import { z } from 'zod';
import { ApiUsageSummary } from '../../contract/usage.ts';
import { utcMonth } from '../../ledger/ingest-statements.ts';
import { readUsage } from '../../ledger/usage.ts';
import { publicProcedure } from '../procedure.ts';

/** GET /v1/usage: this UTC month of the caller's credential. Every credential may read its own usage. */
export const getApiUsage = publicProcedure(null)
  .meta({
    openapi: {
      method: 'GET',
      path: '/v1/usage',
      operationId: 'getApiUsage',
      summary: 'Read the usage of this month',
      tags: ['Usage'],
    },
  })
  .input(z.strictObject({}))
  .output(ApiUsageSummary)
  .query(async ({ ctx }): Promise<ApiUsageSummary> => {
    const { caller, services } = ctx;
    if (caller.environment === 'sandbox') {
      return { environment: 'sandbox', persistence: 'NONE', quota: null };
    }
    const now = services.clock.now();
    const period = utcMonth(now);
    const { limit, accepted } = await readUsage(
      services.orm.em.fork().getKysely(),
      { siteId: caller.siteId, credentialId: caller.credentialId, month: period },
      now,
    );
    return {
      environment: 'production',
      quota: { period, limit, accepted, remaining: Math.max(0, limit - accepted) },
    };
  });
