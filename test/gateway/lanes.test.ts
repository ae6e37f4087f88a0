/** One turn at a time per key, in order, nothing stranded, whatever comes at whatever moment; and suspects run alone. */
import * as fc from 'fast-check';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { controlLane, isControlLane, ownLane } from '../../src/gateway/control-lane.ts';
import { createLanes, type Claimed } from '../../src/gateway/lanes.ts';
import { createKeyedLoop, type Step } from '../../src/lib/keyed-loop.ts';
import { silentLog } from '../../src/lib/log.ts';
import type { InboxRow } from '../../src/store/inbox.ts';
import { admitAll, openTestStore, said } from '../store/support.ts';
import { waitFor } from '../support/wait-for.ts';

const tick = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('the loop', () => {
  test('a wake that comes at any moment of a step is not lost, and steps of a key never overlap', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 30 }), fc.integer({ min: 1, max: 3 }), async (scheduler, keys, maxRunning) => {
        const waiting = new Map<string, number[]>();
        const done = new Map<string, number[]>();
        const active = new Set<string>();
        const loop = createKeyedLoop({
          maxRunning,
          now: Date.now,
          log: silentLog,
          async step(key): Promise<Step> {
            if (active.has(key)) throw new Error(`two steps of ${key} at once`);
            active.add(key);
            expect(active.size).toBeLessThanOrEqual(maxRunning);
            await scheduler.schedule(Promise.resolve(), `look ${key}`);
            const next = waiting.get(key)?.shift();
            // Here the queue was empty; a message that comes from now on must wake the key again.
            await scheduler.schedule(Promise.resolve(), `work ${key}`);
            active.delete(key);
            if (next === undefined) return 'idle';
            done.set(key, [...(done.get(key) ?? []), next]);
            return 'again';
          },
        });
        loop.open();
        const sent = keys.map(async (number, index) => {
          await scheduler.schedule(Promise.resolve(), `message ${index}`);
          const key = `key ${number}`;
          waiting.set(key, [...(waiting.get(key) ?? []), index]);
          loop.wake(key);
        });
        await scheduler.waitFor(Promise.all(sent));
        await scheduler.waitIdle();
        expect([...waiting.values()].flat()).toEqual([]);
        expect([...done.values()].flat().toSorted((a, b) => a - b)).toEqual(keys.map((_, index) => index));
        expect(loop.running()).toBe(0);
        await loop.close();
      }),
      { numRuns: 300 },
    );
  });

  test('before it is opened wakes are only remembered', async () => {
    const steps: string[] = [];
    const loop = createKeyedLoop({ maxRunning: 1, now: Date.now, log: silentLog, step: async (key) => (steps.push(key), 'idle') });
    for (const key of ['a', 'b', 'a']) loop.wake(key);
    await tick();
    expect(steps).toEqual([]);
    loop.open();
    await tick();
    expect(steps).toEqual(['a', 'b']);
  });

  test('a step that throws is tried again in five seconds and holds up no other key', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const steps: string[] = [];
    const loop = createKeyedLoop({
      maxRunning: 2,
      now: Date.now,
      log: silentLog,
      async step(key) {
        steps.push(key);
        if (key === 'bad' && steps.length < 3) throw new Error('a defect');
        return 'idle';
      },
    });
    loop.open();
    loop.wake('bad');
    loop.wake('good');
    await tick();
    vi.advanceTimersByTime(4999);
    await tick();
    expect(steps).toEqual(['bad', 'good']);
    vi.advanceTimersByTime(1);
    await tick();
    expect(steps).toEqual(['bad', 'good', 'bad']);
  });

  test('closing lets running steps end and begins no other', async () => {
    let release = () => {};
    const steps: string[] = [];
    const loop = createKeyedLoop({ maxRunning: 1, now: Date.now, log: silentLog, step: (key) => new Promise((resolve) => (steps.push(key), (release = () => resolve('again')))) });
    loop.open();
    loop.wake('a');
    loop.wake('b');
    let isClosed = false;
    const closed = loop.close().then(() => void (isClosed = true));
    await tick();
    expect(isClosed).toBe(false);
    release();
    await closed;
    expect(steps).toEqual(['a']);
  });
});

