/** The drain: parts of a chat in order, nothing into a limit, nothing given up in silence, and no chat held up by another. */
import { describe, expect, test } from 'vitest';
import type { SendOutcome } from '../../src/contract/adapter.ts';
import { createDelivery, type Delivery } from '../../src/gateway/delivery.ts';
import { createGates } from '../../src/gateway/gates.ts';
import { silentLog } from '../../src/lib/log.ts';
import { createHooks } from '../../src/plugins/hooks.ts';
import { chat, openTestStore, part, type TestStore } from '../store/support.ts';
import { stopClock, type Clock } from './clock.ts';
import { createScriptedAdapter, type AdapterOptions, type ScriptedAdapter } from './scripted-adapter.ts';

interface Scene {
  clock: Clock;
  store: TestStore;
  adapter: ScriptedAdapter;
  delivery: Delivery;
  trouble: string[];
  hooked: unknown[];
  add(text: string, to?: string): Promise<void>;
  /** The process dies (or stops) and another begins with the same store and platform. */
  restart(): Promise<void>;
}

interface SceneOptions extends AdapterOptions {
  beforeCommit?: () => void;
  others?: ScriptedAdapter[];
}

async function open({ beforeCommit, others = [], ...options }: SceneOptions = {}): Promise<Scene> {
  const clock = stopClock();
  const adapter = createScriptedAdapter(options);
  const trouble: string[] = [];
  const hooked: unknown[] = [];
  const hooks = createHooks({ log: silentLog, limits: { preMs: 1000, postMs: 1000 } });
  hooks.add('watcher', 'on_delivery', (payload) => void hooked.push([payload['part'], payload['status'], payload['error']]));
  let turns = 0;

  const start = async (store: TestStore) => {
    const delivery = createDelivery({
      outbox: store.outbox,
      gates: createGates(clock.now),
      adapterOf: (platform) => [adapter, ...others].find((each) => each.platform === platform),
      hooks,
      log: silentLog,
      now: clock.now,
      random: () => 0.5,
      crash() {},
      onTrouble: (row, state, error) => void trouble.push(`${state}: ${row.payload.text}: ${error}`),
      onMoved: (platform, from, to) => store.outbox.migrateChat(platform, from, to),
    });
    await store.outbox.recover();
    delivery.open();
    return delivery;
  };

  const store = openTestStore(beforeCommit ? { beforeCommit } : {});
  const scene: Scene = {
    clock,
    store,
    adapter,
    delivery: await start(store),
    trouble,
    hooked,
    async add(text, to = 'c1') {
      turns += 1;
      await scene.store.outbox.add([part(text, { turnId: `t${turns}`, to: chat(to) })], clock.now());
      scene.delivery.kick('test', to);
    },
    async restart() {
      void scene.delivery.close();
      scene.store = scene.store.reopen();
      scene.delivery = await start(scene.store);
    },
  };
  return scene;
}

const limited = (retryAfterMs: number, scope: 'chat' | 'bot' = 'chat'): SendOutcome => ({ status: 'rate_limited', retryAfterMs, scope });
const broken: SendOutcome = { status: 'transient', error: 'HTTP 500' };
const lost: SendOutcome = { status: 'unknown', error: 'no answer' };
const refused: SendOutcome = { status: 'permanent', error: 'message is too long' };

test('parts of a chat go out in order, each once', async () => {
  const { clock, adapter, add, store, hooked } = await open();
  for (const text of ['one', 'two', 'three']) await add(text);
  await clock.advance(0);
  expect(adapter.texts()).toEqual(['one', 'two', 'three']);
  expect(adapter.calls.map(({ key }) => key)).toEqual(['hg1', 'hg2', 'hg3']);
  expect(store.outbox.counts()).toEqual({ sent: 3 });
  expect(hooked).toEqual([[0, 'sent', null], [0, 'sent', null], [0, 'sent', null]]);
});

