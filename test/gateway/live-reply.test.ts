/** A reply while it grows: a preview that is a row first, edits at the platform's pace, segments, and what a death leaves behind. */
import { describe, expect, test } from 'vitest';
import { createDelivery } from '../../src/gateway/delivery.ts';
import { createGates, type Gates } from '../../src/gateway/gates.ts';
import { createLiveReply, type LiveReply, type ToolProgress } from '../../src/gateway/live-reply.ts';
import { keepTyping } from '../../src/gateway/typing.ts';
import { silentLog } from '../../src/lib/log.ts';
import { createHooks } from '../../src/plugins/hooks.ts';
import type { PartPayload } from '../../src/store/outbox.ts';
import { chat, openTestStore, part, type TestStore } from '../store/support.ts';
import { stopClock, type Clock } from './clock.ts';
import { createScriptedAdapter, type AdapterOptions, type ScriptedAdapter } from './scripted-adapter.ts';

interface Scene {
  clock: Clock;
  store: TestStore;
  adapter: ScriptedAdapter;
  gates: Gates;
  reply: LiveReply;
  /** Ends the reply as commitTurn does, and lets it be delivered. */
  finish(text: string): Promise<void>;
  /** Another process goes on with the same turn. */
  restart(): Promise<void>;
}

interface SceneOptions extends AdapterOptions {
  isGroup?: boolean;
  isStreaming?: boolean;
  toolProgress?: ToolProgress;
  replyTo?: { messageId: string; parts: 'first' | 'all' };
}

const words = 'Once upon a time there was a house. ';

async function open({ isGroup = false, isStreaming = true, toolProgress = 'off', replyTo, ...options }: SceneOptions = {}): Promise<Scene> {
  const clock = stopClock();
  const adapter = createScriptedAdapter(options);
  const begin = async (store: TestStore) => {
    const gates = createGates(clock.now);
    const hooks = createHooks({ log: silentLog, limits: { preMs: 1000, postMs: 1000 } });
    const delivery = createDelivery({ outbox: store.outbox, gates, adapterOf: () => adapter, hooks, log: silentLog, now: clock.now, random: () => 0.5, crash() {}, onTrouble() {}, onMoved: async () => {} });
    await store.outbox.recover();
    delivery.open();
    const reply = createLiveReply({
      outbox: store.outbox,
      adapter,
      gates,
      origin: part('').origin,
      base: { address: chat(), format: 'markdown' },
      replyTo: replyTo ?? null,
      isStreaming,
      toolProgress,
      isGroup,
      bufferChars: 24,
      kick: () => delivery.kick('test', 'c1'),
      now: clock.now,
      log: silentLog,
      crash() {},
    });
    return { gates, reply, delivery };
  };
  const store = openTestStore();
  const first = await begin(store);
  const scene: Scene = {
    clock,
    store,
    adapter,
    gates: first.gates,
    reply: first.reply,
    async finish(text) {
      const { parts, preview } = await scene.reply.finish(text, []);
      await Promise.all([preview && scene.store.outbox.closePreview(preview.id, preview.payload, preview.notBefore), scene.store.outbox.add(parts, clock.now())]);
      first.delivery.kick('test', 'c1');
      delivery.kick('test', 'c1');
      await clock.advance(3500);
    },
    async restart() {
      await scene.reply.drop();
      void delivery.close();
      scene.store = scene.store.reopen();
      const next = await begin(scene.store);
      ({ delivery } = next);
      scene.gates = next.gates;
      scene.reply = next.reply;
    },
  };
  let { delivery } = first;
  return scene;
}

const rows = ({ store }: Scene) => store.outbox.ofOrigin('turn', 't1').map(({ state, payload }) => [state, payload.text]);

test('a quick answer is sent once, without a preview', async () => {
  const scene = await open();
  scene.reply.text(words);
  await scene.clock.advance(400);
  await scene.finish(words);
  expect(scene.adapter.calls.map(({ method, text }) => [method, text])).toEqual([['send', words]]);
});

test('a slow one is shown after half a second and edited at the pace of a direct chat; the final text is the last edit', async () => {
  const scene = await open();
  for (let i = 0; i < 50; i++) {
    scene.reply.text(words);
    await scene.clock.advance(100, 100);
  }
  await scene.finish(words.repeat(51));
  const [first, ...edits] = scene.adapter.calls;
  expect(first?.method).toBe('send');
  const gaps = scene.adapter.calls.slice(0, -1).map(({ at }) => at).slice(1).map((at, i) => at - (scene.adapter.calls[i]?.at ?? 0));
  expect(gaps.length).toBeGreaterThanOrEqual(3);
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(1200);
  expect(new Set(edits.map(({ messageId }) => messageId))).toEqual(new Set(['m1']));
  expect(scene.adapter.texts()).toEqual([words.repeat(51)]);
});

