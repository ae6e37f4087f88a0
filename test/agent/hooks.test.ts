import { describe, expect, it } from 'vitest';
import { hookTable, type HookName } from '../../src/contract/plugin.ts';
import { calls, callsAll, fails, says, startTalk, tool, toolTexts } from './support.ts';

const weather = tool('weather', ({ city }) => JSON.stringify({ city, sky: 'rain' }));

describe('hooks of a turn', () => {
  it('fire once each, in order, with exactly the keys of the table', async () => {
    const observed = { method: 'POST', url: 'http://model', headers: {}, body: {}, model: 'm', attempt: 1 };
    const talk = startTalk({
      tools: [weather],
      script: [
        async (request) => {
          await request.api?.onRequest(observed);
          await request.api?.onError({ status_code: 500, error: 'down', attempt: 1, retryable: true });
          await request.api?.onResponse({ method: 'POST', url: 'http://model', status_code: 200, response: {}, duration_ms: 1, usage: null });
          return calls('weather', { city: 'London' });
        },
        says('It rains.'),
      ],
    });
    talk.watchHooks();
    await talk.says('umbrella?');
    expect(talk.fired.map(({ name }) => name)).toEqual([
      'pre_llm_call',
      'pre_api_request',
      'api_request_error',
      'post_api_request',
      'pre_tool_call',
      'post_tool_call',
      'transform_tool_result',
      'transform_llm_output',
      'post_llm_call',
      'on_session_end',
    ] satisfies HookName[]);
    for (const { name, payload } of talk.fired) expect(Object.keys(payload).sort(), name).toEqual([...hookTable[name].keys].sort());
    const payloadOf = (name: HookName) => talk.fired.find((hook) => hook.name === name)?.payload;
    expect(payloadOf('pre_llm_call')).toMatchObject({
      user_message: 'umbrella?',
      is_first_turn: true,
      sender_id: 'anna',
      model: 'test/model',
      conversation_history: [{ role: 'user', content: 'umbrella?' }],
    });
    expect(payloadOf('post_tool_call')).toMatchObject({ tool_name: 'weather', args: { city: 'London' }, result: '{"city":"London","sky":"rain"}', status: 'ok', task_id: 'session-1' });
    expect(payloadOf('post_llm_call')).toMatchObject({ user_message: 'umbrella?', assistant_response: 'It rains.' });
    expect(payloadOf('post_llm_call')?.conversation_history).toMatchObject(['user', 'assistant', 'tool', 'assistant'].map((role) => ({ role })));
    expect(payloadOf('on_session_end')).toMatchObject({ completed: true, interrupted: false, session_id: 'session-1', turn_id: 'turn-1', platform: 'test' });
  });

  it('the model need not report its requests when nobody listens', async () => {
    let reported: unknown = 'unset';
    const talk = startTalk({ script: [(request) => ((reported = request.api), says('Hi.'))] });
    await talk.says('hi');
    expect(reported).toBeUndefined();
  });

  it('a failed turn fires on_session_end but not post_llm_call', async () => {
    const talk = startTalk({ script: [fails('unavailable')] });
    talk.watchHooks();
    await talk.says('hi');
    expect(talk.fired.map(({ name }) => name)).toEqual(['pre_llm_call', 'on_session_end']);
    expect(talk.fired.at(-1)?.payload).toMatchObject({ completed: false, interrupted: false });
  });

  it('post_tool_call and transform_tool_result hear of every call once: run, failed, blocked, invalid, unknown', async () => {
    const failing = tool('failing', () => '{"error":"no"}');
    const talk = startTalk({
      tools: [weather, failing],
      script: [callsAll({ name: 'weather' }, { name: 'failing' }, { name: 'weather', args: { city: 'Blocked' } }, { name: 'weather', invalid: 'no JSON' }, { name: 'nothing' }), says('Done.')],
    });
    talk.watchHooks();
    talk.hooks.add('guard', 'pre_tool_call', ({ args }) => ((args as { city?: string }).city === 'Blocked' ? { action: 'block', message: 'not there' } : undefined));
    const result = await talk.says('go');
    const count = (name: HookName) => talk.fired.filter((hook) => hook.name === name).map(({ payload }) => payload.status);
    expect(count('post_tool_call')).toEqual(['ok', 'error', 'blocked', 'error', 'error']);
    expect(count('transform_tool_result')).toEqual(['ok', 'error', 'blocked', 'error', 'error']);
    expect(count('pre_tool_call')).toHaveLength(3);
    expect(toolTexts(result)[2]).toBe('{"error":"not there"}');
  });
});