describe('rate limits', () => {
  test.each([1, 33, 149, 6000])('A9 hermes-agent#46762 retry_after of %i s: not one call before its end, then the text, once; other chats go on', async (seconds) => {
    const { clock, adapter, add } = await open();
    const start = clock.now();
    adapter.next(limited(seconds * 1000));
    await add('the final');
    await clock.advance(500);
    await add('and another');
    await add('elsewhere', 'c2');
    await clock.advance(seconds * 1100 + 1000, seconds > 100 ? 5000 : 250);
    expect(adapter.texts('c2')).toEqual(['elsewhere']);
    expect(adapter.texts('c1')).toEqual(['the final', 'and another']);
    const calls = adapter.calls.filter((call) => call.chat === 'c1').map(({ at }) => at - start);
    expect(calls).toHaveLength(3);
    expect(Math.min(...calls.slice(1))).toBeGreaterThanOrEqual(seconds * 1100);
  });

  test('a limit of the whole bot holds every chat of its platform', async () => {
    const { clock, adapter, add } = await open();
    adapter.next(limited(60_000, 'bot'));
    await add('one');
    await clock.advance(100);
    await add('two', 'c2');
    await clock.advance(65_000);
    expect(adapter.calls).toHaveLength(1);
    await clock.advance(2000);
    expect(adapter.texts()).toEqual(['one', 'two']);
  });

  test.each(['chat', 'bot'] as const)('a limit of a %s that was met before a restart is kept after it', async (scope) => {
    const scene = await open();
    const { clock, adapter } = scene;
    adapter.next(limited(6_000_000, scope));
    await scene.add('deferred');
    await clock.advance(100);
    await scene.restart();
    await scene.add(scope === 'bot' ? 'any chat' : 'behind it', scope === 'bot' ? 'c2' : 'c1');
    await clock.advance(6_590_000, 5000);
    expect(adapter.calls).toHaveLength(1);
    await clock.advance(20_000);
    expect(adapter.texts().toSorted()).toEqual(['deferred', scope === 'bot' ? 'any chat' : 'behind it'].toSorted());
  });

  test('a platform that doubles its limit at each early call never sees one', async () => {
    const { clock, adapter, add } = await open();
    let until = 0;
    let penaltyMs = 10_000;
    let early = 0;
    adapter.answer(() => {
      if (clock.now() >= until && penaltyMs > 10_000 * 4) return undefined;
      if (clock.now() < until) early += 1;
      penaltyMs *= 2;
      until = clock.now() + penaltyMs;
      return limited(penaltyMs);
    });
    for (const text of ['one', 'two', 'three']) await add(text);
    await clock.advance(300_000, 1000);
    expect(early).toBe(0);
    expect(adapter.texts()).toEqual(['one', 'two', 'three']);
  });
});

