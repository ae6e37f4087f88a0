/** The outbox: one row per part for ever, delivered in order per chat; what may have been sent is remembered as such. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Settlement } from '../../src/store/outbox.ts';
import { chat, openTestStore, part } from './support.ts';

const now = 1000;
const again = (at: number, more: Partial<Extract<Settlement, { state: 'waiting' }>> = {}): Settlement => ({ state: 'waiting', nextTryAt: at, error: 'later', ...more });

async function claim(store: ReturnType<typeof openTestStore>, id = 'c1', at = now) {
  return (await store.outbox.claim('test', id, at)).part;
}

test('parts of a chat are claimed in the order they were added, and one that waits holds back the later ones of its chat alone', async () => {
  const store = openTestStore();
  await store.outbox.add([part('one', { number: 0 }), part('two', { number: 1 }), part('elsewhere', { turnId: 't2', to: chat('c2') })], now);
  const one = await claim(store);
  expect(one?.payload.text).toBe('one');
  await store.outbox.settle(one?.id ?? 0, again(now + 500), now);
  expect(await store.outbox.claim('test', 'c1', now + 499)).toEqual({ part: null, at: now + 500 });
  expect((await claim(store, 'c2'))?.payload.text).toBe('elsewhere');
  const retried = await claim(store, 'c1', now + 500);
  expect(retried).toMatchObject({ id: one?.id, attempts: 2, firstTryAt: now });
  await store.outbox.settle(one?.id ?? 0, { state: 'sent', messageId: 'm1' }, now);
  expect((await claim(store))?.payload.text).toBe('two');
});

test('A11 openclaw#74321 a part is one row for ever: adding it again adds nothing, and what was sent is never claimed again', async () => {
  let store = openTestStore();
  const parts = [part('short', { number: 0 }), part('too long', { number: 1 })];
  await store.outbox.add(parts, now);
  const first = await claim(store);
  await store.outbox.settle(first?.id ?? 0, { state: 'sent', messageId: 'm1' }, now);
  for (let start = 0; start < 5; start++) {
    store = store.reopen();
    await store.outbox.recover();
    await store.outbox.add(parts, now);
    const next = await claim(store);
    expect(next?.payload.text).toBe('too long');
    await store.outbox.settle(next?.id ?? 0, again(now), now);
  }
  const last = await claim(store);
  await store.outbox.settle(last?.id ?? 0, { state: 'dead', error: 'message is too long' }, now);
  expect(await claim(store)).toBe(null);
  expect(store.outbox.counts()).toEqual({ sent: 1, dead: 1 });
});

test('a part in flight at a death waits again and is marked as maybe sent', async () => {
  const store = openTestStore();
  await store.outbox.add([part('in flight')], now);
  await claim(store);
  const later = store.reopen();
  await later.outbox.recover();
  expect(await claim(later)).toMatchObject({ maybeSent: 'died', attempts: 2 });
});

test('a part that a broken drain left in flight is claimed again as maybe sent, not stuck', async () => {
  const store = openTestStore();
  await store.outbox.add([part('left behind')], now);
  await claim(store);
  expect(await claim(store)).toMatchObject({ maybeSent: 'died' });
});

test('a terminal beside the daemon neither claims nor recovers the daemon\'s parts', async () => {
  const daemon = openTestStore();
  await daemon.outbox.add([part('in flight'), part('waiting', { number: 1 })], now);
  const inFlight = await claim(daemon);
  const terminal = openTestStore({ path: daemon.path, process: 'cli:1' });
  await terminal.outbox.recover();
  expect(terminal.outbox.openChats(now)).toEqual([]);
  expect(await claim(terminal)).toBe(null);
  expect(daemon.outbox.ofOrigin('turn', 't1').map(({ state, attempts, maybeSent }) => [state, attempts, maybeSent])).toEqual([['attempting', 1, 'no'], ['waiting', 0, 'no']]);
  await daemon.outbox.settle(inFlight?.id ?? 0, { state: 'sent', messageId: 'm' }, now);
});

test('an answer that was lost is told from a death, and a message that is gone is forgotten', async () => {
  const { outbox } = openTestStore();
  const { id } = await outbox.openPreview(part('hello'), now);
  await outbox.previewSent(id, 'm1');
  await outbox.closePreview(id, part('hello').payload);
  expect((await outbox.claim('test', 'c1', now)).part).toMatchObject({ maybeSent: 'no', messageId: 'm1' });
  await outbox.settle(id, again(now, { isLost: true }), now);
  expect((await outbox.claim('test', 'c1', now)).part).toMatchObject({ maybeSent: 'lost', messageId: 'm1' });
  await outbox.settle(id, again(now, { forgetMessage: true }), now);
  expect((await outbox.claim('test', 'c1', now)).part).toMatchObject({ maybeSent: 'lost', messageId: null });
});

test('limits that a former process met are known at the start, those of a chat and those of the whole bot', async () => {
  const store = openTestStore();
  await store.outbox.add([part('a'), part('b', { turnId: 't2', to: chat('c2') }), part('c', { turnId: 't3', to: chat('c3') })], now);
  await store.outbox.settle((await claim(store, 'c1'))?.id ?? 0, again(now + 60_000, { limited: 'chat' }), now);
  await store.outbox.settle((await claim(store, 'c2'))?.id ?? 0, again(now + 90_000, { limited: 'bot' }), now);
  const open = store.reopen().outbox.openChats(now).toSorted((x, y) => x.chat.localeCompare(y.chat));
  expect(open).toEqual([
    { platform: 'test', chat: 'c1', limitedUntil: now + 60_000, botLimitedUntil: null },
    { platform: 'test', chat: 'c2', limitedUntil: null, botLimitedUntil: now + 90_000 },
    { platform: 'test', chat: 'c3', limitedUntil: null, botLimitedUntil: null },
  ]);
});

describe('previews', () => {
  test('a preview is no part to deliver until its text is final; then it is an edit of the message that stands', async () => {
    const store = openTestStore();
    const preview = await store.outbox.openPreview(part('Hel'), now);
    await store.outbox.add([part('a question meanwhile', { number: 1 })], now);
    expect((await claim(store))?.payload.text).toBe('a question meanwhile');
    await store.outbox.previewSent(preview.id, 'm1');
    await store.outbox.closePreview(preview.id, { ...part('').payload, text: 'Hello.' });
    expect(await claim(store)).toMatchObject({ id: preview.id, messageId: 'm1', maybeSent: 'no', payload: { text: 'Hello.' } });
  });

  test('opened twice it is the same row, and one that died before its message was known may be there', async () => {
    const store = openTestStore();
    const { id } = await store.outbox.openPreview(part('Hel'), now);
    const again2 = await store.reopen().outbox.openPreview(part('Hell'), now);
    expect(again2).toMatchObject({ id, messageId: null, maybeSent: 'died', state: 'preview' });
  });
});

test('dead parts can be tried anew or given up, others cannot', async () => {
  const store = openTestStore();
  await store.outbox.add([part('one'), part('two', { number: 1 })], now);
  const one = await claim(store);
  expect(await store.outbox.retry(one?.id ?? 0, now)).toBe(null);
  await store.outbox.settle(one?.id ?? 0, { state: 'dead', error: 'refused' }, now);
  expect(await store.outbox.retry(one?.id ?? 0, now)).toMatchObject({ state: 'waiting', attempts: 0, firstTryAt: null });
  expect((await claim(store))?.payload.text).toBe('one');
  await store.outbox.settle(one?.id ?? 0, { state: 'dead', error: 'refused' }, now);
  expect(await store.outbox.drop(one?.id ?? 0, now)).toMatchObject({ state: 'dropped' });
  expect(await store.outbox.drop(one?.id ?? 0, now)).toBe(null);
  expect((await claim(store))?.payload.text).toBe('two');
});

test('the session is told once of what did not arrive', async () => {
  const store = openTestStore();
  const lost = { sessionId: 's1' };
  await store.outbox.add([part('one', lost), part('two', { ...lost, number: 1 }), part('three', { ...lost, number: 2 })], now);
  for (const settlement of [{ state: 'dead', error: 'refused' }, { state: 'unknown', error: 'no answer' }, { state: 'sent', messageId: 'm' }] as const)
    await store.outbox.settle((await claim(store))?.id ?? 0, settlement, now);
  expect((await store.outbox.takeUntold('s1')).map(({ payload, state }) => [payload.text, state])).toEqual([['one', 'dead'], ['two', 'unknown']]);
  expect(await store.outbox.takeUntold('s1')).toEqual([]);
});

test('parts that wait move with their chat; ended ones stay', async () => {
  const store = openTestStore();
  await store.outbox.add([part('sent before'), part('waiting', { number: 1 })], now);
  await store.outbox.settle((await claim(store))?.id ?? 0, { state: 'sent', messageId: 'm' }, now);
  await store.outbox.migrateChat('test', 'c1', 'c9');
  expect(await claim(store, 'c1')).toBe(null);
  expect((await claim(store, 'c9'))?.payload).toMatchObject({ text: 'waiting', address: { chat: 'c9' } });
  expect(store.outbox.ofOrigin('turn', 't1')[0]?.payload.address.chat).toBe('c1');
});

test('old rows go, dead ones stay until somebody decides', async () => {
  const store = openTestStore();
  await store.outbox.add([part('sent'), part('dead', { number: 1 }), part('waiting', { number: 2 })], now);
  await store.outbox.settle((await claim(store))?.id ?? 0, { state: 'sent', messageId: 'm' }, now);
  await store.outbox.settle((await claim(store))?.id ?? 0, { state: 'dead', error: 'refused' }, now);
  expect(await store.outbox.prune(now + 1)).toBe(1);
  expect(store.outbox.counts()).toEqual({ dead: 1, waiting: 1 });
});

test('whatever happens to its parts: one in flight per chat, in order, none after its end', async () => {
  const step = fc.oneof(
    fc.record({ add: fc.integer({ min: 0, max: 1 }) }),
    fc.record({ attempt: fc.integer({ min: 0, max: 1 }), outcome: fc.constantFrom('sent', 'again', 'dead', 'unknown', 'died') }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      let store = openTestStore();
      const open: number[][] = [[], []];
      let added = 0;
      for (const each of steps) {
        if ('add' in each) {
          added += 1;
          open[each.add]?.push(added);
          await store.outbox.add([part(String(added), { turnId: `t${added}`, to: chat(`c${each.add}`) })], now);
          continue;
        }
        const expected = open[each.attempt]?.[0];
        const found = await claim(store, `c${each.attempt}`);
        expect(found?.payload.text).toBe(expected === undefined ? undefined : String(expected));
        if (!found) continue;
        if (each.outcome === 'died') {
          store = store.reopen();
          await store.outbox.recover();
        } else if (each.outcome === 'again') await store.outbox.settle(found.id, again(now), now);
        else {
          open[each.attempt]?.shift();
          await store.outbox.settle(found.id, each.outcome === 'sent' ? { state: 'sent', messageId: 'm' } : { state: each.outcome, error: 'why' }, now);
        }
      }
      await store.close();
    }),
    { numRuns: 15 },
  );
});

test('what was sent anew because a death hid the end of the try before is told apart', async () => {
  let store = openTestStore();
  await store.outbox.add([part('once'), part('again', { turnId: 't2' })], now);
  await store.outbox.settle((await claim(store))?.id ?? 0, { state: 'sent', messageId: 'm1' }, now);
  await claim(store);
  store = store.reopen();
  await store.outbox.recover();
  await store.outbox.settle((await claim(store))?.id ?? 0, { state: 'sent', messageId: 'm2' }, now);
  expect(store.outbox.counts()).toEqual({ sent: 1, resent: 1 });
});