describe('pre_llm_call', () => {
  it('adds its context to the message as sent, and nowhere else', async () => {
    const talk = startTalk({ script: [says('Hi.'), says('Again.')] });
    talk.hooks.add('a', 'pre_llm_call', () => 'Anna likes tea.');
    talk.hooks.add('b', 'pre_llm_call', () => ({ context: 'It is Monday.' }));
    talk.hooks.add('c', 'pre_llm_call', () => ({ context: '  ' }));
    talk.hooks.add('d', 'pre_llm_call', () => 42);
    const result = await talk.says('hi');
    expect(talk.requests[0]?.messages.at(-1)?.content).toBe('hi\n\nAnna likes tea.\n\nIt is Monday.');
    expect(talk.journal).toEqual(['begin hi + Anna likes tea.\n\nIt is Monday.']);
    expect(JSON.stringify(result.entries)).not.toContain('tea');
    await talk.says('more');
    expect(talk.requests[1]?.messages[1]?.content).toBe('hi');
  });

  it('gives at most 10,000 characters each', async () => {
    const talk = startTalk({ script: [says('Hi.')] });
    talk.hooks.add('a', 'pre_llm_call', () => '🙂'.repeat(20_000));
    await talk.says('hi');
    expect(talk.requests[0]?.messages.at(-1)?.content.length).toBe(4 + 10_000);
  });
});

describe('pre_tool_call', () => {
  it('changes arguments; changes add up and later ones win', async () => {
    const echo = tool('echo', (args) => JSON.stringify(args));
    const talk = startTalk({ tools: [echo], script: [calls('echo', { city: 'Rome', n: 1 }), says('Done.')] });
    talk.hooks.add('a', 'pre_tool_call', () => ({ action: 'modify', args: { city: 'Paris' } }));
    talk.hooks.add('b', 'pre_tool_call', () => ({ action: 'modify', args: { n: 2 } }));
    talk.watchHooks();
    const result = await talk.says('go');
    expect(toolTexts(result)).toEqual(['{"city":"Paris","n":2}']);
    expect(talk.fired.find(({ name }) => name === 'post_tool_call')?.payload.args).toEqual({ city: 'Paris', n: 2 });
    expect(result.entries[1]).toMatchObject({ toolCalls: [{ args: { city: 'Rome', n: 1 } }] });
  });

  it('cannot make arguments that the schema refuses, or that are no JSON', async () => {
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    for (const args of [{ n: 'many' }, cycle]) {
      const talk = startTalk({ tools: [weather], script: [calls('weather', { city: 'Rome' }), says('Done.')] });
      talk.hooks.add('a', 'pre_tool_call', () => ({ action: 'modify', args }));
      expect(toolTexts(await talk.says('go'))[0]).toMatch(/^\{"error":".*changed the arguments/);
    }
  });

  it('a block wins over every change, and a broken guard that fails closed blocks', async () => {
    const talk = startTalk({ tools: [weather], script: [calls('weather'), says('Done.')] });
    talk.hooks.add('a', 'pre_tool_call', () => ({ action: 'block', message: 'no weather today' }));
    talk.hooks.add('b', 'pre_tool_call', () => ({ action: 'modify', args: { city: 'Paris' } }));
    expect(toolTexts(await talk.says('go'))).toEqual(['{"error":"no weather today"}']);

    const closed = startTalk({ tools: [weather], script: [calls('weather'), says('Done.')] });
    closed.hooks.add('guard', 'pre_tool_call', () => Promise.reject(new Error('guard down')), { failClosed: true });
    expect(toolTexts(await closed.says('go'))[0]).toMatch(/guard.*guard down/);
  });

  it('cannot reach the stored call through the arguments it is given', async () => {
    const talk = startTalk({ tools: [weather], script: [calls('weather', { city: 'Rome' }), says('Done.')] });
    talk.hooks.add('a', 'pre_tool_call', ({ args }) => void ((args as Record<string, unknown>).city = 'Hell'));
    expect(toolTexts(await talk.says('go'))).toEqual(['{"city":"Rome","sky":"rain"}']);
  });
});

describe('transforms', () => {
  it('of a result: the first string replaces it', async () => {
    const talk = startTalk({ tools: [weather], script: [calls('weather'), says('Done.')] });
    talk.hooks.add('a', 'transform_tool_result', () => 7);
    talk.hooks.add('b', 'transform_tool_result', () => 'short');
    talk.hooks.add('c', 'transform_tool_result', () => 'late');
    expect(toolTexts(await talk.says('go'))).toEqual(['short']);
  });

  it('of the answer: the first string that can be seen replaces it, stored as delivered', async () => {
    const talk = startTalk({ script: [says('plain')] });
    talk.hooks.add('a', 'transform_llm_output', () => '\u200b');
    talk.hooks.add('b', 'transform_llm_output', ({ response_text }) => `*${String(response_text)}*`);
    const result = await talk.says('hi');
    expect(result.text).toBe('*plain*');
    expect(result.entries.at(-1)?.text).toBe('*plain*');
  });
});
