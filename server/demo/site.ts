import { z } from 'zod';
import { type AdminApi, AdminRefusal } from './admin.ts';
import { DemoError } from './demo-error.ts';
import { DAY } from './day.ts';
import { inOrder } from './in-order.ts';
import type { IssuedCredential } from './keyring.ts';

/** The Site of the demo, and the label of its credentials. */
export const SITE = 'demo';

const Site = z.object({
  customer_type: z.string(),
  state: z.string(),
  gates: z.object({ QUALITY: z.string().nullable(), SECURITY: z.string().nullable() }),
  contract: z.object({ capacity_limit: z.number() }).nullable(),
});
type Site = z.infer<typeof Site>;

const Issued = z.object({ credential_id: z.string(), api_key: z.string() });

const Credentials = z.object({
  items: z.array(
    z.object({ credential_id: z.string(), label: z.string(), revoked_at: z.string().nullable() }),
  ),
  next_cursor: z.string().nullable(),
});

/** Administrative calls at once. */
const AT_ONCE = 6;

/** New events each credential may send in a month. */
const CAPACITY = 100_000;

/**
 * Makes the demo Site and activates it; what is there already is left as it is, so calling twice is safe.
 *
 * @throws DemoError when there is a Site of that code that cannot be used
 */
export async function activateSite(admin: AdminApi): Promise<void> {
  const site = (await findSite(admin)) ?? (await createSite(admin));
  if (site.customer_type !== 'MULTI_MERCHANT') {
    throw new DemoError(
      `The Site ${SITE} is not the demo's: it is ${site.customer_type}; the demo needs an installation of its own (set another DATA_DIR or DATABASE_URL).`,
    );
  }
  if (site.state === 'SUSPENDED') {
    throw new DemoError(`The Site ${SITE} is suspended; resume it, then run the demo again.`);
  }
  const about = { site_code: SITE };
  if (site.contract === null) {
    // A minute back, so that it is in force on a service whose clock is a little behind.
    const from = Date.now() - 60_000;
    await admin.mutate(
      'contracts.create',
      {
        ...about,
        capacity_limit: CAPACITY,
        starts_at: new Date(from).toISOString(),
        ends_at: new Date(from + 365 * DAY).toISOString(),
      },
      z.unknown(),
    );
  }
  if (site.state !== 'CREATED') return;
  for (const gate of ['QUALITY', 'SECURITY'] as const) {
    if (site.gates[gate] === 'PASSED') continue;
    const evidence = 'Recorded by npm run demo: a Site with invented traffic only.';
    await admin.mutate('gates.record', { ...about, gate, result: 'PASSED', evidence }, z.unknown());
  }
  await admin.mutate('sites.approve', about, z.unknown());
}

async function findSite(admin: AdminApi): Promise<Site | undefined> {
  try {
    return await admin.query('sites.get', { site_code: SITE }, Site);
  } catch (error: unknown) {
    if (error instanceof AdminRefusal && error.code === 'NOT_FOUND') return undefined;
    throw error;
  }
}

const createSite = (admin: AdminApi): Promise<Site> =>
  admin.mutate(
    'sites.create',
    { code: SITE, name: 'Demo: a day of payments', customer_type: 'MULTI_MERCHANT' },
    Site,
  );

/** Ends the credentials of earlier demos: nobody knows their keys any more. */
export async function revokeEarlier(admin: AdminApi): Promise<number> {
  const earlier: string[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await admin.query(
      'credentials.list',
      { site_code: SITE, limit: 500, ...(cursor === undefined ? {} : { cursor }) },
      Credentials,
    );
    for (const each of page.items) {
      if (each.label === SITE && each.revoked_at === null) earlier.push(each.credential_id);
    }
    if (page.next_cursor === null) break;
    cursor = page.next_cursor;
  }
  await inOrder(earlier, AT_ONCE, async (id) => {
    try {
      await admin.mutate('credentials.revoke', { credential_id: id }, z.unknown());
    } catch (error: unknown) {
      // Somebody else has revoked it in the meantime.
      if (!(error instanceof AdminRefusal) || error.code !== 'CONFLICT') throw error;
    }
  });
  return earlier.length;
}

/** Issues credentials for the demo Site, all in one environment. */
export function issueCredentials(
  admin: AdminApi,
  environment: 'production' | 'sandbox',
  count: number,
): Promise<IssuedCredential[]> {
  return inOrder(Array.from({ length: count }), AT_ONCE, async () => {
    const issued = await admin.mutate(
      'credentials.issue',
      { site_code: SITE, environment, label: SITE },
      Issued,
    );
    return { credentialId: issued.credential_id, apiKey: issued.api_key };
  });
}
