import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { chooseAccount, giveTree } from '../../server/embedded-postgres/account.ts';
import {
  findPostgresBinaries,
  makeLinks,
  makeUsable,
} from '../../server/embedded-postgres/binaries.ts';
import { SYSTEM_DIRECTORY } from '../../server/embedded-postgres/layout.ts';
import { query, refusalOf, start } from '../support/embedded.ts';
import { makeTemporaryDirectory } from '../support/temporary.ts';

const NOBODY = { uid: 65_534, gid: 65_534 };

describe('the embedded database, started by root', function () {
  let root: string;
  let mounted: string[] = [];
  let systemDirectories: string[] = [];

  /** Mounts a small file system; skips the test where even root may not (containers). */
  const mount = (context: Mocha.Context, name: string, options: string) => {
    const directory = join(root, name);
    mkdirSync(directory);
    const made = spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', directory]);
    if (made.status !== 0) context.skip();
    mounted.push(directory);
    return directory;
  };

  before(function () {
    if (process.getuid?.() !== 0) this.skip();
    root = makeTemporaryDirectory();
  });

  afterEach(() => {
    for (const directory of mounted) execFileSync('umount', [directory]);
    for (const directory of systemDirectories) rmSync(directory, { recursive: true, force: true });
    mounted = [];
    systemDirectories = [];
  });

  after(() => {
    if (root !== undefined) rmSync(root, { recursive: true, force: true });
  });

  it('runs as a user that may nothing else, and keeps the passwords from it', async () => {
    const dataDir = join(root, 'plain');
    const server = await start(dataDir);
    const { uid } = statSync(`/proc/${server.pid}`);
    expect(uid).to.not.equal(0);
    expect(statSync(join(dataDir, 'postgres', 'data')).uid).to.equal(uid);
    for (const name of ['owner-password', 'app-password', 'lock']) {
      const { uid: owner, mode } = statSync(join(dataDir, 'postgres', name));
      expect([owner, mode & 0o777]).to.deep.equal([0, 0o600]);
    }
    await server.stop();
  });

  it('keeps the data where their user can reach them when DATA_DIR lies in a closed directory', async () => {
    const closed = join(root, 'closed');
    mkdirSync(closed, { mode: 0o700 });
    const dataDir = join(closed, 'data');
    const server = await start(dataDir);
    const place = readFileSync(join(dataDir, 'postgres', 'location'), 'utf8').trim();
    systemDirectories.push(place);
    expect(place.startsWith(`${SYSTEM_DIRECTORY}/`)).to.equal(true);
    await query(server.ownerUrl, 'CREATE TABLE kept AS SELECT 42 AS answer');
    await server.stop();

    const moved = join(closed, 'moved');
    renameSync(dataDir, moved);
    const again = await start(moved);
    expect(await query(again.ownerUrl, 'TABLE kept')).to.deep.equal([{ answer: 42 }]);
    await again.stop();

    cpSync(moved, dataDir, { recursive: true });
    expect(await refusalOf(dataDir)).to.include('is a copy of');

    rmSync(dataDir, { recursive: true });
    rmSync(moved, { recursive: true });
    const lines: string[] = [];
    const anew = await start(moved, lines);
    const other = readFileSync(join(moved, 'postgres', 'location'), 'utf8').trim();
    systemDirectories.push(other);
    expect(other).to.not.equal(place);
    expect(existsSync(join(place, 'data'))).to.equal(true);
    await anew.stop();
  });

  it('runs data of an ordinary user as that user', async () => {
    const dataDir = join(root, 'ordinary');
    await (await start(dataDir)).stop();
    giveTree(join(dataDir, 'postgres', 'data'), NOBODY);
    const server = await start(dataDir);
    expect(statSync(`/proc/${server.pid}`).uid).to.equal(NOBODY.uid);
    await server.stop();
  });

  it('takes data that a restored backup left with root', async () => {
    const dataDir = join(root, 'restored');
    const data = join(dataDir, 'postgres', 'data');
    await (await start(dataDir)).stop();
    giveTree(data, { uid: 0, gid: 0 });
    chmodSync(data, 0o755);
    await (await start(dataDir)).stop();
    expect(statSync(data).uid).to.not.equal(0);
  });

  it('copies the programs, links included, where their user cannot reach node_modules', () => {
    const installed = findPostgresBinaries();
    const closed = join(root, 'closed-modules');
    mkdirSync(closed, { mode: 0o700 });
    cpSync(installed.root, join(closed, 'native'), { recursive: true, verbatimSymlinks: true });
    const packageVersion = `test-${process.pid}`;
    systemDirectories.push(join(SYSTEM_DIRECTORY, 'binaries', packageVersion));
    const lines: string[] = [];
    const closedBinaries = {
      packageVersion,
      root: join(closed, 'native'),
      initdb: join(closed, 'native', 'bin', 'initdb'),
      postgres: join(closed, 'native', 'bin', 'postgres'),
    };
    for (const expected of [1, 1]) {
      const usable = makeUsable(closedBinaries, chooseAccount([]), (line) => lines.push(line));
      expect(usable.major).to.equal(18);
      expect(usable.postgres.startsWith(SYSTEM_DIRECTORY)).to.equal(true);
      expect(lines).to.have.length(expected);
    }
  });

  it('makes the library links that an install without scripts leaves out', () => {
    const copy = join(root, 'unlinked');
    const native = join(copy, 'native');
    cpSync(dirname(findPostgresBinaries().root), copy, { recursive: true, verbatimSymlinks: true });
    const links = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')) as {
      target: string;
    }[];
    for (const { target } of links) unlinkSync(join(copy, target));
    const postgres = join(native, 'bin', 'postgres');
    expect(spawnSync(postgres, ['--version']).status).to.not.equal(0);
    makeLinks(copy);
    expect(spawnSync(postgres, ['--version']).status).to.equal(0);
    expect(links.every(({ target }) => lstatSync(join(copy, target)).isSymbolicLink())).to.equal(
      true,
    );
  });

  it('says so when the disk is full, and leaves nothing half-made', async function () {
    const small = mount(this, 'small', 'size=12m,mode=755');
    expect(await refusalOf(join(small, 'data'))).to.include('is full');
    execFileSync('mount', ['-o', 'remount,size=300m', small]);
    const server = await start(join(small, 'data'));
    await server.stop();
  });

  it('says so when DATA_DIR is read-only', async function () {
    const sealed = mount(this, 'sealed', 'ro,mode=755');
    expect(await refusalOf(sealed)).to.include('read-only file system');
    expect(await refusalOf(join(sealed, 'data'))).to.include('read-only file system');

    execFileSync('mount', ['-o', 'remount,rw', sealed]);
    await (await start(sealed)).stop();
    execFileSync('mount', ['-o', 'remount,ro', sealed]);
    expect(await refusalOf(sealed)).to.include('read-only file system');
  });
});