test('in a group the pace is a group\'s', async () => {
  const scene = await open({ isGroup: true });
  for (let i = 0; i < 100; i++) {
    scene.reply.text(words);
    await scene.clock.advance(100, 100);
  }
  const gaps = scene.adapter.calls.map(({ at }) => at).slice(1).map((at, i) => at - (scene.adapter.calls[i]?.at ?? 0));
  expect(gaps.length).toBeGreaterThanOrEqual(1);
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(3500);
});

test('nothing is shown of a few characters, where streaming is off, or where messages cannot be edited', async () => {
  for (const [options, text] of [[{}, 'Hm. '], [{ isStreaming: false }, words], [{ withoutEdit: true }, words]] as const) {
    const scene = await open(options);
    scene.reply.text(text);
    await scene.clock.advance(10_000);
    expect(scene.adapter.calls).toEqual([]);
    await scene.finish(`${text}End.`);
    expect(scene.adapter.texts()).toEqual([`${text}End.`]);
  }
});

test('the same text is never edited in twice, and a final that stands there already makes no call', async () => {
  const scene = await open();
  scene.reply.text(words);
  await scene.clock.advance(10_000);
  await scene.finish(words);
  expect(scene.adapter.calls).toHaveLength(1);
  expect(rows(scene)).toEqual([['sent', words]]);
});

test('text before a tool call stays a message of its own; the next one begins anew', async () => {
  const scene = await open();
  scene.reply.text(words);
  await scene.clock.advance(600);
  await scene.reply.segment(words);
  scene.reply.text(`And then. ${words}`);
  await scene.clock.advance(600);
  await scene.finish(`And then. ${words}The end.`);
  expect(scene.adapter.texts()).toEqual([words, `And then. ${words}The end.`]);
});

test('a segment that was never shown is sent as it is, and a question stands behind it', async () => {
  const scene = await open();
  scene.reply.text('Let me ask.');
  await scene.reply.segment('Let me ask.');
  await scene.reply.say('Which one?', [[{ label: 'this', value: 'q:1' }]]);
  await scene.clock.advance(100);
  await scene.finish('Thanks.');
  expect(scene.adapter.texts()).toEqual(['Let me ask.', 'Which one?', 'Thanks.']);
});

test('a first message does not overtake parts of the chat that still wait', async () => {
  const scene = await open();
  scene.adapter.next({ status: 'transient', error: 'HTTP 500' }, { status: 'transient', error: 'HTTP 500' });
  await scene.store.outbox.add([part('an earlier answer', { turnId: 't0' })], scene.clock.now());
  scene.reply.text(words);
  await scene.reply.segment('Looking.');
  scene.reply.text(words);
  await scene.clock.advance(2000);
  expect(scene.adapter.texts()).toEqual([]);
  await scene.clock.advance(4000);
  await scene.finish(`${words}End.`);
  expect(scene.adapter.texts()).toEqual(['an earlier answer', 'Looking.', `${words}End.`]);
});

test('text that the model took back is replaced in the same message', async () => {
  const scene = await open();
  scene.reply.text(words);
  await scene.clock.advance(600);
  scene.reply.retract();
  scene.reply.text(`Another beginning. ${words}`);
  await scene.clock.advance(1300);
  await scene.finish(`Another beginning. ${words}End.`);
  expect(scene.adapter.texts()).toEqual([`Another beginning. ${words}End.`]);
});

test('a long answer shows its first message while it grows and sends the rest behind it', async () => {
  const scene = await open({ limit: 40 });
  const long = words.repeat(3);
  scene.reply.text(long);
  await scene.clock.advance(5000);
  expect(scene.adapter.texts()).toEqual([long.slice(0, 40)]);
  await scene.finish(long);
  expect(scene.adapter.texts()).toEqual([long.slice(0, 40), long.slice(40, 80), long.slice(80)]);
});

test('of a stopped answer what was shown stays, and nothing is sent', async () => {
  const scene = await open();
  scene.reply.text(words);
  await scene.clock.advance(600);
  await scene.finish('');
  scene.reply.text(words);
  await scene.clock.advance(5000);
  expect(scene.adapter.calls).toHaveLength(1);
});

