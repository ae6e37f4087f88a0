/**
 * Opens state.db and gives the one writer. No other code opens the file: reading it beside SQLite drops SQLite's locks.
 *
 * write(operation) -> queued -> flushed once nothing more comes: BEGIN IMMEDIATE, a savepoint per operation, COMMIT -> promises resolve.
 * What comes together so shares one fsync. An operation that throws undoes itself alone; a failed COMMIT fails all.
 */
import { chmodSync, renameSync, rmSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { HermesError, toMessage } from '../contract/errors.ts';
import { migrations } from './migrations/index.ts';

export interface StoreDatabase {
  /** For reads; synchronous, and only inside the store room. */
  readonly sql: Database.Database;
  /**
   * Runs `operation` inside the next transaction and resolves with its result after the commit. The operation must be
   * synchronous. Rejects with STORE_UNAVAILABLE when SQLite cannot write (disk full, read-only, locked for 5 s).
   */
  write<T>(operation: () => T): Promise<T>;
  /** The same for what need not be alone: it goes along with the next write, and after a few ms by itself. */
  writeAlong<T>(operation: () => T): Promise<T>;
  /** Flushes what is queued and closes. Later writes reject. */
  close(): Promise<void>;
}

export interface OpenOptions {
  path: string;
  /** Ran inside every transaction just before its COMMIT; tests make it throw. */
  beforeCommit?: () => void;
  /** The schema's steps; tests bring their own. */
  steps?: readonly string[];
  /** How long writeAlong() waits for company, ms; tests on a clock of their own let it wait for none. */
  alongMs?: number;
}

/** Long enough for the next message of a busy program, short enough that a death seldom falls into it. */
const usualAlongMs = 5;
const mostTurns = 4;

/** Throws HermesError STORE_TOO_NEW, STORE_CORRUPT or STORE_UNAVAILABLE. */
export function openDatabase({ path, beforeCommit = () => {}, steps = migrations, alongMs = usualAlongMs }: OpenOptions): StoreDatabase {
  const sql = openChecked(path);
  try {
    migrate(sql, path, steps);
  } catch (thrown) {
    sql.close();
    if (thrown instanceof HermesError) throw thrown;
    throw new HermesError('STORE_UNAVAILABLE', `${path} cannot be brought up to date, and nothing was changed: ${toMessage(thrown)}`, { cause: thrown });
  }
  return createWriter(sql, { beforeCommit, alongMs });
}

/** Oldest SQLite without the WAL-reset defect of 3.7.0 to 3.51.2 (sqlite.org/wal.html). */
const oldestSqlite = [3, 51, 3];
const checkedBytes = 50 * 1024 * 1024;

function openChecked(path: string): Database.Database {
  let sql: Database.Database | undefined;
  try {
    sql = new Database(path, { timeout: 5000 });
    // Its -wal and -shm get the same; by name, because opening the file beside SQLite would drop SQLite's locks.
    chmodSync(path, 0o600);
    sql.pragma('journal_mode = WAL');
    // The library is built with WAL meaning synchronous=NORMAL, which can lose a confirmed row at a power cut.
    sql.pragma('synchronous = FULL');
    sql.pragma('foreign_keys = ON');
    sql.pragma('journal_size_limit = 67108864');
    // A busy store writes the same pages again and again: copied back less often (16 MB), most of them are copied once.
    sql.pragma('wal_autocheckpoint = 4000');
    if (sql.pragma('synchronous', { simple: true }) !== 2) throw new Error('synchronous=FULL did not take effect');
    const version = String(sql.prepare('SELECT sqlite_version()').pluck().get());
    if (isOlder(version.split('.').map(Number), oldestSqlite)) throw new Error(`SQLite ${version} is too old; 3.51.3 is needed`);
    // A large file is not checked at every start: the check reads all of it.
    const verdict = statSync(path).size < checkedBytes ? sql.pragma('quick_check(1)', { simple: true }) : 'ok';
    if (verdict !== 'ok') throw new HermesError('STORE_CORRUPT', corruptText(path, String(verdict)));
    return sql;
  } catch (thrown) {
    sql?.close();
    if (thrown instanceof HermesError) throw thrown;
    if (isCode(thrown, 'SQLITE_CORRUPT') || isCode(thrown, 'SQLITE_NOTADB'))
      throw new HermesError('STORE_CORRUPT', corruptText(path, toMessage(thrown)), { cause: thrown });
    throw new HermesError('STORE_UNAVAILABLE', `${path} cannot be opened: ${toMessage(thrown)}`, { cause: thrown });
  }
}

const corruptText = (path: string, why: string) =>
  `${path} is damaged (${why}). Nothing was changed. Stop the program, copy the file and its -wal file away, and restore a backup or start without them.`;

function isOlder(version: number[], than: number[]): boolean {
  for (const [index, wanted] of than.entries()) {
    const part = version[index] ?? 0;
    if (part !== wanted) return part < wanted;
  }
  return false;
}

function migrate(sql: Database.Database, path: string, steps: readonly string[]): void {
  const reached = () => Number(sql.pragma('user_version', { simple: true }));
  if (reached() > steps.length)
    throw new HermesError('STORE_TOO_NEW', `${path} has schema ${reached()}, this program knows ${steps.length}. Install the newer version again.`);
  if (reached() === steps.length) return;
  if (reached() > 0) backUp(sql, `${path}.before-${steps.length}`);
  const run = sql.transaction(() => {
    // Asked again inside: another process may have been quicker.
    for (const step of steps.slice(reached())) sql.exec(step);
    sql.pragma(`user_version = ${steps.length}`);
  });
  run.immediate();
}

/** Whole or not at all: a process that died half-way leaves only a file that the next one replaces. */
function backUp(sql: Database.Database, target: string): void {
  const half = `${target}.half`;
  rmSync(half, { force: true });
  sql.exec(`VACUUM INTO '${half.replaceAll("'", "''")}'`);
  chmodSync(half, 0o600);
  renameSync(half, target);
}

interface Queued {
  operation: () => unknown;
  resolve: (value: unknown) => void;
  reject: (reason: unknown) => void;
}

function createWriter(sql: Database.Database, { beforeCommit, alongMs }: Required<Pick<OpenOptions, 'beforeCommit' | 'alongMs'>>): StoreDatabase {
  let queue: Queued[] = [];
  let isClosed = false;
  const begin = sql.prepare('BEGIN IMMEDIATE');
  const commit = sql.prepare('COMMIT');
  const save = sql.prepare('SAVEPOINT operation');
  const release = sql.prepare('RELEASE operation');

  let soon: NodeJS.Immediate | undefined;
  let later: NodeJS.Timeout | undefined;

  const flush = () => {
    const batch = queue;
    queue = [];
    clearTimeout(later);
    soon = later = undefined;
    if (batch.length === 0) return;
    const settled: (() => void)[] = [];
    try {
      begin.run();
      for (const item of batch) settled.push(attempt(item));
      beforeCommit();
      commit.run();
    } catch (thrown) {
      if (sql.inTransaction) sql.exec('ROLLBACK');
      const reason = new HermesError('STORE_UNAVAILABLE', `The database cannot be written: ${toMessage(thrown)}`, { cause: thrown });
      for (const item of batch) item.reject(reason);
      return;
    }
    for (const settle of settled) settle();
  };

  const attempt = (item: Queued): (() => void) => {
    save.run();
    try {
      const value = item.operation();
      release.run();
      return () => item.resolve(value);
    } catch (thrown) {
      // SQLite rolls the whole transaction back by itself on faults such as a full disk: then nothing can be saved.
      if (!sql.inTransaction) throw thrown;
      sql.exec('ROLLBACK TO operation; RELEASE operation');
      const isSqlite = thrown instanceof Database.SqliteError && !thrown.code.startsWith('SQLITE_CONSTRAINT');
      if (isSqlite) throw thrown;
      return () => item.reject(thrown);
    }
  };

  /** While each turn of the event loop brings more to write it pays to wait for it, a few turns at most: one commit then serves them all. */
  const flushWhenQuiet = (seen: number, turns: number) => {
    if (queue.length === seen || turns === 0) return flush();
    const length = queue.length;
    soon = setImmediate(() => flushWhenQuiet(length, turns - 1));
  };

  const enqueue = <T>(operation: () => T): Promise<T> => {
    if (isClosed) return Promise.reject(new HermesError('STORE_UNAVAILABLE', 'The database is closed: the program is stopping.'));
    return new Promise<T>((resolve, reject) => queue.push({ operation, resolve: resolve as (value: unknown) => void, reject }));
  };

  return {
    sql,
    write(operation) {
      soon ??= setImmediate(() => flushWhenQuiet(0, mostTurns));
      return enqueue(operation);
    },
    writeAlong(operation) {
      if (alongMs === 0) soon ??= setImmediate(flush);
      else if (!soon) later ??= setTimeout(flush, alongMs);
      return enqueue(operation);
    },
    async close() {
      if (isClosed) return;
      isClosed = true;
      flush();
      sql.close();
    },
  };
}

function isCode(thrown: unknown, code: string): boolean {
  return thrown instanceof Database.SqliteError && thrown.code.startsWith(code);
}
