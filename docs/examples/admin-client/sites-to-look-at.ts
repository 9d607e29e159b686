import { createAdminClient, type AdminAddress, type OutputOf } from './admin-client.ts';

type Site = OutputOf<'sites.list'>['items'][number];

/** One Site that takes no production traffic, and why. */
export interface SiteToLookAt {
  readonly code: string;
  readonly why: string;
}

/** Every Site that is not active, over all pages: what a dashboard shows in the morning. */
export async function sitesToLookAt(address: AdminAddress): Promise<SiteToLookAt[]> {
  const call = createAdminClient(address);
  const found: SiteToLookAt[] = [];
  let cursor: string | null = null;
  do {
    const page: OutputOf<'sites.list'> = await call('sites.list', {
      limit: 100,
      ...(cursor === null ? {} : { cursor }),
    });
    for (const site of page.items) {
      if (site.state !== 'ACTIVE') found.push({ code: site.code, why: reasonOf(site) });
    }
    cursor = page.next_cursor;
  } while (cursor !== null);
  return found;
}

/** The compiler knows every state: one that is added to the service is missing here at once. */
function reasonOf(site: Site): string {
  switch (site.state) {
    case 'CREATED':
      return 'waits for its approval';
    case 'APPROVED_WITHOUT_CONTRACT':
      return 'has no contract in force';
    case 'GATE_FAILED':
      return 'has a gate that failed';
    case 'SUSPENDED':
      return `suspended: ${site.suspended_reason ?? 'no reason given'}`;
    case 'ACTIVE':
      return 'active';
  }
  return site.state satisfies never;
}