test('only the first part quotes the question, or every one', async () => {
  for (const [parts, expected] of [['first', [true, false, false]], ['all', [true, true, true]]] as const) {
    const scene = await open({ isGroup: true, isStreaming: false, replyTo: { messageId: 'question', parts }, limit: 40 });
    const { parts: made } = await scene.reply.finish(words.repeat(3), []);
    expect(made.map(({ payload }: { payload: PartPayload }) => payload.replyTo === 'question')).toEqual(expected);
  }
});

describe('limits', () => {
  test.each([1, 33, 149, 6000])('A10 hermes-agent#76494 after a 429 of %i s no preview, no typing and no final is called early, and no new message takes a failed edit\'s place', async (seconds) => {
    const scene = await open();
    const { clock, adapter, gates, reply } = scene;
    const typing = keepTyping(adapter, chat(), gates);
    reply.text(words);
    await clock.advance(600);
    const start = clock.now();
    adapter.next({ status: 'rate_limited', retryAfterMs: seconds * 1000, scope: 'chat' });
    reply.text(words);
    await clock.advance(1300);
    reply.text(words);
    await clock.advance(500);
    const finishing = scene.finish(words.repeat(4));
    await clock.advance(seconds * 1100 + 1000, seconds > 100 ? 5000 : 250);
    await finishing;
    typing.stop();
    const after = adapter.calls.filter(({ at }) => at > start + 1300);
    expect(after.length).toBeGreaterThan(0);
    for (const { at } of after) expect(at - start).toBeGreaterThanOrEqual(seconds * 1100);
    expect(adapter.calls.filter(({ method }) => method === 'send')).toHaveLength(1);
    expect(adapter.texts()).toEqual([words.repeat(4)]);
  });

  test('a limited first preview is tried again after the limit, a lost one is not: a second try could make a second message', async () => {
    const limited = await open();
    limited.adapter.next({ status: 'rate_limited', retryAfterMs: 2000, scope: 'chat' });
    limited.reply.text(words);
    await limited.clock.advance(6000);
    expect(limited.adapter.texts()).toEqual([words]);

    const lost = await open();
    lost.adapter.next({ status: 'unknown', error: 'no answer' });
    for (let i = 0; i < 5; i++) {
      lost.reply.text(words);
      await lost.clock.advance(2000);
    }
    expect(lost.adapter.calls).toHaveLength(1);
    await lost.finish(words.repeat(5));
    expect(lost.adapter.texts()).toEqual([words.repeat(5)]);
  });

  test('a chat that is gone is left alone by previews and typing', async () => {
    const scene = await open();
    const typing = keepTyping(scene.adapter, chat(), scene.gates);
    scene.adapter.next({ status: 'permanent', error: 'bot was blocked', targetGone: true });
    for (let i = 0; i < 10; i++) {
      scene.reply.text(words);
      await scene.clock.advance(2000);
    }
    typing.stop();
    expect(scene.adapter.calls.filter(({ method }) => method !== 'typing')).toHaveLength(1);
    expect(scene.adapter.calls.filter(({ method }) => method === 'typing')).toHaveLength(1);
  });
});

describe('after a death', () => {
  test('the same message is finished, not a second one', async () => {
    const scene = await open();
    scene.reply.text(words);
    await scene.clock.advance(600);
    await scene.restart();
    scene.reply.text(words);
    await scene.clock.advance(2000);
    await scene.finish(`${words}End.`);
    expect(scene.adapter.texts()).toEqual([`${words}End.`]);
    expect(scene.adapter.calls.filter(({ method }) => method === 'send')).toHaveLength(1);
  });

  test('also when a question was asked beside it', async () => {
    const scene = await open();
    scene.reply.text(words);
    await scene.clock.advance(600);
    await scene.reply.say('May I?');
    await scene.clock.advance(100);
    await scene.restart();
    await scene.finish(`${words}End.`);
    expect(scene.adapter.texts()).toEqual([`${words}End.`, 'May I?']);
  });

  test('segments that were sent are not sent again; numbering goes on behind them', async () => {
    const scene = await open();
    await scene.reply.segment('Looking.');
    await scene.clock.advance(100);
    await scene.restart();
    await scene.finish('Found it.');
    expect(scene.adapter.texts()).toEqual(['Looking.', 'Found it.']);
    expect(rows(scene)).toEqual([['sent', 'Looking.'], ['sent', 'Found it.']]);
  });

  test('a turn that is given back shows nothing more, and waits for the call that is on its way', async () => {
    const scene = await open();
    let release = () => {};
    const { send } = scene.adapter;
    scene.adapter.send = async (outbound, signal) => {
      await new Promise<void>((resolve) => (release = resolve));
      return send?.(outbound, signal) ?? { status: 'transient', error: 'gone' };
    };
    scene.reply.text(words);
    await scene.clock.advance(600);
    let isDropped = false;
    const dropping = scene.reply.drop().then(() => void (isDropped = true));
    scene.reply.text(words);
    await scene.clock.advance(0);
    expect(isDropped).toBe(false);
    release();
    await scene.clock.advance(5000);
    await dropping;
    expect(scene.adapter.calls).toHaveLength(1);
    expect(scene.store.outbox.ofOrigin('turn', 't1')[0]).toMatchObject({ state: 'preview', messageId: 'm1' });
  });
});

