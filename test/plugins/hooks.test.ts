/** The hook lists: order, copies, time limits, and what a broken callback costs. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hookTable, type HookName, type HookPayloads } from '../../src/contract/plugin.ts';
import { createLog } from '../../src/lib/log.ts';
import { createRedactor } from '../../src/lib/redact.ts';
import { currentPlace, currentPlugin } from '../../src/plugins/current-plugin.ts';
import { createHooks } from '../../src/plugins/hooks.ts';

const inTurn = { session_id: 's1', turn_id: 't1', platform: 'telegram' };
const llmCall: HookPayloads['pre_llm_call'] = { ...inTurn, user_message: 'hi', conversation_history: [{ role: 'user', content: 'earlier' }], is_first_turn: true, model: 'm', sender_id: '7' };
const toolCall: HookPayloads['pre_tool_call'] = { ...inTurn, tool_name: 'terminal', args: { command: 'ls' }, task_id: 's1', tool_call_id: 'c1' };
const never = () => new Promise<never>(() => {});

function start(limits = { preMs: 20, postMs: 20 }) {
  const lines: { level: string; msg: string }[] = [];
  const log = createLog({ level: 'debug', redactor: createRedactor(), write: (line) => void lines.push(JSON.parse(line) as { level: string; msg: string }) });
  const clock = { ms: 0 };
  return { hooks: createHooks({ log, limits, now: () => clock.ms }), clock, warnings: () => lines.filter(({ level }) => level === 'warn').map(({ msg }) => msg) };
}

describe('firing', () => {
  test('gives every value that is something, in the order of registration', async () => {
    const { hooks } = start();
    hooks.add('slow', 'pre_llm_call', () => new Promise((resolve) => setTimeout(() => resolve('first'), 5)));
    hooks.add('silent', 'pre_llm_call', () => undefined);
    hooks.add('null', 'pre_llm_call', () => null);
    hooks.add('fast', 'pre_llm_call', () => ({ context: 'second' }));
    expect(await hooks.fire('pre_llm_call', llmCall)).toEqual([{ plugin: 'slow', value: 'first' }, { plugin: 'fast', value: { context: 'second' } }]);
  });

  test('knows whether anybody listens, until the plugin is removed', async () => {
    const { hooks } = start();
    expect(hooks.has('pre_llm_call')).toBe(false);
    hooks.add('a', 'pre_llm_call', () => 'a');
    hooks.add('b', 'pre_llm_call', () => 'b');
    hooks.removeAll('a');
    expect(await hooks.fire('pre_llm_call', llmCall)).toEqual([{ plugin: 'b', value: 'b' }]);
    hooks.removeAll('b');
    expect(hooks.has('pre_llm_call')).toBe(false);
  });

  test('a callback cannot change what the next one or the core sees', async () => {
    const { hooks } = start();
    hooks.add('vandal', 'pre_llm_call', (payload) => {
      const history = payload.conversation_history as { content: string }[];
      for (const message of history) message.content = 'changed';
      history.length = 0;
      payload.user_message = 'changed';
    });
    const seen: unknown[] = [];
    hooks.add('witness', 'pre_llm_call', (payload) => void seen.push(payload));
    const before = structuredClone(llmCall);
    await hooks.fire('pre_llm_call', llmCall);
    expect(llmCall).toEqual(before);
    expect(seen).toEqual([before]);
  });

  test('every hook hands over exactly the payload that it was fired with', async () => {
    for (const name of Object.keys(hookTable) as HookName[]) {
      const { hooks } = start();
      const payload = Object.fromEntries(hookTable[name].keys.map((key) => [key, `value of ${key}`]));
      const seen: unknown[] = [];
      hooks.add('p', name, (given) => void seen.push(given));
      await hooks.fire(name, payload as never);
      expect(seen, name).toEqual([payload]);
    }
  });

  test('any JSON payload arrives unchanged and is a copy all the way down', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (value) => {
        const { hooks } = start();
        let seen: unknown;
        hooks.add('p', 'pre_api_request', (payload) => void (seen = payload.body));
        const body = [value];
        await hooks.fire('pre_api_request', { ...inTurn, method: 'POST', url: 'u', headers: {}, body, model: 'm', attempt: 1 });
        expect(JSON.stringify(seen)).toBe(JSON.stringify(body));
        expect(seen).not.toBe(body);
      }),
    );
  });

  test('inside a callback it is known whose code runs, and where', async () => {
    const { hooks } = start();
    hooks.add('who', 'on_user_joined', async () => {
      await Promise.resolve();
      return [currentPlugin(), currentPlace()];
    });
    const results = await hooks.fire('on_user_joined', { user: { id: '7', name: 'Ann' }, chat: '-100', platform: 'telegram' });
    expect(results[0]?.value).toEqual(['who', { platform: 'telegram', chat: '-100' }]);
    expect(currentPlugin()).toBeUndefined();
  });
});

describe('a broken callback', () => {
  test.each(Object.keys(hookTable) as HookName[])('%s: the others are called although it throws, rejects or hangs', async (name) => {
    const { hooks } = start({ preMs: 1, postMs: 1 });
    hooks.add('thrower', name, () => {
      throw new Error('no');
    });
    hooks.add('rejecter', name, () => Promise.reject(new Error('no')));
    hooks.add('hanger', name, never);
    hooks.add('good', name, () => 'fine');
    expect(await hooks.fire(name, {} as never)).toEqual([{ plugin: 'good', value: 'fine' }]);
  });

  test('is logged with plugin and hook, once per distinct error', async () => {
    const { hooks, warnings } = start();
    let count = 0;
    hooks.add('p', 'post_llm_call', () => {
      throw new Error(++count < 3 ? 'database is gone' : 'another fault');
    });
    for (let i = 0; i < 4; i++) await hooks.fire('post_llm_call', {} as never);
    expect(warnings()).toEqual(['Plugin p: hook post_llm_call: database is gone', 'Plugin p: hook post_llm_call: another fault']);
  });

  test('that throws null is skipped like any other', async () => {
    const { hooks, warnings } = start();
    hooks.add('p', 'post_llm_call', () => {
      throw null; // oxlint-disable-line no-throw-literal
    });
    expect(await hooks.fire('post_llm_call', {} as never)).toEqual([]);
    expect(warnings()).toEqual(['Plugin p: hook post_llm_call: null']);
  });

  test('three time-outs in a row switch it off for ten minutes', async () => {
    const { hooks, clock, warnings } = start();
    let calls = 0;
    hooks.add('p', 'pre_llm_call', () => {
      calls++;
      return never();
    });
    for (let i = 0; i < 5; i++) await hooks.fire('pre_llm_call', llmCall);
    expect(calls).toBe(3);
    expect(warnings()).toEqual([
      'Plugin p: hook pre_llm_call: gave no answer within 20 ms and was not waited for',
      'Plugin p: hook pre_llm_call timed out 3 times in a row and is switched off for 10 minutes',
    ]);
    clock.ms = 10 * 60_000 - 1;
    await hooks.fire('pre_llm_call', llmCall);
    expect(calls).toBe(3);
    clock.ms = 10 * 60_000;
    await hooks.fire('pre_llm_call', llmCall);
    expect(calls).toBe(4);
  });

  test('an answer in between starts the count again', async () => {
    const { hooks } = start();
    let calls = 0;
    hooks.add('p', 'pre_llm_call', () => (++calls % 3 === 0 ? 'answer' : never()));
    for (let i = 0; i < 9; i++) await hooks.fire('pre_llm_call', llmCall);
    expect(calls).toBe(9);
  });

  test('calls for several chats at once do not wait for one another', async () => {
    const { hooks } = start({ preMs: 5000, postMs: 5000 });
    const waiting: ((value: string) => void)[] = [];
    hooks.add('p', 'pre_llm_call', () => new Promise((resolve) => waiting.push(resolve)));
    const fired = [1, 2, 3, 4].map(() => hooks.fire('pre_llm_call', llmCall));
    expect(waiting).toHaveLength(4);
    waiting.forEach((resolve, index) => resolve(`answer ${index}`));
    expect((await Promise.all(fired)).flat().map(({ value }) => value)).toEqual(['answer 0', 'answer 1', 'answer 2', 'answer 3']);
  });

  test('what comes after the time-out is dropped, a rejection too', async () => {
    const { hooks } = start();
    let fail: (error: Error) => void = () => {};
    hooks.add('p', 'pre_llm_call', () => new Promise((_, reject) => (fail = reject)));
    expect(await hooks.fire('pre_llm_call', llmCall)).toEqual([]);
    fail(new Error('too late'));
    await new Promise(setImmediate);
  });
});

describe('failClosed', () => {
  test('a gate that throws, hangs or is switched off blocks the call', async () => {
    const { hooks } = start();
    hooks.add('gate', 'pre_tool_call', never, { failClosed: true });
    const verdicts: unknown[] = [];
    for (let i = 0; i < 4; i++) verdicts.push(...(await hooks.fire('pre_tool_call', toolCall)));
    const hung = { plugin: 'gate', value: null, failedClosed: "gate's pre_tool_call gave no answer within 20 ms" };
    expect(verdicts).toEqual([hung, hung, hung, { plugin: 'gate', value: null, failedClosed: "gate's pre_tool_call is switched off after repeated time-outs" }]);

    hooks.removeAll('gate');
    hooks.add('gate', 'pre_tool_call', () => Promise.reject(new Error('policy is unreadable')), { failClosed: true });
    expect(await hooks.fire('pre_tool_call', toolCall)).toEqual([{ plugin: 'gate', value: null, failedClosed: "gate's pre_tool_call failed: policy is unreadable" }]);
  });

  test('means nothing on other hooks', async () => {
    const { hooks } = start();
    hooks.add('p', 'pre_llm_call', () => Promise.reject(new Error('no')), { failClosed: true });
    expect(await hooks.fire('pre_llm_call', llmCall)).toEqual([]);
  });
});

test('an unknown name is said at once, with the nearest one, and kept out', () => {
  const { hooks, warnings } = start();
  expect(hooks.add('p', 'pre_llm_cal', () => 'x')).toBe(false);
  expect(hooks.add('p', 'constructor', () => 'x')).toBe(false);
  expect(warnings()[0]).toBe('Plugin p: there is no hook "pre_llm_cal", so it will never be called; did you mean pre_llm_call?');
  expect(warnings()).toHaveLength(2);
});

test('timings add up per plugin and hook', async () => {
  const { hooks, clock } = start();
  hooks.add('p', 'pre_llm_call', () => void (clock.ms += 3));
  hooks.add('p', 'pre_llm_call', () => {
    clock.ms += 4;
    throw new Error('no');
  });
  hooks.add('q', 'pre_llm_call', never);
  await hooks.fire('pre_llm_call', llmCall);
  expect(hooks.timings()).toEqual([
    { plugin: 'p', hook: 'pre_llm_call', calls: 2, errors: 1, timeouts: 0, totalMs: 7 },
    { plugin: 'q', hook: 'pre_llm_call', calls: 1, errors: 0, timeouts: 1, totalMs: 0 },
  ]);
});
