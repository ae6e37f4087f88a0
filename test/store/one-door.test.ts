/**
 * Only SQLite itself opens state.db. A plain open and close of the file inside the daemon drops the locks that the process has on it;
 * what another process then does deletes the write-ahead log under the daemon, and later commits are lost although they succeeded.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { openFiles } from '../../src/tools/files.ts';
import { admitAll, openTestStore } from './support.ts';

const root = join(import.meta.dirname, '..', '..');

/** Calls that open a file, with a path that may be the database's. */
const rawOpen = /\b(readFile|readFileSync|open|openSync|createReadStream|copyFile|copyFileSync|cp|cpSync|writeFile|writeFileSync)\([^)]*(state\.db|databasePath|dbPath)/;

test('no room but the store names the database file beside a call that opens files', () => {
  const files = ['src', 'adapters', 'config'].flatMap((folder) => readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts')).map((name) => join(folder, name)));
  const guilty = files.filter((file) => rawOpen.test(readFileSync(join(root, file), 'utf8')));
  expect(guilty).toEqual([]);
  const named = files.filter((file) => !file.startsWith(join('src', 'store')) && /['"`]state\.db/.test(readFileSync(join(root, file), 'utf8')));
  // The one that hands the path to the store.
  expect(named).toEqual([join('src', 'main', 'core.ts')]);
});

test('the locks of the open store are what another process sees, so it leaves the log in place', async () => {
  const store = openTestStore();
  await admitAll(store, 'lane', ['one', 'two']);
  // What a backup script or a report does beside the daemon, many times.
  for (let visit = 0; visit < 3; visit++) {
    const seen = execFileSync(process.execPath, ['-e', "const db = new (require('better-sqlite3'))(process.argv[1]); console.log(db.prepare('SELECT count(*) FROM inbox').pluck().get()); db.close();", store.path], { cwd: import.meta.dirname, encoding: 'utf8' });
    expect(Number(seen)).toBe(2 + visit);
    await admitAll(store, 'lane', ['more']);
  }
  expect(store.reopen().inbox.waiting('lane')).toBe(5);
});

test('A23 hermes-agent#71418 a file tool that is asked for the database refuses, and the locks on it are still held', async () => {
  const store = openTestStore();
  await admitAll(store, 'lane', ['one']);
  const home = dirname(store.path);
  symlinkSync(store.path, join(home, 'innocent.txt'));
  const before = locksOn(store.path);
  const files = await openFiles({ home, workspace: home, env: {} }, 'cli');
  for (const name of ['state.db', 'state.db-wal', 'innocent.txt']) await expect(files.open(join(home, name))).rejects.toThrow();
  expect(locksOn(store.path)).toEqual(before);
  expect(before).not.toEqual([]);
});

/** What this process holds on the file, as the kernel tells it; elsewhere than on Linux nothing can be seen. */
function locksOn(path: string): string[] {
  if (!existsSync('/proc/locks')) return ['unknown'];
  const { ino } = statSync(`${path}-shm`);
  return readFileSync('/proc/locks', 'utf8').split('\n').filter((line) => line.includes(` ${process.pid} `) && line.includes(`:${ino} `)).map((line) => line.replace(/^\d+: /, ''));
}