describe('typing', () => {
  test('it is shown soon, again every 4 s, and never after the end', async () => {
    const scene = await open();
    const start = scene.clock.now();
    const typing = keepTyping(scene.adapter, chat(), scene.gates);
    await scene.clock.advance(9000);
    typing.stop();
    await scene.clock.advance(20_000);
    expect(scene.adapter.calls.map(({ at }) => Math.round((at - start) / 1000))).toEqual([0, 4, 8]);
  });

  test('a limit that it meets holds for everything to the chat', async () => {
    const scene = await open();
    const adapter = { ...scene.adapter, typing: async () => ({ status: 'rate_limited', retryAfterMs: 30_000, scope: 'chat' }) as const };
    const typing = keepTyping(adapter, chat(), scene.gates);
    await scene.clock.advance(4500);
    typing.stop();
    await scene.finish('It rains.');
    await scene.clock.advance(25_000);
    expect(scene.adapter.texts()).toEqual([]);
    await scene.clock.advance(10_000);
    expect(scene.adapter.texts()).toEqual(['It rains.']);
  });

  test('a turn that ends at once shows none', async () => {
    const scene = await open();
    keepTyping(scene.adapter, chat(), scene.gates).stop();
    await scene.clock.advance(5000);
    expect(scene.adapter.calls).toEqual([]);
  });
});

test('the final text keeps the distance from the last preview as well, in a group a longer one; one that stands there already waits for nothing', async () => {
  for (const [isGroup, gap] of [[false, 1200], [true, 3500]] as const) {
    const scene = await open({ isGroup });
    scene.reply.text(words);
    await scene.clock.advance(600, 50);
    await scene.finish(`${words}The end.`);
    const [shown, final] = scene.adapter.calls.map(({ at }) => at);
    expect(scene.adapter.calls).toHaveLength(2);
    expect((final ?? 0) - (shown ?? 0)).toBeGreaterThanOrEqual(gap);
  }
});

describe('progress', () => {
  const three = async (scene: Scene) => {
    for (const line of ['`search`', '`search`', '`read`']) scene.reply.progress(line);
    await scene.clock.advance(1000);
  };

  test.each([
    ['all', '`search`\n`search`\n`read`'],
    ['new', '`search`\n`read`'],
  ] as const)('%s: lines stand where the answer will stand, and make room for it', async (toolProgress, lines) => {
    for (const isStreaming of [true, false]) {
      const scene = await open({ toolProgress, isStreaming });
      await three(scene);
      expect(scene.adapter.texts()).toEqual([lines]);
      await scene.finish('It rains.');
      expect(scene.adapter.texts()).toEqual(['It rains.']);
    }
  });

  test('growing text takes their place, and a message of its own ends them', async () => {
    const scene = await open({ toolProgress: 'new' });
    await three(scene);
    scene.reply.text(words);
    await scene.clock.advance(1500);
    expect(scene.adapter.texts()).toEqual([words]);
    await scene.reply.segment(words.trim());
    scene.reply.progress('`write`');
    await scene.clock.advance(4000);
    expect(scene.adapter.texts()).toEqual([words.trim(), '`write`']);
    await scene.finish('Done.');
    expect(scene.adapter.texts()).toEqual([words.trim(), 'Done.']);
  });

  test('off, or where messages cannot be edited, nothing is shown', async () => {
    for (const options of [{}, { toolProgress: 'all', withoutEdit: true }] as const) {
      const scene = await open(options);
      await three(scene);
      expect(scene.adapter.texts()).toEqual([]);
      await scene.finish('It rains.');
      expect(scene.adapter.texts()).toEqual(['It rains.']);
    }
  });
});