describe('faults', () => {
  test('one HTTP 500 costs a second, not the reply', async () => {
    const { clock, adapter, add } = await open();
    adapter.next(broken);
    await add('hello');
    await clock.advance(900);
    expect(adapter.texts()).toEqual([]);
    await clock.advance(300);
    expect(adapter.texts()).toEqual(['hello']);
  });

  test('a platform that is down is tried after 1, 2, 4, 8, 16 s, then every 5 minutes for an hour; then it is said aloud', async () => {
    const { clock, adapter, add, trouble, store } = await open();
    const start = clock.now();
    adapter.answer(() => broken);
    await add('hello');
    await clock.advance(3 * 3600_000, 1000);
    const seconds = adapter.calls.map(({ at }) => Math.round((at - start) / 1000));
    expect(seconds.slice(0, 8)).toEqual([0, 1, 3, 7, 15, 31, 331, 631]);
    expect(seconds.at(-1)).toBeGreaterThanOrEqual(3600);
    expect(seconds.at(-1)).toBeLessThan(4200);
    expect(trouble).toEqual(['dead: hello: HTTP 500']);
    expect(store.outbox.counts()).toEqual({ dead: 1 });
  });

  test('a part that waits holds back the later ones of its chat', async () => {
    const { clock, adapter, add } = await open();
    adapter.next(broken, broken);
    await add('one');
    await add('two');
    await clock.advance(2500);
    expect(adapter.calls.map(({ text }) => text)).toEqual(['one', 'one']);
    await clock.advance(1000);
    expect(adapter.texts()).toEqual(['one', 'two']);
  });

  test('a reply of three parts whose second one fails again and again: the first is not sent again, over restarts neither', async () => {
    const scene = await open();
    let faults = 5;
    scene.adapter.answer(({ text }) => (text === 'two' && faults-- > 0 ? broken : undefined));
    await scene.store.outbox.add(['one', 'two', 'three'].map((text, number) => part(text, { number })), scene.clock.now());
    scene.delivery.kick('test', 'c1');
    for (let start = 0; start < 3; start++) {
      await scene.clock.advance(4000);
      await scene.restart();
    }
    await scene.clock.advance(60_000);
    expect(scene.adapter.calls.map(({ text }) => text)).toEqual(['one', ...Array.from({ length: 6 }, () => 'two'), 'three']);
  });

  test('A11 openclaw#74321 a refusal is final after one try; what was sent before is not sent again, what follows is, over restarts too', async () => {
    const scene = await open();
    const { clock, adapter } = scene;
    adapter.answer(({ text }) => (text === 'too long' ? refused : undefined));
    for (const text of ['short', 'too long', 'after it']) await scene.add(text);
    await clock.advance(100);
    for (let start = 0; start < 5; start++) {
      await scene.restart();
      await clock.advance(400_000, 5000);
    }
    expect(adapter.calls.map(({ text }) => text)).toEqual(['short', 'too long', 'after it']);
    expect(scene.trouble).toEqual(['dead: too long: message is too long']);
  });

  test('an answer that is lost is followed by a marked repeat within two seconds; a second loss is left as unknown and said aloud', async () => {
    const { clock, adapter, add, trouble, hooked } = await open();
    adapter.next(lost);
    await add('one');
    await clock.advance(2000);
    expect(adapter.texts()).toEqual(['one\n\n(may be a repeat)']);
    adapter.next(lost, lost);
    await add('two');
    await add('three');
    await clock.advance(2000);
    expect(adapter.calls.map(({ text }) => text).slice(2)).toEqual(['two', 'two\n\n(may be a repeat)', 'three']);
    expect(trouble).toEqual(['unknown: two: no answer']);
    expect(hooked.slice(1)).toEqual([[0, 'unknown', 'no answer'], [0, 'sent', null]]);
  });

  test('where the platform drops repeats, a lost answer is simply asked for again under the same key', async () => {
    const { clock, adapter, add, trouble } = await open({ isIdempotent: true });
    adapter.next(lost, lost, lost);
    await add('hello');
    await clock.advance(10_000);
    expect(new Set(adapter.calls.map(({ key, text }) => `${key} ${text}`))).toEqual(new Set(['hg1 hello']));
    expect(adapter.texts()).toEqual(['hello']);
    expect(trouble).toEqual([]);
  });

  test('a mark that would not fit any more is left out', async () => {
    const { clock, adapter, add } = await open({ limit: 10 });
    adapter.next(lost);
    await add('0123456789');
    await clock.advance(2000);
    expect(adapter.texts()).toEqual(['0123456789']);
  });

  test('an adapter that throws, at once or later, is treated as having maybe sent', async () => {
    const { clock, adapter, add } = await open();
    const { send } = adapter;
    let thrown = 0;
    adapter.send = (outbound, signal) => {
      if (thrown++ === 0) throw new Error('a defect');
      return thrown === 2 ? Promise.reject(new Error('another')) : (send?.(outbound, signal) ?? Promise.reject(new Error('none')));
    };
    await add('one');
    await add('two');
    await clock.advance(2000);
    expect(adapter.texts()).toEqual(['two']);
  });

  test('a platform that is switched off keeps its parts waiting until it is there', async () => {
    const { clock, store, add } = await open({ platform: 'other' });
    await add('hello');
    await clock.advance(60_000);
    expect(store.outbox.counts()).toEqual({ waiting: 1 });
  });
});

describe('calls that hang', () => {
  test('a hung send blocks its chat for 16 s and the second before the repeat, and no other chat at all', async () => {
    const { clock, adapter, add } = await open();
    const start = clock.now();
    adapter.next('hang');
    await add('hung');
    await clock.advance(10);
    for (let i = 2; i < 30; i++) await add('quick', `c${i}`);
    await add('behind it');
    await clock.advance(100);
    expect(adapter.texts().filter((text) => text === 'quick')).toHaveLength(28);
    expect(adapter.texts('c1')).toEqual([]);
    await clock.advance(18_000);
    expect(adapter.texts('c1')).toEqual(['hung\n\n(may be a repeat)', 'behind it']);
    expect((adapter.calls.findLast(({ chat: id }) => id === 'c1')?.at ?? 0) - start).toBeLessThanOrEqual(17_500);
  });

  test('a platform on which everything hangs takes no place from another one', async () => {
    const other = createScriptedAdapter({ platform: 'second' });
    const { clock, adapter, add, store, delivery } = await open({ others: [other] });
    adapter.answer(() => 'hang');
    for (let i = 0; i < 70; i++) await add('hung', `c${i}`);
    await clock.advance(50);
    await store.outbox.add([part('hello', { turnId: 'elsewhere', to: { platform: 'second', account: 'bot', chat: 'x' } })], clock.now());
    delivery.kick('second', 'x');
    await clock.advance(50);
    expect(other.texts()).toEqual(['hello']);
  });
});

