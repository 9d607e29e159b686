import { expect } from 'chai';
import { createOrm } from '../../entities/orm.ts';
import { networkOf } from '../../server/address-limiter.ts';
import { FailedLogins, OTHER_ADDRESSES } from '../../server/failed-logins.ts';
import { startAdminService, NOON, type AdminService } from '../routers/admin/admin-service.ts';
import { ADMIN_TOKEN, runService } from '../support/running-service.ts';

const MINUTE_MS = 60_000;

describe('failed logins of the admin side', () => {
  let service: AdminService;
  before(async () => {
    service = await startAdminService();
  });
  after(() => service.close());

  const start = (onFault: (error: unknown) => void = (error) => expect.fail(String(error))) =>
    new FailedLogins({
      pool: () => service.services.orm.em.fork().getKysely(),
      clock: service.services.clock,
      onFault,
    });
  const fail = (process: FailedLogins, address: string, times: number): void => {
    for (let count = 0; count < times; count += 1) process.record(address);
  };
  const logins = async (): Promise<string[]> => {
    const { items } = await service.as('viewer').audit.list({ procedure: 'login', limit: 500 });
    return items.map(
      ({ at, address, actor, role, after }) =>
        `${at.slice(11, 16)} ${address} ${actor} ${role} ${String(after?.['failures'])}`,
    );
  };

  it('leave one audit row per address and minute, with their number, over all processes', async () => {
    const processes = [start(), start(), start()];
    for (let minute = 0; minute < 2; minute += 1) {
      // Nothing is closed before its minute is over and every process had the time to add to it.
      service.clock.at = NOON + minute * MINUTE_MS + 9_999;
      await processes[0]?.flush();
      expect(await logins()).to.deep.equal([]);
      service.clock.at = NOON + minute * MINUTE_MS;
      for (let round = 0; round < 4; round += 1) {
        for (const process of processes) {
          fail(process, '192.0.2.1', 25);
          fail(process, '192.0.2.2', 1);
        }
        service.clock.at += 2_000;
        await Promise.all(processes.map((process) => process.flush()));
      }
    }
    service.clock.at = NOON + 3 * MINUTE_MS;
    await Promise.all(processes.map((process) => process.flush()));
    expect((await logins()).sort()).to.deep.equal([
      '12:00 192.0.2.1 unknown null 300',
      '12:00 192.0.2.2 unknown null 12',
      '12:01 192.0.2.1 unknown null 300',
      '12:01 192.0.2.2 unknown null 12',
    ]);
    expect(await service.database.query('select * from failed_login')).to.deep.equal([]);
    const events = await service.as('viewer').events.list({ kind: 'failed_logins' });
    expect(events.items.map(({ subject, detail }) => [subject, detail['failures']])).to.deep.equal([
      ['192.0.2.1', 300],
      ['192.0.2.1', 300],
    ]);
  });

  it('of ever new addresses fill neither memory nor the audit', async () => {
    service.clock.at = NOON + 10 * MINUTE_MS;
    const process = start();
    for (let count = 0; count < 50_000; count += 1) {
      process.record(`10.${count >> 16}.${(count >> 8) & 255}.${count & 255}`);
    }
    // One network of IPv6 is one address.
    for (let count = 0; count < 1_000; count += 1) process.record(`2001:db8::${count}`);
    await process.flush();
    service.clock.at += 2 * MINUTE_MS;
    await process.flush();
    const rows = (await logins()).filter((row) => row.startsWith('12:10'));
    expect(rows).to.have.length(101);
    expect(rows).to.include(`12:10 ${OTHER_ADDRESSES} unknown null 50900`);
  });

  it('a lost database costs no count', async () => {
    service.clock.at = NOON + 20 * MINUTE_MS;
    const faults: unknown[] = [];
    const away = createOrm({
      url: 'postgres://nobody:nothing@127.0.0.1:1/nowhere',
      poolSize: 1,
      applicationName: 'test away',
      statementTimeoutMs: 1_000,
    });
    let orm = away;
    const process = new FailedLogins({
      pool: () => orm.em.fork().getKysely(),
      clock: service.services.clock,
      onFault: (error) => faults.push(error),
    });
    fail(process, '192.0.2.3', 5);
    await process.flush();
    fail(process, '192.0.2.3', 2);
    await away.close(true);
    expect(faults).to.have.length(1);
    ({ orm } = service.services);
    await process.flush();
    service.clock.at += 2 * MINUTE_MS;
    await process.flush();
    expect(await logins()).to.include('12:20 192.0.2.3 unknown null 7');
  });

  it('are counted together for /admin/trpc and /metrics, over HTTP, and hold no token', async () => {
    const clock = { at: NOON, now: () => clock.at };
    const running = await runService({
      role: 'api',
      clock,
      environment: { TRUSTED_PROXIES: '127.0.0.1' },
    });
    try {
      const call = async (path: string, token: string, address: string): Promise<number> => {
        const response = await fetch(`${running.url}${path}`, {
          headers: { authorization: `Bearer ${token}`, 'x-forwarded-for': address },
        });
        await response.arrayBuffer();
        return response.status;
      };
      const list = '/admin/trpc/sites.list?input=%7B%7D';
      const wrong = `trk_op_abcdefgh_${'c'.repeat(43)}`;
      for (let count = 0; count < 60; count += 1) {
        expect(await call(list, wrong, '203.0.113.7')).to.equal(401);
        expect(await call('/metrics', wrong, '203.0.113.7')).to.equal(401);
      }
      expect(await call(list, wrong, '203.0.113.7')).to.equal(429);
      expect(await call('/metrics', wrong, '203.0.113.7')).to.equal(429);
      expect(await call('/metrics', ADMIN_TOKEN, '203.0.113.8')).to.equal(200);
      const { failedLogins } = running.service.wiring.api;
      await failedLogins.flush();
      clock.at += 2 * MINUTE_MS;
      await failedLogins.flush();
      const rows = await running.database.query('select * from audit_entry');
      expect(rows).to.have.length(1);
      expect(rows[0]).to.deep.include({
        procedure: 'login',
        address: '203.0.113.7',
        after: { failures: 122 },
      });
      expect(JSON.stringify(rows) + running.logLines.join('')).to.not.include('c'.repeat(43));
    } finally {
      await running.stop();
    }
  });

  for (const [address, network] of [
    ['192.0.2.1', '192.0.2.1'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:db8:0:0:ffff::1', '2001:db8:0:0::/64'],
    ['2001:0db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['64:ff9b::192.0.2.33', '64:ff9b:0:0::/64'],
    ['1:2:3:4:5:6:192.0.2.33', '1:2:3:4::/64'],
    ['unknown', 'unknown'],
  ] as const) {
    it(`${address} is counted as ${network}`, () => {
      expect(networkOf(address)).to.equal(network);
    });
  }
});
