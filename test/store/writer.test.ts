/** The one writer: what one tick asks for is one transaction, an operation that fails undoes itself alone, a failed commit fails all. */
import Database from 'better-sqlite3';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openDatabase, type StoreDatabase } from '../../src/store/database.ts';
import { tempHome } from '../support/temp-home.ts';

const steps = ['CREATE TABLE notes (text TEXT NOT NULL UNIQUE) STRICT'];

function open(beforeCommit = () => {}): { db: StoreDatabase; path: string; write(text: string): Promise<unknown>; kept(): string[] } {
  const path = join(tempHome(), 'state.db');
  const db = openDatabase({ path, steps, beforeCommit });
  onTestFinished(() => db.close());
  const insert = db.sql.prepare('INSERT INTO notes VALUES (?)');
  // Read over a connection of its own: what it sees is committed.
  const kept = () => {
    const other = new Database(path, { readonly: true });
    const texts = other.prepare('SELECT text FROM notes ORDER BY rowid').pluck().all() as string[];
    other.close();
    return texts;
  };
  return { db, path, write: (text) => db.write(() => insert.run(text).changes), kept };
}

test('writes of one tick share one transaction and are there once they resolve', async () => {
  let commits = 0;
  const { write, kept } = open(() => void (commits += 1));
  await Promise.all(['one', 'two', 'three'].map(write));
  expect(commits).toBe(1);
  expect(kept()).toEqual(['one', 'two', 'three']);
  await write('four');
  expect(commits).toBe(2);
  expect(kept()).toEqual(['one', 'two', 'three', 'four']);
});

test('what goes along shares the next transaction, or gets its own when none comes; the order stays', async () => {
  let commits = 0;
  const { db, write, kept } = open(() => void (commits += 1));
  const along = (text: string) => db.writeAlong(() => db.sql.prepare('INSERT INTO notes VALUES (?)').run(text).changes);
  await Promise.all([along('one'), write('two'), along('three')]);
  expect(commits).toBe(1);
  expect(kept()).toEqual(['one', 'two', 'three']);
  await along('four');
  expect(commits).toBe(2);
  const last = along('five');
  await db.close();
  await last;
  expect(kept()).toEqual(['one', 'two', 'three', 'four', 'five']);
});

test('nothing is resolved before it is committed', async () => {
  const seen: string[] = [];
  const { write } = open(() => void seen.push('commit'));
  await Promise.all([write('one').then(() => seen.push('one')), write('two').then(() => seen.push('two'))]);
  expect(seen).toEqual(['commit', 'one', 'two']);
});

test('an operation that throws undoes itself and leaves the others of its batch alone', async () => {
  const { db, write, kept } = open();
  const half = db.write(() => {
    db.sql.prepare("INSERT INTO notes VALUES ('half')").run();
    throw new Error('on second thought');
  });
  const outcomes = await Promise.allSettled([write('before'), half, write('before'), write('after')]);
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled']);
  await expect(half).rejects.toThrow('on second thought');
  expect(kept()).toEqual(['before', 'after']);
});

test('a commit that fails rejects the whole batch with STORE_UNAVAILABLE, keeps nothing of it, and the next one works', async () => {
  let isFull = true;
  const { write, kept } = open(() => {
    if (isFull) throw new Error('database or disk is full');
  });
  const outcomes = await Promise.allSettled([write('one'), write('two')]);
  for (const outcome of outcomes) expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'STORE_UNAVAILABLE' } });
  expect(kept()).toEqual([]);
  isFull = false;
  await Promise.all([write('one'), write('two')]);
  expect(kept()).toEqual(['one', 'two']);
});

test('a disk that is really full rejects the batch and nothing of it is half-written', async () => {
  const { db, write, kept } = open();
  await write('small');
  db.sql.pragma('max_page_count = 1');
  const outcomes = await Promise.allSettled([write('tiny'), write('x'.repeat(200_000))]);
  for (const outcome of outcomes) expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'STORE_UNAVAILABLE' } });
  expect(kept()).toEqual(['small']);
  db.sql.pragma('max_page_count = 100000');
  await write('y'.repeat(200_000));
  expect(kept()).toHaveLength(2);
});

test('after close nothing is written; what was asked for before is', async () => {
  const { db, write, kept } = open();
  const last = write('last');
  await db.close();
  await last;
  await expect(write('late')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  expect(kept()).toEqual(['last']);
  await db.close();
});

test('a lock that another process holds for a moment fails nothing', async () => {
  const { path, write, kept } = open();
  // The writer waits inside SQLite and blocks this thread, so only another process can let go meanwhile.
  const script = `const db = new (require('better-sqlite3'))(process.argv[1]); db.exec('BEGIN IMMEDIATE'); console.log('held'); setTimeout(() => db.exec('COMMIT'), 300);`;
  const holder = spawn(process.execPath, ['-e', script, path], { cwd: import.meta.dirname, stdio: ['ignore', 'pipe', 'inherit'] });
  await once(holder.stdout, 'data');
  await write('patient');
  expect(kept()).toEqual(['patient']);
});
