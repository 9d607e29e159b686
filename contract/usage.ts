import { z } from 'zod';

/** Quota of one credential in one UTC month; counts are first acceptances, remaining never falls below 0. */
export const ProductionQuota = z
  .strictObject({
    period: z
      .string()
      .regex(/^[0-9]{4}-[0-9]{2}$/, { error: 'must be a month such as 2026-03' })
      .meta({ description: 'UTC month.', example: '2026-03' }),
    limit: z.int().min(0),
    accepted: z.int().min(0),
    remaining: z.int().min(0),
  })
  .meta({ id: 'ProductionQuota' });
/** Quota of one credential in one UTC month. */
export type ProductionQuota = z.infer<typeof ProductionQuota>;

/** Usage answered to a sandbox credential; quota is always null, since the sandbox consumes none. */
export const SandboxUsage = z
  .strictObject({
    environment: z.literal('sandbox'),
    persistence: z.literal('NONE'),
    quota: z.looseObject({}).nullable(),
  })
  .meta({
    id: 'SandboxUsage',
    example: { environment: 'sandbox', persistence: 'NONE', quota: null },
  });
/** Usage answered to a sandbox credential. */
export type SandboxUsage = z.infer<typeof SandboxUsage>;

/** Usage answered to a production credential. */
export const ProductionUsage = z
  .strictObject({ environment: z.literal('production'), quota: ProductionQuota })
  .meta({ id: 'ProductionUsage' });
/** Usage answered to a production credential. */
export type ProductionUsage = z.infer<typeof ProductionUsage>;

/** 200 body of GET /v1/usage: exactly one of two shapes (contract, section 2.11). */
export const ApiUsageSummary = z
  .discriminatedUnion('environment', [SandboxUsage, ProductionUsage])
  .meta({ id: 'ApiUsageSummary' });
/** 200 body of GET /v1/usage. */
export type ApiUsageSummary = z.infer<typeof ApiUsageSummary>;
