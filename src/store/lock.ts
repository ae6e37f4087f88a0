/**
 * One daemon per home, and one listener per token: an exclusive transaction on a file of its own, which the operating system frees with
 * the process, however it ends. Who holds it stands beside it (daemon.json for a home), for people and for the other commands.
 */
import { createHash } from 'node:crypto';
import { chmodSync, lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { HermesError } from '../contract/errors.ts';
import { sleep } from '../lib/retry.ts';

export interface Holder {
  pid: number;
  startedAt: string;
  /** Where its HTTP API listens; null until it does. */
  url: string | null;
}

export interface HomeLock {
  /** Writes where the daemon is reached. */
  announce(url: string): void;
  release(): void;
}

export interface LockOptions {
  home: string;
  /** How long to wait for another daemon's end, ms. */
  waitMs: number;
  /** Called once, when it has to wait. */
  onWait(holder: Holder | null): void;
  signal?: AbortSignal;
}

/** Rejects with HermesError HOME_LOCKED, naming the holder, when it was not free in time. */
export async function lockHome({ home, waitMs, onWait, signal }: LockOptions): Promise<HomeLock> {
  const lock = new Database(join(home, 'lock.db'), { timeout: 0 });
  chmodSync(join(home, 'lock.db'), 0o600);
  const end = performance.now() + waitMs;
  for (let isFirst = true; !tryLock(lock); isFirst = false) {
    if (isFirst) onWait(readHolder(home));
    if (performance.now() > end || signal?.aborted) {
      lock.close();
      const holder = readHolder(home);
      const who = holder ? `process ${holder.pid}, running since ${holder.startedAt}` : 'another process';
      throw new HermesError('HOME_LOCKED', `${home} is in use by ${who}. Stop it first, or choose another folder with --home.`);
    }
    await sleep(Math.min(1000, waitMs), signal).catch(() => {});
  }
  const path = holderPath(home);
  const startedAt = new Date().toISOString();
  const write = (url: string | null) => writeFileSync(path, JSON.stringify({ pid: process.pid, startedAt, url } satisfies Holder), { mode: 0o600 });
  write(null);
  return {
    announce: write,
    release() {
      rmSync(path, { force: true });
      lock.close();
    },
  };
}

/** Who runs this home's daemon, as far as it has said so; null when nobody has. */
export function readHolder(home: string): Holder | null {
  return readJson(holderPath(home)) as Holder | null;
}

/**
 * Holds a platform's token against every other process of this user on this machine, whatever its home: two listeners would answer
 * everything twice, or take it from each other. `folder` is shared by all of them; only a hash of the token is written there.
 * Gives the function that lets go. Throws HermesError TOKEN_IN_USE, naming the holder.
 */
export function lockToken(token: string, { folder, home }: { folder: string; home: string }): () => void {
  // In a folder for everybody's temporary files somebody else may have been first; a machine without one has no such lock.
  if (!isOurFolder(folder)) return () => {};
  const path = join(folder, createHash('sha256').update(token).digest('hex').slice(0, 32));
  const lock = new Database(`${path}.lock`, { timeout: 0 });
  if (!tryLock(lock)) {
    lock.close();
    const holder = readJson(`${path}.json`) as { pid: number; home: string } | null;
    throw new HermesError('TOKEN_IN_USE', `${holder ? `process ${holder.pid} with the home ${holder.home}` : 'another process'} listens with the same token`);
  }
  writeFileSync(`${path}.json`, JSON.stringify({ pid: process.pid, home }), { mode: 0o600 });
  return () => lock.close();
}

function isOurFolder(folder: string): boolean {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return lstatSync(folder).isDirectory() && lstatSync(folder).uid === process.getuid?.();
  } catch {
    return false;
  }
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return null;
  }
}

const holderPath = (home: string) => join(home, 'daemon.json');

function tryLock(lock: Database.Database): boolean {
  try {
    lock.exec('BEGIN EXCLUSIVE');
    return true;
  } catch (thrown) {
    if (thrown instanceof Database.SqliteError && thrown.code.startsWith('SQLITE_BUSY')) return false;
    throw thrown;
  }
}
