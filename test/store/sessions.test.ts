/** Sessions: one live per key, ended ones kept, resumed only by their owner, moved with their chat. */
import { expect, test } from 'vitest';
import { toSessionId } from '../../src/store/sessions.ts';
import { chat, openTestStore, type TestStore } from './support.ts';

const open = (store: TestStore, key: string, { owner = 'ann', at = 1000, reset = false, address = chat() } = {}) =>
  store.sessions.open({ key, owner, address, now: at, settings: { instructions: 'be brief' }, isOver: () => (reset ? 'idle' : null) });

test('two first messages at once open one session', async () => {
  const store = openTestStore();
  const [first, second] = await Promise.all([open(store, 'k'), open(store, 'k')]);
  expect(first?.session.id).toBe(second?.session.id);
  expect(first?.session).toMatchObject({ key: 'k', owner: 'ann', platform: 'test', turns: 0, settings: { instructions: 'be brief' } });
});

test('a reset ends the old one and opens the next in one transaction', async () => {
  const store = openTestStore();
  const old = (await open(store, 'k')).session;
  const { session, ended } = await open(store, 'k', { at: 2000, reset: true });
  expect(ended).toMatchObject({ reason: 'idle', session: { id: old.id } });
  expect(session.id).not.toBe(old.id);
  expect(store.sessions.get(old.id)?.endedAt).toBe(2000);
  expect(store.sessions.live('k')?.id).toBe(session.id);
});

test('ended by command, the next one keeps place, owner and settings', async () => {
  const store = openTestStore();
  const old = (await open(store, 'k', { address: { ...chat(), thread: '5' } })).session;
  const change = await store.sessions.end('k', 'new', 2000);
  expect(change?.old.id).toBe(old.id);
  expect(change?.fresh).toMatchObject({ owner: 'ann', settings: { instructions: 'be brief' }, turns: 0 });
  expect(store.sessions.addressOf(change?.fresh.id ?? '')).toMatchObject({ chat: 'c1', thread: '5' });
  expect(await store.sessions.end('nobody', 'new', 2000)).toBe(null);
});

test('only the owner resumes a session; the one that was live ends', async () => {
  const store = openTestStore();
  const first = (await open(store, 'k')).session;
  const second = (await store.sessions.end('k', 'new', 2000))?.fresh;
  expect(await store.sessions.resume(first.id, 'k', 'mallory', 3000)).toBe(null);
  expect(await store.sessions.resume('no-such', 'k', 'ann', 3000)).toBe(null);
  expect(store.sessions.live('k')?.id).toBe(second?.id);
  expect(await store.sessions.resume(first.id, 'k', 'ann', 3000)).toMatchObject({ id: first.id, endedAt: null });
  expect(store.sessions.live('k')?.id).toBe(first.id);
  expect(store.sessions.get(second?.id ?? '')?.endedAt).toBe(3000);
});

test('lists are newest first, by owner, by title or id', async () => {
  const store = openTestStore();
  for (const [key, owner, at] of [['a', 'ann', 1000], ['b', 'bob', 2000], ['c', 'ann', 3000]] as const) {
    const { session } = await open(store, key, { owner, at });
    await store.sessions.update(session.id, { title: `about ${key}` });
  }
  const titles = (filter: { owner?: string; search?: string }) => store.sessions.list({ ...filter, limit: 10 }).map(({ title }) => title);
  expect(titles({ owner: 'ann' })).toEqual(['about c', 'about a']);
  expect(titles({})).toEqual(['about c', 'about b', 'about a']);
  expect(titles({ owner: 'ann', search: 'bout a' })).toEqual(['about a']);
  expect(titles({ owner: 'ann', search: store.sessions.live('b')?.id ?? '' })).toEqual([]);
});

test('a chat that moves keeps its sessions; ids that only begin alike are left alone', async () => {
  const store = openTestStore();
  const group = (await open(store, 'agent:main:test:group:-5:7', { owner: 'test:user::7', address: chat('-5') })).session;
  const alike = (await open(store, 'agent:main:test:group:-55', { owner: 'test:chat::-55:', address: chat('-55') })).session;
  await store.sessions.migrateChat('test', '-5', '-1005');
  expect(store.sessions.live('agent:main:test:group:-1005:7')?.id).toBe(group.id);
  expect(store.sessions.live('agent:main:test:group:-5:7')).toBe(null);
  expect(store.sessions.addressOf(group.id)?.chat).toBe('-1005');
  expect(store.sessions.live('agent:main:test:group:-55')?.id).toBe(alike.id);
});

test('when somebody wrote to the new chat before its move was known, the older conversation goes on', async () => {
  const store = openTestStore();
  const old = (await open(store, 'agent:main:test:group:-5', { address: chat('-5') })).session;
  const young = (await open(store, 'agent:main:test:group:-1005', { address: chat('-1005'), at: 2000 })).session;
  await store.sessions.migrateChat('test', '-5', '-1005');
  expect(store.sessions.live('agent:main:test:group:-1005')?.id).toBe(old.id);
  expect(store.sessions.get(young.id)?.endedAt).not.toBe(null);
  await store.sessions.migrateChat('test', '-5', '-1005');
  expect(store.sessions.live('agent:main:test:group:-1005')?.id).toBe(old.id);
});

test('ids tell the local time of their beginning and never repeat', () => {
  const at = new Date(2026, 0, 2, 3, 4, 5).getTime();
  const ids = Array.from({ length: 100 }, () => toSessionId(at));
  expect(ids[0]).toMatch(/^20260102_030405_[0-9a-f]{8}$/);
  expect(new Set(ids).size).toBe(100);
});

test('small values of an adapter are kept apart by platform and listed by prefix', async () => {
  const store = openTestStore();
  await store.state('one').set('seen:2', 'b');
  await store.state('one').set('seen:1', 'a');
  await store.state('one').set('seen:1', 'c');
  await store.state('two').set('seen:1', 'other');
  const later = store.reopen().state('one');
  expect(await later.list('seen:')).toEqual([{ key: 'seen:1', value: 'c' }, { key: 'seen:2', value: 'b' }]);
  expect(await later.list('%')).toEqual([]);
  await later.delete('seen:1');
  expect(await later.get('seen:1')).toBeUndefined();
});