describe('lanes', () => {
  test('B3 a thousand messages over twenty sessions with random stalls: each once, in order, never two of a session at once', async () => {
    const store = openTestStore();
    const seen = new Map<string, string[]>();
    const active = new Set<string>();
    const lanes = createLanes({
      claim: (lane) => store.inbox.claimNext(lane, Date.now(), false),
      async run(rows) {
        const [{ lane, id, message }] = rows;
        expect(active.has(lane)).toBe(false);
        active.add(lane);
        for (let stall = (id * 7919) % 5; stall > 0; stall--) await tick();
        await store.inbox.finish([id], 'answered', 1);
        active.delete(lane);
        seen.set(lane, [...(seen.get(lane) ?? []), message.text]);
      },
      markAlone: async () => {},
      maxRunning: 8,
      log: silentLog,
      now: Date.now,
    });
    lanes.open();
    const sending = Array.from({ length: 1000 }, async (_, i) => {
      for (let wait = i % 13; wait > 0; wait--) await tick();
      const lane = `lane ${i % 20}`;
      const { id } = await store.inbox.admit({ lane, message: said(''), now: 1 });
      lanes.wake(lane);
      return { lane, id };
    });
    const admitted = await Promise.all(sending);
    await waitFor('all of them', () => [...seen.values()].flat().length === 1000, 20_000);
    await lanes.close();
    for (const { lane } of admitted) expect(store.inbox.waiting(lane)).toBe(0);
    expect(admitted.every(({ id }) => store.inbox.look(id)?.state === 'answered')).toBe(true);
  });

  interface Desk {
    lanes: ReturnType<typeof createLanes>;
    running: string[];
    marked: string[];
    end(text: string): Promise<void>;
    add(lane: string, text: string, deaths?: number): void;
  }

  /** Lanes over rows in memory; each run lasts until it is ended. */
  function openDesk(maxRunning = 8): Desk {
    const waiting = new Map<string, InboxRow[]>();
    const running = new Map<string, () => void>();
    const names: string[] = [];
    const marked: string[] = [];
    let id = 0;
    const lanes = createLanes({
      claim: async (lane) => {
        const row = waiting.get(lane)?.shift();
        return row ? { rows: [row] } : { rows: null, at: null };
      },
      async run([{ message }]: Claimed) {
        names.push(message.text);
        await new Promise<void>((resolve) => running.set(message.text, resolve));
        names.splice(names.indexOf(message.text), 1);
      },
      markAlone: async ([{ message }]) => void marked.push(message.text),
      maxRunning,
      log: silentLog,
      now: Date.now,
    });
    lanes.open();
    return {
      lanes,
      running: names,
      marked,
      async end(text) {
        running.get(text)?.();
        for (let i = 0; i < 5; i++) await tick();
      },
      add(lane, text, deaths = 0) {
        id += 1;
        waiting.set(lane, [...(waiting.get(lane) ?? []), { id, lane, message: said(text), verdict: null, turnId: null, deaths, receivedAt: 0 }]);
        lanes.wake(lane);
      },
    };
  }

  const settle = async () => {
    for (let i = 0; i < 5; i++) await tick();
  };

  test('a message in which the process died twice runs alone: it waits for the others, and later comers wait for it', async () => {
    const { running, marked, end, add } = openDesk();
    add('a', 'ordinary');
    await settle();
    add('b', 'suspect', 2);
    await settle();
    add('c', 'later');
    await settle();
    expect(running).toEqual(['ordinary']);
    expect(marked).toEqual([]);
    await end('ordinary');
    expect(running).toEqual(['suspect']);
    expect(marked).toEqual(['suspect']);
    await end('suspect');
    expect(running).toEqual(['later']);
  });

  test('one death is nobody\'s fault yet', async () => {
    const { running, marked, add } = openDesk();
    add('a', 'ordinary');
    add('b', 'unlucky', 1);
    await settle();
    expect(running).toEqual(['ordinary', 'unlucky']);
    expect(marked).toEqual([]);
  });

  test('a control command waits for no turn: not for one that runs alone, and not for a place among many', async () => {
    const { running, end, add } = openDesk(2);
    for (const lane of ['a', 'b', 'c']) add(lane, `turn ${lane}`);
    add(controlLane('a'), '/stop a');
    await settle();
    expect(running).toEqual(['turn a', 'turn b', '/stop a']);
    for (const text of ['/stop a', 'turn a', 'turn b', 'turn c']) await end(text);
    add('d', 'suspect', 2);
    await settle();
    add(controlLane('d'), '/stop d');
    await settle();
    expect(running).toEqual(['suspect', '/stop d']);
  });

  test('whatever mixture of suspects and others: a suspect never runs beside another, and all of them run', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.record({ lane: fc.integer({ min: 0, max: 4 }), deaths: fc.integer({ min: 0, max: 2 }) }), { maxLength: 15 }), fc.infiniteStream(fc.nat()), async (rows, choices) => {
        const { running, end, add } = openDesk(3);
        const suspects = new Set(rows.flatMap(({ deaths }, index) => (deaths === 2 ? [`${index}`] : [])));
        for (const [index, { lane, deaths }] of rows.entries()) add(`lane ${lane}`, `${index}`, deaths);
        await settle();
        let ended = 0;
        while (running.length > 0) {
          if (running.some((text) => suspects.has(text))) expect(running).toHaveLength(1);
          expect(running.length).toBeLessThanOrEqual(3);
          await end(running[(choices.next().value as number) % running.length] ?? '');
          ended += 1;
        }
        expect(ended).toBe(rows.length);
      }),
      { numRuns: 50 },
    );
  });
});

