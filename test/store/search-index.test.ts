/** The search index runs behind the transcript by a few entries, and nobody who searches can tell. */
import Database from 'better-sqlite3';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openDatabase } from '../../src/store/database.ts';
import { migrations } from '../../src/store/migrations/index.ts';
import { tempHome } from '../support/temp-home.ts';
import { chat, openTestStore, type TestStore } from './support.ts';

const now = 1000;

async function openSession(store: TestStore): Promise<string> {
  return (await store.sessions.open({ key: 'k', owner: 'ann', address: chat(), now, settings: {}, isOver: () => null })).session.id;
}

async function tell(store: TestStore, sessionId: string, turnId: string, question: string, answer: string): Promise<void> {
  await store.transcript.beginTurn({ turnId, sessionId, model: 'm', context: '', entry: { role: 'user', turnId, text: question }, inboxIds: [], now });
  const usage = { input: 0, output: 0, cached: 0, requests: 1 };
  await store.commitTurn({ turnId, sessionId, state: 'answered', answer, code: null, model: 'm', steps: 1, usage, entry: { role: 'assistant', turnId, text: answer, toolCalls: [] }, parts: [], preview: null, inboxIds: [], inboxState: 'answered', now });
}

const find = (store: TestStore, query: string) => store.transcript.search(query, { owner: 'ann', roles: ['user', 'assistant', 'tool'], limit: 1000 }).map(({ text }) => text);

/** Ids that the index holds, read beside the store. */
function indexed(path: string): number {
  const sql = new Database(path, { readonly: true });
  const count = sql.prepare("SELECT count(*) FROM entries_fts WHERE entries_fts MATCH 'question'").pluck().get() as number;
  sql.close();
  return count;
}

test('turns take entries in some at a time; a search finds all of them at once, and each once', async () => {
  const store = openTestStore();
  const session = await openSession(store);
  const told: string[] = [];
  for (let n = 0; n < 35; n++) {
    await tell(store, session, `t${n}`, `question ${n}`, 'answer');
    told.unshift(`question ${n}`);
    // After every turn but one in ten some are still outside.
    expect(told.length - indexed(store.path)).toBeLessThan(10);
  }
  expect(indexed(store.path)).toBe(30);
  expect(find(store, 'question')).toEqual(told);
  expect(indexed(store.path)).toBe(35);
  expect(find(store.reopen(), 'question')).toEqual(told);
});

test('the result of a tool that ran while others were taken in is found when it has come', async () => {
  const store = openTestStore();
  const session = await openSession(store);
  await store.transcript.beginTurn({ turnId: 'slow', sessionId: session, model: 'm', context: '', entry: { role: 'user', turnId: 'slow', text: 'look' }, inboxIds: [], now });
  await store.transcript.append(session, { role: 'tool', turnId: 'slow', toolCallId: 'c1', name: 'look', text: null }, now);
  for (let n = 0; n < 15; n++) await tell(store, session, `t${n}`, `question ${n}`, 'answer');
  expect(find(store, 'lighthouse')).toEqual([]);
  await store.transcript.finishTool(session, { role: 'tool', turnId: 'slow', toolCallId: 'c1', name: 'look', text: 'a lighthouse' }, now);
  expect(find(store, 'lighthouse')).toEqual(['a lighthouse']);
});

test('a session that is deleted takes its entries out, those inside the index and those still outside', async () => {
  const store = openTestStore();
  const session = await openSession(store);
  for (let n = 0; n < 15; n++) await tell(store, session, `t${n}`, `question ${n}`, 'answer');
  const sql = new Database(store.path);
  sql.pragma('foreign_keys = ON');
  sql.prepare('DELETE FROM sessions').run();
  sql.close();
  expect(indexed(store.path)).toBe(0);
  const next = await openSession(store);
  await tell(store, next, 'after', 'question after', 'answer');
  expect(find(store, 'question')).toEqual(['question after']);
});

test('a store from before keeps what it had indexed, and goes on from there', async () => {
  const path = join(tempHome(), 'state.db');
  const old = openDatabase({ path, steps: migrations.slice(0, 2) });
  old.sql.exec(`INSERT INTO sessions (id, key, owner, platform, chat, started_at, last_active_at) VALUES ('s', 'k', 'ann', 'test', 'c1', 1, 1);
    INSERT INTO entries (session_id, turn_id, role, text, created_at) VALUES ('s', 't', 'user', 'question of old', 1)`);
  await old.close();
  const store = openTestStore({ path });
  expect(find(store, 'question')).toEqual(['question of old']);
  await tell(store, await openSession(store), 't1', 'question of now', 'answer');
  expect(find(store, 'question')).toEqual(['question of now', 'question of old']);
});
