import { spawnSync } from 'node:child_process';
import { constants, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { constrainedMemory } from 'node:process';
import type { Account } from './account.ts';
import { give, PROGRAM_ENVIRONMENT } from './account.ts';
import type { UsableBinaries } from './binaries.ts';

const { O_NOFOLLOW, O_RDONLY } = constants;

/** Rewritten at each start, so a new version's settings take effect; an operator's own belong into ALTER SYSTEM. */
const FILE_NAME = 'transaction-risk.conf';
const INCLUDE_LINE = `include '${FILE_NAME}'`;

/** For a small machine (2 cores) that the service shares. Durable: an answered commit survives a power failure. */
const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '100',
  timezone: 'UTC',
  log_timezone: 'UTC',

  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  // On macOS a plain fsync leaves the data in the drive's cache.
  ...(process.platform === 'darwin' ? { wal_sync_method: 'fsync_writethrough' } : {}),

  ...memorySettings(usableMemory()),
  work_mem: '8MB',
  maintenance_work_mem: '128MB',
  wal_buffers: '16MB',
  random_page_cost: '1.1',
  // Statements here are short; compiling them costs more than it saves.
  jit: 'off',
  max_parallel_workers_per_gather: '1',
  max_parallel_workers: '2',

  // The first change of a page after a checkpoint writes the whole page into the WAL. Keys in no order touch a page each, so
  // in a ledger of millions of rows these images are most of the WAL unless checkpoints are rare.
  max_wal_size: '6GB',
  min_wal_size: '256MB',
  checkpoint_timeout: '20min',

  // Queue rows live for seconds and counters are updated all the time: the default (a fifth of the table dead, looked at
  // once a minute) lets them bloat.
  autovacuum_naptime: '10s',
  autovacuum_vacuum_scale_factor: '0.02',
  autovacuum_vacuum_threshold: '500',
  autovacuum_analyze_scale_factor: '0.05',
  autovacuum_vacuum_cost_limit: '2000',

  // The log must not show what callers sent: no statement text, no DETAIL lines ("Key (…)=(…) already exists").
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_statement: 'none',
  log_min_duration_statement: '-1',
  logging_collector: 'off',
  log_destination: 'stderr',
};

/** Bytes this process may use: the machine's memory, or what the container is given of it. */
function usableMemory(): number {
  const given = constrainedMemory();
  return given > 0 ? Math.min(given, totalmem()) : totalmem();
}

/**
 * An eighth of the memory for the pages of the database, 128 MB to 2 GB: keys in no order meet any page of an index, and
 * each that is not there is read and another one written out. The rest is the operating system's cache.
 */
export function memorySettings(bytes: number): Readonly<Record<string, string>> {
  const megabytes = Math.floor(bytes / 1024 / 1024);
  return {
    shared_buffers: `${Math.min(2_048, Math.max(128, Math.floor(megabytes / 8)))}MB`,
    effective_cache_size: `${Math.max(256, Math.floor(megabytes / 2))}MB`,
  };
}

/** The text of our settings file for a server on this port. */
export function settingsText(
  port: number,
  walCompression: string,
  extra: Readonly<Record<string, string>>,
): string {
  const all = { ...SETTINGS, wal_compression: walCompression, ...extra, port: String(port) };
  const lines = Object.entries(all).map(([name, value]) => `${name} = '${quoted(value)}'`);
  const head =
    '# Written by Transaction Risk at each start; use ALTER SYSTEM for settings of your own.';
  return `${[head, ...lines].join('\n')}\n`;
}

function quoted(value: string): string {
  return value.replaceAll("'", "''");
}

/** What {@link writeSettings} wrote last; undefined before the first time. */
export function readSettings(data: string): string | undefined {
  const path = join(data, FILE_NAME);
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}

/** The port of the last start; undefined before the first. */
export function readSettingsPort(data: string): number | undefined {
  const port = /^port = '(\d+)'$/m.exec(readSettings(data) ?? '')?.[1];
  return port === undefined ? undefined : Number(port);
}

/** Writes our settings file and makes postgresql.conf include it. Safe to repeat. */
export function writeSettings(data: string, text: string, account: Account): void {
  replaceFile(join(data, FILE_NAME), text, account);
  const main = join(data, 'postgresql.conf');
  const content = readFileSync(main, { encoding: 'utf8', flag: O_RDONLY | O_NOFOLLOW });
  if (content.split('\n').includes(INCLUDE_LINE)) return;
  replaceFile(main, `${content.trimEnd()}\n\n${INCLUDE_LINE}\n`, account);
}

/** Never writes through a link: the directory is the account's, and root must not be led elsewhere by it. */
function replaceFile(path: string, text: string, account: Account): void {
  const partial = `${path}.partial`;
  rmSync(partial, { force: true });
  writeFileSync(partial, text, { mode: 0o600, flag: 'wx' });
  give(partial, account);
  renameSync(partial, path);
}

/** `lz4` where these binaries were built with it, else `pglz`: an unknown value would keep the server from starting. */
export function chooseWalCompression(
  binaries: UsableBinaries,
  data: string,
  account: Account,
): string {
  const probe = ['-D', data, '-C', 'wal_compression', '-c', 'wal_compression=lz4'];
  const result = spawnSync(binaries.postgres, probe, {
    ...account,
    cwd: '/',
    env: PROGRAM_ENVIRONMENT,
  });
  return result.status === 0 ? 'lz4' : 'pglz';
}
