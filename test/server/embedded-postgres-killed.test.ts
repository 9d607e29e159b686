import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { Client } from 'pg';
import { findPostmaster, runsOn } from '../../server/embedded-postgres/process.ts';
import { embeddedFixture, query, start } from '../support/embedded.ts';

/** Whether initdb is at work on the data of a DATA_DIR. */
function hasBegun(dataDir: string): boolean {
  const home = join(dataDir, 'postgres');
  if (!existsSync(home)) return false;
  const names = readdirSync(home).filter((name) => name.startsWith('data.initializing-'));
  return names.some((name) => existsSync(join(home, name, 'base', '1')));
}

describe('the embedded database, when something is killed', () => {
  const { root, dataDir, inHome, service, owner } = embeddedFixture();

  it('survives a killed service, and the next start adopts it with the same data', async () => {
    const killed = await owner(dataDir);
    await query(killed.url, 'CREATE TABLE late AS SELECT 1 AS row');
    await killed.kill();
    expect(runsOn(killed.pid, inHome('data'))).to.equal(true);
    const lines: string[] = [];
    const server = await start(dataDir, lines);
    expect(server.pid).to.equal(killed.pid);
    expect(lines.join()).to.include('adopted');
    expect(await query(server.ownerUrl, 'TABLE late')).to.deep.equal([{ row: 1 }]);
    await query(server.ownerUrl, 'DROP TABLE late');
    await server.stop();
    expect(runsOn(killed.pid, inHome('data'))).to.equal(false);
  });

  it('survives the kill of the whole process group of the service', async () => {
    const killed = await owner(dataDir);
    await killed.kill('group');
    const server = await start(dataDir);
    expect(server.pid).to.equal(killed.pid);
    await server.stop();
  });

  it('is restarted when adopted with older settings', async () => {
    const killed = await owner(dataDir, { work_mem: '9MB' });
    await killed.kill();
    const server = await start(dataDir);
    expect(server.pid).to.not.equal(killed.pid);
    expect(await query(server.ownerUrl, 'SHOW work_mem')).to.deep.equal([{ work_mem: '8MB' }]);
    await server.stop();
  });

  it('comes back on the same port, again and again, when the server alone is killed', async () => {
    const running = await owner(dataDir);
    let { pid } = running;
    for (const round of [1, 2]) {
      await query(running.url, `CREATE TABLE round_${round} ()`);
      const told = running.next();
      process.kill(pid, 'SIGKILL');
      const message = await told;
      expect(message.event).to.equal('restarted');
      if (message.event === 'restarted') ({ pid } = message);
      await query(running.url, `DROP TABLE round_${round}`);
    }
    const other = await service(dataDir);
    expect(other.first.event).to.equal('refused');
    await running.stop();
    expect(findPostmaster(inHome('data'))).to.equal(undefined);
  });

  it('comes back when one of its processes crashes, and when its own session is ended', async () => {
    const running = await owner(dataDir);
    const crash = running.next();
    const client = new Client({ connectionString: running.url });
    client.on('error', () => undefined);
    await client.connect();
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    process.kill(rows[0]?.pid ?? 0, 'SIGKILL');
    expect(await crash).to.deep.equal({ event: 'restarted', pid: running.pid });
    const ended = running.next();
    await query(
      running.url,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name = 'transaction-risk owner'`,
    );
    expect(await ended).to.deep.equal({ event: 'restarted', pid: running.pid });
    await running.stop();
  });

  it('starts while a busy process of the killed server still holds its memory', async () => {
    const killed = await owner(dataDir);
    const client = new Client({ connectionString: killed.url });
    client.on('error', () => undefined);
    await client.connect();
    // Computes without ever waiting, so it does not notice that its server is gone.
    const busy = client
      .query('SELECT count(*) FROM generate_series(1, 30000000) a WHERE a % 7 = 3')
      .catch(() => undefined);
    await sleep(100);
    await killed.kill();
    process.kill(killed.pid, 'SIGKILL');
    const server = await start(dataDir);
    expect(await query(server.ownerUrl, 'TABLE kept')).to.deep.equal([{ answer: 42 }]);
    await server.stop();
    await busy;
    await client.end().catch(() => undefined);
  });

  it('stops at any moment while it is being brought back', async () => {
    for (const ms of [50, 120, 135, 150, 180]) {
      const running = await owner(dataDir);
      process.kill(running.pid, 'SIGKILL');
      await sleep(ms);
      await running.stop();
      await sleep(50);
      expect(findPostmaster(inHome('data'))).to.equal(undefined);
    }
  });

  it('is not misled by a postmaster.pid whose id now belongs to another program', async () => {
    const first = await start(dataDir);
    const content = readFileSync(inHome('data/postmaster.pid'), 'utf8');
    await first.stop();
    const pidFile = inHome('data/postmaster.pid');
    for (const pid of [process.pid, 2 ** 22 - 7]) {
      writeFileSync(pidFile, content.replace(/^\d+/, String(pid)));
      const server = await start(dataDir);
      expect(await query(server.ownerUrl, 'TABLE kept')).to.deep.equal([{ answer: 42 }]);
      await server.stop();
    }
  });

  it('begins anew after a first start that was cut short', async () => {
    const cut = join(root, 'cut');
    const script = join(import.meta.dirname, '..', 'support', 'embedded-postgres-process.ts');
    const child = fork(script, [cut]);
    while (!hasBegun(cut)) await sleep(2);
    child.kill('SIGKILL');
    await once(child, 'exit');
    const lines: string[] = [];
    const server = await start(cut, lines);
    expect(lines.join()).to.include('cut short');
    expect(await query(server.appUrl, 'SELECT 1 AS one')).to.deep.equal([{ one: 1 }]);
    await server.stop();
  });
});
