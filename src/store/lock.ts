/**
 * One daemon per home: an exclusive transaction on lock.db, which the operating system frees with the process, however it ends.
 * Who holds it stands in daemon.json beside it, for people and for the other commands.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
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
  try {
    return JSON.parse(readFileSync(holderPath(home), 'utf8')) as Holder;
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
