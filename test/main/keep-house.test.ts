/** Upkeep of the store: what has ended is forgotten, but not while a platform may still deliver it again. */
import { expect, test } from 'vitest';
import { silentLog } from '../../src/lib/log.ts';
import { keepHouse } from '../../src/main/keep-house.ts';
import { stopClock } from '../gateway/clock.ts';
import { openTestStore, said } from '../store/support.ts';

const hour = 3600_000;

test('an event that is delivered again a day later is still known, and is forgotten at last', async () => {
  const clock = stopClock();
  const store = openTestStore();
  const house = keepHouse(store, { rules: { days: null, maxGb: null }, log: silentLog, now: clock.now });
  const event = said('hello');
  const deliver = () => store.inbox.admit({ lane: 'l1', message: event, now: clock.now() });
  const { id } = await deliver();
  await store.inbox.finish([id], 'answered', clock.now());
  // Telegram keeps an update for 24 hours.
  await clock.advance(25 * hour, hour);
  expect((await deliver()).outcome).toBe('duplicate');
  await clock.advance(25 * hour, hour);
  expect((await deliver()).outcome).toBe('fresh');
  house.stop();
});

test('sessions go after the days that are set, or the oldest while the file is too large; one in use stays', async () => {
  const clock = stopClock();
  const store = openTestStore();
  const open = async (key: string, daysAgo: number) => {
    const { session } = await store.sessions.open({ key, owner: 'o', address: said('').address, now: clock.now() - daysAgo * 24 * hour, settings: {}, isOver: () => null });
    return session.id;
  };
  const left = () => store.sessions.list({ limit: 10 }).map(({ key }) => key).toSorted();
  for (const [key, daysAgo] of [['a', 100], ['b', 40], ['c', 10], ['d', 0]] as const) await open(key, daysAgo);
  const running = await open('e', 100);
  await store.transcript.beginTurn({ turnId: 't1', sessionId: running, model: 'm', context: '', entry: { role: 'user', turnId: 't1', text: 'hi' }, inboxIds: [], now: clock.now() });

  const keep = async (rules: { days: number | null; maxGb: number | null }) => {
    const house = keepHouse(store, { rules, log: silentLog, now: clock.now });
    await clock.advance(60_000, 60_000);
    house.stop();
  };
  await keep({ days: null, maxGb: 1 });
  expect(left()).toEqual(['a', 'b', 'c', 'd', 'e']);
  await keep({ days: 30, maxGb: null });
  expect(left()).toEqual(['c', 'd', 'e']);
  await keep({ days: null, maxGb: 0.000001 });
  expect(left()).toEqual(['d', 'e']);
});
