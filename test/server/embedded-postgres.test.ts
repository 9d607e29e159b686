import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import type { EmbeddedPostgres } from '../../server/embedded-postgres/index.ts';
import { findPostmaster, runsOn } from '../../server/embedded-postgres/process.ts';
import { embeddedFixture, query, refusalOf, start } from '../support/embedded.ts';

describe('the embedded database', () => {
  const { root, dataDir, inHome, service, owner } = embeddedFixture();

  describe('as it is made', () => {
    let server: EmbeddedPostgres;
    before(async () => {
      server = await start(dataDir);
    });
    after(async () => server.stop());

    it('is durable, checksummed and reachable from this machine only', async () => {
      const rows = await query<{ name: string; setting: string }>(
        server.ownerUrl,
        `SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'full_page_writes',
           'synchronous_commit', 'data_checksums', 'listen_addresses', 'unix_socket_directories')`,
      );
      expect(Object.fromEntries(rows.map((row) => [row.name, row.setting]))).to.deep.equal({
        fsync: 'on',
        full_page_writes: 'on',
        synchronous_commit: 'on',
        data_checksums: 'on',
        listen_addresses: '127.0.0.1',
        unix_socket_directories: '',
      });
    });

    it('orders text by code point and speaks UTF-8', async () => {
      const rows = await query(
        server.appUrl,
        `SELECT pg_encoding_to_char(encoding) AS encoding, datlocprovider, datlocale, 'Z' < 'a' AS ordered
           FROM pg_database WHERE datname = current_database()`,
      );
      expect(rows).to.deep.equal([
        { encoding: 'UTF8', datlocprovider: 'b', datlocale: 'C.UTF-8', ordered: true },
      ]);
    });

    it('gives the application a role that owns nothing and creates nothing', async () => {
      const [role] = await query(
        server.appUrl,
        `SELECT rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls,
                (SELECT count(*)::int FROM pg_shdepend WHERE refobjid = r.oid AND deptype = 'o') AS owned,
                pg_get_userbyid(d.datdba) AS owner
           FROM pg_roles r, pg_database d
          WHERE rolname = current_user AND datname = current_database()`,
      );
      expect(role).to.deep.equal({
        rolsuper: false,
        rolcreatedb: false,
        rolcreaterole: false,
        rolreplication: false,
        rolbypassrls: false,
        owned: 0,
        owner: 'trk_owner',
      });
      for (const sql of ['CREATE TABLE t ()', 'CREATE TEMP TABLE t ()', 'CREATE SCHEMA s']) {
        const error = await query(server.appUrl, sql).catch((error: unknown) => error);
        expect(error).to.include({ code: '42501' });
      }
    });

    it('keeps two different passwords in private files and accepts no others', async () => {
      const passwords = ['owner-password', 'app-password'].map((name) => {
        expect(statSync(inHome(name)).mode & 0o777).to.equal(0o600);
        return readFileSync(inHome(name), 'utf8').trim();
      });
      expect(new Set(passwords).size).to.equal(2);
      expect(passwords.every((password) => password.length >= 43)).to.equal(true);
      const wrong = new URL(server.ownerUrl);
      wrong.password = 'wrong';
      const error = await query(wrong.href, 'SELECT 1').catch((error: unknown) => error);
      expect(error).to.include({ code: '28P01' });
      expect(readdirSync(join(dataDir, 'postgres'))).to.not.include('initdb-password');
    });

    it('logs no statement and no value that a caller sent', async () => {
      await query(server.ownerUrl, 'CREATE TABLE one (a text PRIMARY KEY)');
      await query(server.ownerUrl, 'GRANT INSERT ON one TO trk_app');
      const canary = 'canary-4111111111111111';
      for (const sql of [
        `INSERT INTO one VALUES ('${canary}'), ('${canary}')`,
        `SELECT '${canary}'::uuid`,
        `SELECT ${canary.replaceAll('-', '')}`,
      ]) {
        await query(server.appUrl, sql).catch(() => undefined);
      }
      await query(server.ownerUrl, 'DROP TABLE one');
      expect(readFileSync(inHome('server.log'), 'utf8')).to.not.include('4111111111111111');
    });
  });

  describe('started again', () => {
    it('has the same data under the same URL within three seconds, and stops twice without harm', async () => {
      const first = await start(dataDir);
      await first.stop();
      const begin = performance.now();
      const second = await start(dataDir);
      expect(performance.now() - begin).to.be.lessThan(3_000);
      expect(second.ownerUrl).to.equal(first.ownerUrl);
      expect(await query(second.ownerUrl, 'TABLE kept')).to.deep.equal([{ answer: 42 }]);
      await Promise.all([second.stop(), second.stop()]);
      await second.stop();
      expect(findPostmaster(inHome('data'))).to.equal(undefined);
    });

    it('takes another port when its own was taken meanwhile', async () => {
      const first = await start(dataDir);
      const { port } = new URL(first.ownerUrl);
      await first.stop();
      const squatter = createServer();
      await new Promise<void>((resolve) => squatter.listen(Number(port), '127.0.0.1', resolve));
      const second = await start(dataDir);
      squatter.close();
      expect(new URL(second.ownerUrl).port).to.not.equal(port);
      expect(await query(second.ownerUrl, 'TABLE kept')).to.deep.equal([{ answer: 42 }]);
      await second.stop();
    });

    it('is refused in the same process and in another while it runs, and nothing is stopped', async () => {
      const server = await start(dataDir);
      expect(await refusalOf(dataDir)).to.include(`process ${process.pid}) already runs on`);
      const other = await service(dataDir);
      expect(other.first).to.include({ event: 'refused', name: 'EmbeddedPostgresError' });
      expect(await query(server.ownerUrl, 'TABLE kept')).to.deep.equal([{ answer: 42 }]);
      await server.stop();
    });

    it('is made once when three processes start at once on an empty DATA_DIR', async () => {
      const empty = join(root, 'race');
      const both = await Promise.all([service(empty), service(empty), service(empty)]);
      expect(both.map(({ first }) => first.event).sort()).to.deep.equal([
        'ready',
        'refused',
        'refused',
      ]);
    });
  });

  describe('refuses in one sentence', () => {
    it('data of an older or a newer PostgreSQL', async () => {
      for (const [version, words] of [
        ['17', 'was made by PostgreSQL 17'],
        ['99', 'newer PostgreSQL 99'],
      ] as const) {
        writeFileSync(inHome('data/PG_VERSION'), `${version}\n`);
        expect(await refusalOf(dataDir)).to.include(words);
      }
      writeFileSync(inHome('data/PG_VERSION'), '18\n');
    });

    it('data that were exchanged underneath', async () => {
      const right = readFileSync(inHome('system-identifier'), 'utf8');
      writeFileSync(inHome('system-identifier'), '1234567890\n');
      expect(await refusalOf(dataDir)).to.include('not the database that this DATA_DIR');
      writeFileSync(inHome('system-identifier'), right);
    });

    it('a running server with another password, which it leaves running', async () => {
      const killed = await owner(dataDir);
      const right = readFileSync(inHome('owner-password'), 'utf8');
      await killed.kill();
      writeFileSync(inHome('owner-password'), 'another-password\n');
      expect(await refusalOf(dataDir)).to.include('is not the one this DATA_DIR was made with');
      expect(runsOn(killed.pid, inHome('data'))).to.equal(true);
      writeFileSync(inHome('owner-password'), right);
      await (await start(dataDir)).stop();
    });

    it('a directory that holds other files', async () => {
      const foreign = join(root, 'foreign');
      mkdirSync(join(foreign, 'postgres'), { recursive: true });
      writeFileSync(join(foreign, 'postgres', 'thesis.txt'), 'mine');
      expect(await refusalOf(foreign)).to.include('did not make (thesis.txt)');
      expect(readdirSync(join(foreign, 'postgres'))).to.deep.equal(['thesis.txt']);
    });

    it('the data directory of another server', async () => {
      const foreign = join(root, 'cluster');
      mkdirSync(foreign);
      writeFileSync(join(foreign, 'PG_VERSION'), '18\n');
      expect(await refusalOf(foreign)).to.include('data directory of another PostgreSQL');
    });

    it('a DATA_DIR that is a file', async () => {
      const file = join(root, 'file');
      writeFileSync(file, '');
      expect(await refusalOf(file)).to.include('not a directory');
      expect(await refusalOf(join(file, 'below'))).to.include('not a directory');
    });

    it('data that are gone', async () => {
      renameSync(inHome('data'), inHome('elsewhere'));
      expect(await refusalOf(dataDir)).to.include('is missing');
      expect(existsSync(inHome('data'))).to.equal(false);
      renameSync(inHome('elsewhere'), inHome('data'));
    });
  });
});
