/** Opening state.db: what is asserted of SQLite, migrations that run whole or not at all, and files that are refused as they are. */
import Database from 'better-sqlite3';
import { existsSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../src/store/database.ts';
import { migrations } from '../../src/store/migrations/index.ts';
import { openTestStore, said } from './support.ts';
import { tempHome } from '../support/temp-home.ts';

const newPath = () => join(tempHome(), 'state.db');

/** A database of two thousand rows, closed and so without a -wal file. */
async function filled(): Promise<string> {
  const store = openTestStore();
  await Promise.all(Array.from({ length: 2000 }, (_, i) => store.inbox.admit({ lane: 'a', message: said(`message ${i}`), now: 1 })));
  await store.close();
  return store.path;
}

test('commits survive a power cut: WAL with synchronous=FULL, foreign keys on, locks waited for', () => {
  const db = openDatabase({ path: newPath() });
  onTestFinished(() => db.close());
  const pragma = (name: string) => db.sql.pragma(name, { simple: true });
  expect(pragma('journal_mode')).toBe('wal');
  expect(pragma('synchronous')).toBe(2);
  expect(pragma('foreign_keys')).toBe(1);
  expect(pragma('busy_timeout')).toBe(5000);
  expect(pragma('user_version')).toBe(migrations.length);
});

const first = 'CREATE TABLE a (x INTEGER) STRICT; INSERT INTO a VALUES (1);';
const second = 'ALTER TABLE a ADD COLUMN y TEXT; UPDATE a SET y = x;';

test('a migration keeps what is there and a copy of what was', () => {
  const path = newPath();
  void openDatabase({ path, steps: [first] }).close();
  const db = openDatabase({ path, steps: [first, second] });
  onTestFinished(() => db.close());
  expect(db.sql.prepare('SELECT * FROM a').all()).toEqual([{ x: 1, y: '1' }]);
  expect(db.sql.pragma('user_version', { simple: true })).toBe(2);
  const copy = new Database(`${path}.before-2`, { readonly: true });
  expect(copy.prepare('SELECT * FROM a').all()).toEqual([{ x: 1 }]);
  copy.close();
});

test('a migration that breaks off at any statement leaves the old schema, and the next start finishes it', () => {
  const statements = ['ALTER TABLE a ADD COLUMN y TEXT;', 'UPDATE a SET y = x;', 'CREATE INDEX ai ON a(y);'];
  for (let broken = 0; broken <= statements.length; broken++) {
    const path = newPath();
    void openDatabase({ path, steps: [first] }).close();
    const half = [...statements.slice(0, broken), 'SELECT no_such_function();'].join('');
    expect(() => openDatabase({ path, steps: [first, half] })).toThrow(expect.objectContaining({ code: 'STORE_UNAVAILABLE' }));
    const look = new Database(path, { readonly: true });
    expect(look.pragma('user_version', { simple: true })).toBe(1);
    expect(look.prepare('SELECT * FROM a').all()).toEqual([{ x: 1 }]);
    look.close();
    // A copy that a death cut short is no obstacle.
    writeFileSync(`${path}.before-2.half`, 'half a copy');
    const db = openDatabase({ path, steps: [first, statements.join('')] });
    expect(db.sql.prepare('SELECT * FROM a').all()).toEqual([{ x: 1, y: '1' }]);
    void db.close();
    expect(readdirSync(join(path, '..')).filter((name) => name.endsWith('.half'))).toEqual([]);
  }
});

test('it is for its user alone, with all that lies beside it, whatever the umask', () => {
  const before = process.umask(0);
  onTestFinished(() => void process.umask(before));
  const path = newPath();
  void openDatabase({ path, steps: [first] }).close();
  const db = openDatabase({ path, steps: [first, second] });
  onTestFinished(() => db.close());
  const names = readdirSync(join(path, '..'));
  expect(names.length).toBeGreaterThanOrEqual(4);
  expect(names.map((name) => [name, statSync(join(path, '..', name)).mode & 0o777])).toEqual(names.map((name) => [name, 0o600]));
});

test('a database of a newer program is refused by both numbers and left as it is', () => {
  const path = newPath();
  void openDatabase({ path, steps: [first, second] }).close();
  const before = readFileSync(path);
  expect(() => openDatabase({ path, steps: [first] })).toThrow(expect.objectContaining({ code: 'STORE_TOO_NEW', message: expect.stringMatching(/schema 2.*knows 1/) as string }));
  expect(readFileSync(path)).toEqual(before);
});

test.each([
  ['its header', (path: string) => writeAt(path, 0, Buffer.alloc(100, 0xff))],
  ['its schema page', (path: string) => writeAt(path, 100, Buffer.alloc(2000, 0xff))],
  ['pages in the middle', (path: string) => writeAt(path, 4096 * 8, Buffer.alloc(4096 * 20, 0xff))],
  ['its second half', (path: string) => truncateSync(path, Math.floor(readFileSync(path).length / 2 / 4096) * 4096)],
])('a database that has lost %s is refused as damaged, never replaced by an empty one', async (_, damage) => {
  const path = await filled();
  damage(path);
  const before = readFileSync(path);
  expect(() => openDatabase({ path })).toThrow(expect.objectContaining({ code: 'STORE_CORRUPT' }));
  expect(existsSync(path)).toBe(true);
  expect(readFileSync(path).equals(before)).toBe(true);
});

test('a file that is no database is refused as damaged', () => {
  const path = newPath();
  writeFileSync(path, 'These are my notes. '.repeat(500));
  expect(() => openDatabase({ path })).toThrow(expect.objectContaining({ code: 'STORE_CORRUPT' }));
  expect(readFileSync(path, 'utf8')).toMatch(/^These are my notes/);
});

test('a folder that cannot hold a database is said so', () => {
  expect(() => openDatabase({ path: join(import.meta.filename, 'state.db') })).toThrow(expect.objectContaining({ code: 'STORE_UNAVAILABLE' }));
});

function writeAt(path: string, position: number, bytes: Buffer): void {
  const file = readFileSync(path);
  bytes.copy(file, position);
  writeFileSync(path, file);
}