describe('edits', () => {
  async function preview(scene: Scene, text: string, messageId = 'm1'): Promise<number> {
    const row = await scene.store.outbox.openPreview(part(text), scene.clock.now());
    await scene.store.outbox.previewSent(row.id, messageId);
    scene.adapter.shown.set(messageId, { chat: 'c1', text });
    return row.id;
  }

  test('a final text takes the place of its preview', async () => {
    const scene = await open();
    const id = await preview(scene, 'Hel');
    await scene.store.outbox.closePreview(id, { ...part('').payload, text: 'Hello.' });
    scene.delivery.kick('test', 'c1');
    await scene.clock.advance(0);
    expect(scene.adapter.calls).toMatchObject([{ method: 'edit', messageId: 'm1', text: 'Hello.' }]);
    expect(scene.adapter.texts()).toEqual(['Hello.']);
  });

  test('one that stands there already is not called for again', async () => {
    const scene = await open();
    const id = await preview(scene, 'Hello.');
    await scene.store.outbox.closePreview(id, { ...part('').payload, text: 'Hello.', isShown: true });
    scene.delivery.kick('test', 'c1');
    await scene.clock.advance(0);
    expect(scene.adapter.calls).toEqual([]);
    expect(scene.store.outbox.counts()).toEqual({ sent: 1 });
    expect(scene.hooked).toEqual([[0, 'sent', null]]);
  });

  test.each([limited(1000), broken, lost])('one that cannot be edited in yet is tried again as an edit, never as a second message: %o', async (fault) => {
    const scene = await open();
    const id = await preview(scene, 'Hel');
    scene.adapter.next(fault, fault);
    await scene.store.outbox.closePreview(id, { ...part('').payload, text: 'Hello.' });
    scene.delivery.kick('test', 'c1');
    await scene.clock.advance(10_000);
    expect(scene.adapter.calls.map(({ method }) => method)).toEqual(['edit', 'edit', 'edit']);
    expect(scene.adapter.texts()).toEqual(['Hello.']);
  });

  test('A13 TediCross#430 when the message to edit is gone the text goes out as one new message', async () => {
    const scene = await open();
    const id = await preview(scene, 'Hel');
    scene.adapter.shown.clear();
    scene.adapter.next({ status: 'edit_gone', error: 'Unknown Message, code: 10008' });
    await scene.store.outbox.closePreview(id, { ...part('').payload, text: 'Hello.' });
    scene.delivery.kick('test', 'c1');
    await scene.clock.advance(0);
    expect(scene.adapter.calls.map(({ method }) => method)).toEqual(['edit', 'send']);
    expect(scene.adapter.texts()).toEqual(['Hello.']);
  });
});

test('a chat that has moved takes its waiting parts along, in order', async () => {
  const { clock, adapter, add } = await open();
  adapter.answer(({ chat: to }) => (to === 'c1' ? { status: 'moved', chat: '-100' } : undefined));
  await add('one');
  await add('two');
  await clock.advance(100);
  expect(adapter.texts('-100')).toEqual(['one', 'two']);
  expect(adapter.calls.filter(({ chat: to }) => to === 'c1')).toHaveLength(1);
});

describe('a store that cannot be written', () => {
  test('what came of a call is written down when it can be: the part is not sent twice and the chat goes on', async () => {
    let isFull = false;
    const { clock, adapter, add, store } = await open({
      beforeCommit() {
        if (isFull) throw new Error('disk full');
      },
    });
    adapter.answer(() => void (isFull = true));
    await add('one');
    await clock.advance(5000);
    expect(adapter.texts()).toEqual(['one']);
    adapter.answer(() => undefined);
    isFull = false;
    await add('two');
    await clock.advance(6000);
    expect(adapter.calls.map(({ text }) => text)).toEqual(['one', 'two']);
    expect(store.outbox.counts()).toEqual({ sent: 2 });
  });

  test('nothing is called while the attempt cannot be written down, and the drain resumes by itself', async () => {
    let isFull = false;
    const { clock, adapter, add } = await open({
      beforeCommit() {
        if (isFull) throw new Error('disk full');
      },
    });
    adapter.next(broken);
    await add('hello');
    await clock.advance(0);
    isFull = true;
    await clock.advance(20_000);
    expect(adapter.calls).toHaveLength(1);
    isFull = false;
    await clock.advance(6000);
    expect(adapter.texts()).toEqual(['hello']);
  });
});

test('closing waits for the call in flight and makes no other', async () => {
  const { clock, adapter, add, delivery, store } = await open();
  let release = () => {};
  const { send } = adapter;
  adapter.send = async (outbound, signal) => {
    await new Promise<void>((resolve) => (release = resolve));
    return send?.(outbound, signal) ?? broken;
  };
  await add('in flight');
  await add('not begun');
  await clock.advance(0);
  let isClosed = false;
  const closing = delivery.close().then(() => void (isClosed = true));
  await clock.advance(0);
  expect(isClosed).toBe(false);
  release();
  await clock.advance(0);
  await closing;
  expect(store.outbox.counts()).toEqual({ sent: 1, waiting: 1 });
});