test('a row that only waits, for a suspect or to be alone, is not blamed for the death of the process', async () => {
  let store = openTestStore();
  const [suspect = 0] = await admitAll(store, 'suspect', ['suspect']);
  for (let death = 0; death < 2; death++) {
    await store.inbox.claimNext('suspect', 1, false);
    store = store.reopen();
    await store.inbox.recover();
  }
  const [ordinary = 0] = await admitAll(store, 'ordinary', ['ordinary']);
  const ran: string[] = [];
  const lanes = createLanes({
    claim: (lane) => store.inbox.claimNext(lane, 1, false),
    run: ([{ message }]) => new Promise(() => void ran.push(message.text)),
    markAlone: ([{ id }]) => store.inbox.markAlone(id),
    maxRunning: 8,
    log: silentLog,
    now: Date.now,
  });
  lanes.wake('ordinary');
  lanes.wake('suspect');
  lanes.open();
  await waitFor('the ordinary one', () => ran.length === 1);
  const [later = 0] = await admitAll(store, 'later', ['later']);
  lanes.wake('later');
  for (let i = 0; i < 10; i++) await tick();
  expect([suspect, ordinary, later].map((id) => store.inbox.look(id)?.state)).toEqual(['waiting', 'running', 'waiting']);
  const next = store.reopen();
  expect((await next.inbox.recover()).poison).toEqual([]);
  const deaths = await Promise.all(['suspect', 'ordinary', 'later'].map(async (lane) => (await next.inbox.claimNext(lane, 1, false)).rows?.[0].deaths));
  expect(deaths).toEqual([2, 1, 0]);
});

test('nobody can name a chat into being a control lane', () => {
  expect(isControlLane(controlLane('agent:main:http:dm:x'))).toBe(true);
  expect(ownLane(controlLane('agent:main:http:dm:x'))).toBe('agent:main:http:dm:x');
  for (const id of ['x#control', 'x:control', 'control', '\\ncontrol']) expect(isControlLane(`agent:main:http:dm:${id}`)).toBe(false);
});

test('a claim of the store leaves nothing behind for a lane that was woken too early', async () => {
  const store = openTestStore();
  const runs: string[] = [];
  const lanes = createLanes({
    claim: (lane) => store.inbox.claimNext(lane, Date.now(), false),
    async run(rows) {
      runs.push(rows[0].message.text);
      await store.inbox.finish([rows[0].id], 'answered', 1);
    },
    markAlone: async () => {},
    maxRunning: 4,
    log: silentLog,
    now: Date.now,
  });
  lanes.open();
  await store.inbox.admit({ lane: 'album', message: said('picture', { albumId: 'a' }), now: 1, readyAt: Date.now() + 60 });
  lanes.wake('album');
  await admitAll(store, 'other', ['text']);
  lanes.wake('other');
  await waitFor('both', () => runs.length === 2);
  expect(runs).toEqual(['text', 'picture']);
  await lanes.close();
});
