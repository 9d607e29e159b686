import { expect } from 'chai';
import { itHolds, type FieldRow } from './field-rows.ts';
import { keysOf } from './keys.ts';
import { ledgerRows } from './ledger-counts.ts';
import { merchant, type Merchant } from './merchant.ts';
import { runService, type RunningService } from './running-service.ts';
import type { SiteOptions, TestSite } from './site.ts';

/** A service for the tests of the `describe` that calls it, with one Site; whatever a first call leaves behind is there. */
export interface RuleBench {
  service(): RunningService;
  site(): TestSite;
  /** Calls with a key of the Site that still has calls left. */
  caller(): Merchant;
}

/** Sets up a {@link RuleBench}: a service that has answered a bad request already, because a first call must not soften the rules. */
export function ruleBench(options: SiteOptions = {}): RuleBench {
  let service: RunningService | undefined;
  let site: TestSite | undefined;
  let caller: Merchant | undefined;
  const made = <T>(thing: T | undefined): T => {
    if (thing === undefined) throw new Error('ruleBench() is set up before the first test');
    return thing;
  };
  before(async () => {
    service = await runService();
    site = await service.createSite(options);
    caller = merchant(service.url, keysOf(site));
    const other = await service.createSite();
    await merchant(service.url, keysOf(other)).submit({});
  });
  after(() => service?.stop());
  return {
    service: () => made(service),
    site: () => made(site),
    caller: () => made(caller),
  };
}

/** Tests every row, and that the Site's ledger holds the accepted ones and nothing else. */
export function itHoldsOn(bench: RuleBench, rows: readonly FieldRow[]): void {
  itHolds(rows, () => bench.caller());

  it('what was refused has left nothing in the ledger', async () => {
    const accepted = rows.filter(({ refused }) => refused === undefined);
    expect(await ledgerRows(bench.service(), bench.site())).to.equal(accepted.length);
  });
}
