/** The inbox is the queue: one row per event however often it comes, claimed one at a time per lane, ended once. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { admitAll, chat, claimTexts, openTestStore, part, said } from './support.ts';

const lane = 'lane';
const now = 10;

describe('admitting', () => {
  test('an event counts once, however often and in whatever order it comes, also after the process has gone', async () => {
    const store = openTestStore();
    const events = [said('one'), said('two'), said('three')];
    const admit = (index: number, to = store) => to.inbox.admit({ lane, message: events[index % 3] ?? said(''), now });
    const outcomes = await Promise.all([0, 1, 0, 2, 1, 0].map((index) => admit(index)));
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['fresh', 'fresh', 'duplicate', 'fresh', 'duplicate', 'duplicate']);
    expect(outcomes[2]?.id).toBe(outcomes[0]?.id);
    const later = store.reopen();
    expect((await admit(1, later)).outcome).toBe('duplicate');
    expect(await claimTexts(later, lane)).toEqual(['one']);
  });

  test('A2 openclaw#11337 an id lower than all before, and the same id for another bot, are new events', async () => {
    const { inbox } = openTestStore();
    const admit = async (key: string, account: string) => (await inbox.admit({ lane, message: said(key, { key, address: { ...chat(), account } }), now })).outcome;
    expect(await admit('update:900000001', 'bot-1')).toBe('fresh');
    expect(await admit('update:300', 'bot-1')).toBe('fresh');
    expect(await admit('update:300', 'bot-2')).toBe('fresh');
    expect(await admit('update:900000001', 'bot-1')).toBe('duplicate');
  });

  test('a key is forgotten after it has ended for long enough, and not before', async () => {
    const { inbox } = openTestStore();
    const event = said('once');
    const { id } = await inbox.admit({ lane, message: event, now: 1000 });
    await inbox.finish([id], 'answered', 2000);
    await admitAll({ inbox } as never, lane, ['still waiting']);
    expect(await inbox.prune(2000)).toBe(0);
    expect((await inbox.admit({ lane, message: event, now: 3000 })).outcome).toBe('duplicate');
    expect(await inbox.prune(2001)).toBe(1);
    expect((await inbox.admit({ lane, message: event, now: 3000 })).outcome).toBe('fresh');
  });

  test('over the limit a row is kept as declined together with what its sender is told', async () => {
    const { inbox, outbox } = openTestStore();
    const outcomes: string[] = [];
    for (let i = 0; i < 5; i++) outcomes.push((await inbox.admit({ lane, message: said(`${i}`), now, limit: 3, tellFull: (id) => [part('full', { turnId: `full${id}` })] })).outcome);
    expect(outcomes).toEqual(['fresh', 'fresh', 'fresh', 'full', 'full']);
    expect(inbox.waiting(lane)).toBe(3);
    expect(outbox.list(['waiting'], 10).map(({ payload }) => payload.text)).toEqual(['full', 'full']);
  });

  test('when the notice cannot be written the event is not kept either', async () => {
    let isFull = false;
    const { inbox } = openTestStore({
      beforeCommit() {
        if (isFull) throw new Error('disk full');
      },
    });
    const event = said('too much');
    isFull = true;
    await expect(inbox.admit({ lane, message: event, now, limit: 0, tellFull: () => [part('full')] })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    isFull = false;
    expect((await inbox.admit({ lane, message: event, now, limit: 0, tellFull: () => [part('full')] })).outcome).toBe('full');
  });

  test('a message that answers a question starts no turn, and a redelivery of it is not asked again', async () => {
    const { inbox } = openTestStore();
    let asked = 0;
    const isAnswer = () => (asked += 1) > 0;
    const answer = said('the blue one');
    expect((await inbox.admit({ lane, message: answer, now, isAnswer })).outcome).toBe('answer');
    expect((await inbox.admit({ lane, message: answer, now, isAnswer })).outcome).toBe('duplicate');
    expect(asked).toBe(1);
    expect(inbox.waiting(lane)).toBe(0);
  });
});

describe('edits', () => {
  test('an edit changes what waits and nothing that runs or has ended', async () => {
    const store = openTestStore();
    await admitAll(store, lane, ['helo'], { messageId: '7' });
    expect(await store.inbox.amend(said('hello', { messageId: '7', kind: 'edit' }))).toBe(true);
    expect(await claimTexts(store, lane)).toEqual(['hello']);
    expect(await store.inbox.amend(said('too late', { messageId: '7', kind: 'edit' }))).toBe(false);
  });

  test('message ids count per chat: an edit elsewhere leaves this chat alone', async () => {
    const store = openTestStore();
    await admitAll(store, lane, ['mine'], { messageId: '7', address: chat('c1') });
    await admitAll(store, 'other', ['yours'], { messageId: '7', address: chat('c2') });
    expect(await store.inbox.amend(said('changed', { messageId: '7', address: chat('c2') }))).toBe(true);
    expect(await store.inbox.amend(said('nowhere', { messageId: '7', address: chat('c3') }))).toBe(false);
    expect(await claimTexts(store, lane)).toEqual(['mine']);
    expect(await claimTexts(store, 'other')).toEqual(['changed']);
  });
});

describe('claiming', () => {
  test('rows of a lane are claimed one at a time, in order; other lanes are not held up', async () => {
    const store = openTestStore();
    const [first] = await admitAll(store, lane, ['one', 'two']);
    await admitAll(store, 'other', ['elsewhere']);
    const claims = await Promise.all([1, 2, 3].map(() => claimTexts(store, lane)));
    expect(claims).toEqual([['one'], [], []]);
    expect(await claimTexts(store, 'other')).toEqual(['elsewhere']);
    await store.inbox.finish([first ?? 0], 'answered', now);
    expect(await claimTexts(store, lane)).toEqual(['two']);
  });

  test('an album waits for its other pictures and is one claim', async () => {
    const store = openTestStore();
    const picture = (text: string, at: number) => store.inbox.admit({ lane, message: said(text, { albumId: 'album' }), now: at, readyAt: at + 1000 });
    await picture('look', 0);
    await picture('', 300);
    await admitAll(store, lane, ['what is this?']);
    await picture('', 600);
    expect(await store.inbox.claimNext(lane, 999, false)).toEqual({ rows: null, at: 1000 });
    expect(await claimTexts(store, lane, { now: 1000 })).toEqual(['look', '', '']);
  });

  test('collect takes what the same person has said meanwhile, up to the next command', async () => {
    const store = openTestStore();
    const texts = async () => {
      const { rows } = await store.inbox.claimNext(lane, now, true);
      if (rows) await store.inbox.finish(rows.map(({ id }) => id), 'answered', now);
      return rows?.map(({ message }) => message.text);
    };
    await admitAll(store, lane, ['one', 'two']);
    await admitAll(store, lane, ['from Bob'], { sender: { id: 'u2', name: 'Bob', isBot: false } });
    await admitAll(store, lane, ['three', '/undo', 'four', 'five']);
    expect(await texts()).toEqual(['one', 'two', 'three']);
    expect(await texts()).toEqual(['from Bob']);
    expect(await texts()).toEqual(['/undo']);
    expect(await texts()).toEqual(['four', 'five']);
    expect(await texts()).toBeUndefined();
  });

  test('a turn that was begun goes on with exactly the rows it began with', async () => {
    const store = openTestStore();
    await admitAll(store, lane, ['one', 'two']);
    const { rows } = await store.inbox.claimNext(lane, now, true);
    const { session } = await store.sessions.open({ key: lane, owner: 'o', address: chat(), now, settings: {}, isOver: () => null });
    const inboxIds = rows?.map(({ id }) => id) ?? [];
    await store.transcript.beginTurn({ turnId: 't1', sessionId: session.id, model: 'm', context: '', entry: { role: 'user', turnId: 't1', text: 'one\ntwo' }, inboxIds, now });
    const later = store.reopen();
    await later.inbox.recover();
    await admitAll(later, lane, ['three']);
    // Whatever the mode is now: nothing is added to a turn that was begun, and nothing of it is left to become another.
    for (const collect of [true, false]) {
      const claim = await later.inbox.claimNext(lane, now, collect);
      expect(claim.rows?.map(({ message, turnId }) => [message.text, turnId])).toEqual([['one', 't1'], ['two', 't1']]);
      await later.inbox.release(inboxIds);
    }
  });

  test('whatever is admitted, claimed and ended in whatever order: each row runs once, in the order of its lane, never two of a lane at once', async () => {
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.record({ admit: fc.integer({ min: 0, max: 2 }) }) },
      { weight: 3, arbitrary: fc.record({ claim: fc.integer({ min: 0, max: 2 }) }) },
      { weight: 2, arbitrary: fc.record({ end: fc.integer({ min: 0, max: 2 }) }) },
      { weight: 1, arbitrary: fc.constant({ die: true as const }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        let store = openTestStore();
        const waiting: number[][] = [[], [], []];
        const running: (number | null)[] = [null, null, null];
        for (const each of steps) {
          if ('admit' in each) waiting[each.admit]?.push(...(await admitAll(store, `${each.admit}`, ['text'])));
          else if ('claim' in each) {
            const { rows } = await store.inbox.claimNext(`${each.claim}`, now, false);
            const expected = running[each.claim] === null ? waiting[each.claim]?.shift() : undefined;
            expect(rows?.map(({ id }) => id)).toEqual(expected === undefined ? undefined : [expected]);
            running[each.claim] = running[each.claim] ?? expected ?? null;
          } else if ('end' in each) {
            const id = running[each.end];
            if (id !== null && id !== undefined) await store.inbox.finish([id], 'answered', now);
            running[each.end] = null;
          } else {
            store = store.reopen();
            const { lanes } = await store.inbox.recover();
            for (const [index, id] of running.entries()) {
              if (id !== null) waiting[index]?.unshift(id);
              running[index] = null;
            }
            expect(lanes.toSorted()).toEqual(['0', '1', '2'].filter((name) => (waiting[Number(name)]?.length ?? 0) > 0));
          }
        }
        await store.close();
      }),
      { numRuns: 15 },
    );
  });
});

describe('after a death', () => {
  test('what ran waits again with one more death; what was given back in an orderly way does not', async () => {
    const store = openTestStore();
    const [a] = await admitAll(store, 'a', ['ran']);
    const [b] = await admitAll(store, 'b', ['given back']);
    await claimTexts(store, 'a');
    await claimTexts(store, 'b');
    await store.inbox.release([b ?? 0]);
    const later = store.reopen();
    expect((await later.inbox.recover()).lanes.toSorted()).toEqual(['a', 'b']);
    const claims = [await later.inbox.claimNext('a', now, false), await later.inbox.claimNext('b', now, false)];
    expect(claims.map(({ rows }) => rows?.[0].deaths)).toEqual([1, 0]);
    expect(claims[0]?.rows?.[0].id).toBe(a);
  });

  test('a death while it ran alone makes it poison, again and again until it is ended', async () => {
    let store = openTestStore();
    const [id = 0] = await admitAll(store, lane, ['boom', 'behind it']);
    await claimTexts(store, lane);
    await store.inbox.markAlone(id);
    for (let start = 0; start < 2; start++) {
      store = store.reopen();
      expect((await store.inbox.recover()).poison.map((row) => [row.id, row.deaths])).toEqual([[id, 1]]);
      expect(await claimTexts(store, lane)).toEqual([]);
    }
    await store.finishWith([id], 'quarantined', [], now);
    expect(await claimTexts(store, lane)).toEqual(['behind it']);
    expect(store.inbox.look(id)).toEqual({ state: 'quarantined', turnId: null });
  });

  test('one that only asked the model when the process died alone with it is given two more chances, one whose tool ran is not', async () => {
    for (const [lastWords, lives] of [['the question', 3], ['a running tool', 1], ['a result', 3]] as const) {
      let store = openTestStore();
      const [id = 0] = await admitAll(store, lane, ['text']);
      const { session } = await store.sessions.open({ key: lane, owner: 'o', address: chat(), now, settings: {}, isOver: () => null });
      await store.transcript.beginTurn({ turnId: 't1', sessionId: session.id, model: 'm', context: '', entry: { role: 'user', turnId: 't1', text: 'text' }, inboxIds: [id], now });
      if (lastWords !== 'the question') {
        await store.transcript.append(session.id, { role: 'assistant', turnId: 't1', text: '', toolCalls: [{ id: 'c1', name: 'look', args: {} }] }, now);
        await store.transcript.append(session.id, { role: 'tool', turnId: 't1', toolCallId: 'c1', name: 'look', text: lastWords === 'a result' ? 'seen' : null }, now);
      }
      let alone = 0;
      for (let death = 1; ; death++) {
        await claimTexts(store, lane);
        if (death > 2) {
          await store.inbox.markAlone(id);
          alone += 1;
        }
        store = store.reopen();
        if ((await store.inbox.recover()).poison.length > 0) break;
      }
      expect([lastWords, alone]).toEqual([lastWords, lives]);
    }
  });

  test('rows of another process are left alone', async () => {
    const daemon = openTestStore();
    const [id = 0] = await admitAll(daemon, lane, ['to the daemon']);
    await claimTexts(daemon, lane);
    const terminal = openTestStore({ path: daemon.path, process: 'cli:1' });
    expect(await terminal.inbox.recover()).toEqual({ lanes: [], poison: [] });
    expect(await claimTexts(terminal, lane)).toEqual([]);
    // It runs on: taken back, it would be run a second time.
    expect(daemon.inbox.look(id)?.state).toBe('running');
    expect(await claimTexts(daemon, lane)).toEqual([]);
  });
});
