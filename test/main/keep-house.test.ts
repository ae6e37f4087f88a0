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
  const house = keepHouse(store, { log: silentLog, now: clock.now });
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
