/** A store as it is after years: many sessions, each with its turns, indexed entries and ended inbox rows. */
import Database from 'better-sqlite3';
import { join } from 'node:path';
import { openStore } from '../../src/store/store.ts';

export interface Seed {
  sessions: number;
  /** Questions and answers of each session together. */
  entriesEach: number;
  /** Ended inbox and outbox rows; the daemon keeps those of two days. */
  endedRows: number;
}

/** Makes `<home>/state.db`; the file must not exist. The rows are written by SQL inside SQLite, the schema by the store itself. */
export async function seedStore(home: string, { sessions, entriesEach, endedRows }: Seed): Promise<void> {
  const path = join(home, 'state.db');
  await openStore({ path, process: 'daemon' }).close();
  const sql = new Database(path);
  // Nothing is lost when the seeding dies: it is done anew.
  sql.pragma('synchronous = OFF');
  const now = Date.now();
  const numbers = (count: number) => `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ${count})`;
  const fill = sql.transaction(() => {
    sql.exec(`${numbers(sessions)} INSERT INTO sessions (id, key, owner, platform, chat, title, turns, started_at, last_active_at)
      SELECT printf('old_%06d', i), printf('telegram:7000001:dm:9%06d', i), printf('telegram:9%06d', i), 'telegram', printf('9%06d', i), 'About the weather', ${entriesEach / 2}, ${now} - i * 60000, ${now} - i * 60000 FROM n`);
    sql.exec(`${numbers((sessions * entriesEach) / 2)} INSERT INTO turns (id, session_id, state, model, answer, steps, started_at, ended_at)
      SELECT 't' || hex(randomblob(8)), printf('old_%06d', i / ${entriesEach / 2}), 'answered', 'scripted', 'It is a fine day.', 1, ${now}, ${now} FROM n`);
    sql.exec(`${numbers(sessions * entriesEach)} INSERT INTO entries (session_id, turn_id, role, text, created_at)
      SELECT printf('old_%06d', i / ${entriesEach}), printf('seeded_%d', i / 2), iif(i % 2, 'assistant', 'user'), printf('Message %d of somebody about %s and the weather in %s.', i, hex(randomblob(6)), hex(randomblob(4))), ${now} FROM n`);
    sql.exec(`${numbers(endedRows)} INSERT INTO inbox (platform, account, event_key, process, lane, message_id, message, state, turn_id, received_at, finished_at)
      SELECT 'telegram', '7000001', 'seeded:' || i, 'daemon', printf('telegram:7000001:dm:9%06d', i % ${sessions}), 'm' || i, '{}', 'answered', printf('seeded_%d', i), ${now}, ${now} FROM n`);
    sql.exec(`${numbers(endedRows)} INSERT INTO outbox (origin, origin_id, part, platform, chat, payload, state, message_id, created_at, done_at)
      SELECT 'turn', printf('seeded_%d', i), 0, 'telegram', printf('9%06d', i % ${sessions}), '{}', 'sent', i, ${now}, ${now} FROM n`);
  });
  fill();
  sql.close();
  // The first search takes everything into the index.
  const store = openStore({ path, process: 'daemon' });
  if (store.transcript.search('weather', { owner: null, roles: ['user'], limit: 1 }).length === 0) throw new Error('the seeded store finds nothing');
  await store.close();
}
