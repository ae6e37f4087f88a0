import { describe, expect, it } from 'vitest';
import { HermesError } from '../../src/contract/errors.ts';
import { assertHistory } from '../../src/agent/history.ts';
import type { UserEntry } from '../../src/contract/transcript.ts';
import { calls, callsAll, fails, says, startTalk, tool, toolTexts } from './support.ts';

const weather = tool('weather', ({ city }) => JSON.stringify({ city, sky: 'rain' }), { emoji: '🌧' });

describe('a turn', () => {
  it('answers, streams, and leaves the last entry to the caller', async () => {
    const talk = startTalk({ script: [says('Hello Anna.')] });
    const result = await talk.says('hi');
    expect(result).toMatchObject({ status: 'answered', text: 'Hello Anna.', steps: 1, model: 'test/model', userMessage: 'hi', usage: { requests: 1, input: 10 } });
    expect(result.code).toBeUndefined();
    expect(result.entries.map((entry) => entry.text)).toEqual(['hi', 'Hello Anna.']);
    expect(talk.events).toEqual([
      { type: 'started', turnId: 'turn-1', sessionId: 'session-1', model: 'test/model' },
      { type: 'text', delta: 'Hello ' },
      { type: 'text', delta: 'Anna.' },
    ]);
    expect(talk.journal).toEqual(['begin hi']);
  });

  it('runs a tool and answers from its result', async () => {
    const talk = startTalk({
      tools: [weather],
      script: [says('Let me look.', { toolCalls: [{ id: 'a', name: 'weather', args: { city: 'London' } }], finish: 'tool_calls' }), says('It rains.')],
    });
    const result = await talk.says('umbrella?');
    expect(result.text).toBe('It rains.');
    expect(toolTexts(result)).toEqual(['{"city":"London","sky":"rain"}']);
    expect(talk.journal).toEqual(['begin umbrella?', 'step a', 'started a', 'result a {"city":"London","sky":"rain"}']);
    expect(talk.events.filter((event) => event.type !== 'text')).toEqual([
      { type: 'started', turnId: 'turn-1', sessionId: 'session-1', model: 'test/model' },
      { type: 'segment', text: 'Let me look.' },
      { type: 'tool_started', toolCallId: 'a', name: 'weather', args: { city: 'London' }, emoji: '🌧' },
      { type: 'tool_finished', toolCallId: 'a', name: 'weather', status: 'ok', durationMs: expect.any(Number) as number },
    ]);
    expect(talk.requests[1]?.messages.map((message) => message.role)).toEqual(['system', 'user', 'assistant', 'tool']);
    assertHistory(result.entries);
  });

  it('remembers earlier turns', async () => {
    const talk = startTalk({ script: [says('Noted.'), says('Blue.')] });
    await talk.says('My colour is blue.');
    await talk.says('Which colour?');
    expect(talk.requests[1]?.messages.slice(1).map((message) => message.content)).toEqual(['My colour is blue.', 'Noted.', 'Which colour?']);
  });

  it('adds what was said meanwhile after the tool results, as one message', async () => {
    const waiting: UserEntry[][] = [['and Paris', 'please'].map((text) => ({ role: 'user', turnId: 'other', text }))];
    const talk = startTalk({ tools: [weather], script: [calls('weather', { city: 'London' }), says('Both wet.')] });
    const result = await talk.says('weather?', { steering: () => waiting.shift() ?? [] });
    expect(talk.requests[1]?.messages.at(-1)).toEqual({ role: 'user', content: 'and Paris\n\nplease' });
    expect(talk.journal.at(-1)).toBe('steered and Paris\n\nplease');
    assertHistory(result.entries);
  });

  it('sends photos with the message of this turn only', async () => {
    const photo: UserEntry = { role: 'user', turnId: 'turn-1', text: '', media: [{ path: '/c/1.jpg', mime: 'image/jpeg', name: 'cat.jpg', kind: 'image' }] };
    const talk = startTalk({ script: [says('A cat.'), says('Yes.')] });
    await talk.says('', { user: photo, loadImages: async () => [{ mime: 'image/jpeg', base64: 'AAAA' }] });
    expect(talk.requests[0]?.messages.at(-1)).toEqual({ role: 'user', content: '[image: cat.jpg]', images: [{ mime: 'image/jpeg', base64: 'AAAA' }] });
    await talk.says('sure?');
    expect(talk.requests[1]?.messages[1]).toEqual({ role: 'user', content: '[image: cat.jpg]' });
  });

  it('answers without photos that cannot be loaded', async () => {
    const talk = startTalk({ script: [says('I see no photo.')] });
    const user: UserEntry = { role: 'user', turnId: 'turn-1', text: 'look', media: [{ path: '/gone', mime: 'image/png', name: 'x.png', kind: 'image' }] };
    expect((await talk.says('look', { user, loadImages: () => Promise.reject(new Error('gone')) })).status).toBe('answered');
  });

  it('says so when another model answered', async () => {
    const talk = startTalk({ script: [says('Hi.', { model: 'spare/model' })] });
    expect((await talk.says('hi')).model).toBe('spare/model');
    expect(talk.events).toContainEqual({ type: 'notice', text: 'Answered by spare/model.' });
  });
});

describe('a turn that cannot answer', () => {
  it.each([
    ['auth', 'MODEL_AUTH'],
    ['quota', 'MODEL_QUOTA'],
    ['rate_limited', 'MODEL_RATE_LIMITED'],
    ['bad_request', 'MODEL_UNAVAILABLE'],
    ['unavailable', 'MODEL_UNAVAILABLE'],
    ['timeout', 'MODEL_UNAVAILABLE'],
    ['cut', 'MODEL_CUT'],
    ['bad_answer', 'MODEL_BAD_ANSWER'],
    ['overflow', 'MODEL_OVERFLOW'],
  ] as const)('%s becomes a fixed sentence with a reference', async (failure, code) => {
    const talk = startTalk({ script: [fails(failure)] });
    const result = await talk.says('hi', { turnId: '20261130_120000_abcd1234' });
    expect(result).toMatchObject({ status: 'failed', code });
    expect(result.text).toMatch(/\(ref abcd1234\)$/);
    expect(result.text).not.toContain('canary');
    assertHistory(result.entries);
  });

  it('never shows a cut answer as complete', async () => {
    const talk = startTalk({ script: [fails('cut', 'The first half')] });
    const result = await talk.says('hi');
    expect(result).toMatchObject({ status: 'failed', code: 'MODEL_CUT' });
    expect(result.text).toMatch(/^The first half\n\n⚠ This answer was cut off/);
    expect(result.entries.at(-1)?.text).toBe(result.text);
  });

  it('marks an answer that reached the length limit', async () => {
    const talk = startTalk({ script: [says('Once upon', { finish: 'length' })] });
    expect((await talk.says('story')).text).toMatch(/^Once upon\n\n⚠ The answer ends here/);
  });

  it.each(['', '   \n', '\u200b\u2060\ufeff\u00ad', '\u180e\u2800'])('asks once more when the answer is invisible: %j', async (empty) => {
    const talk = startTalk({ script: [says(empty), says('Here.')] });
    expect((await talk.says('hi')).text).toBe('Here.');
    expect(talk.events).toContainEqual({ type: 'retract' });
    const again = startTalk({ script: [says(empty), says(empty)] });
    expect(await again.says('hi')).toMatchObject({ status: 'failed', code: 'MODEL_BAD_ANSWER' });
  });

  it('shows a refusal of the provider without asking again', async () => {
    const talk = startTalk({ script: [says('', { finish: 'content_filter' })] });
    expect(await talk.says('hi')).toMatchObject({ status: 'failed', code: 'MODEL_BAD_ANSWER' });
    expect(talk.requests).toHaveLength(1);
  });

  it('ends with the sentence of a budget, before the call', async () => {
    const talk = startTalk();
    expect(await talk.says('hi', { beforeCall: () => 'The day is over.' })).toMatchObject({ status: 'failed', code: 'BUDGET_EXCEEDED', text: 'The day is over.' });
    expect(talk.requests).toHaveLength(0);
  });

  it('fails politely when the store breaks', async () => {
    const talk = startTalk({ script: [says('never')] });
    const broken = () => Promise.reject(new Error('disk I/O error at /secret/path'));
    const journal = { begin: broken, step: broken, toolStarted: broken, toolResult: broken, steered: broken, compacted: broken };
    talk.watchHooks();
    const result = await talk.says('hi', { journal });
    expect(result).toMatchObject({ status: 'failed', code: 'TURN_FAILED' });
    expect(result.text).not.toContain('secret');
    expect(talk.fired.filter(({ name }) => name === 'on_session_end')).toHaveLength(1);
  });

  it.each(['STORE_UNAVAILABLE', 'TURN_INTERRUPTED'] as const)('is not over when its journal says %s: it rejects, and no hook hears of an end', async (code) => {
    const talk = startTalk({ script: [says('never')] });
    const broken = () => Promise.reject(new HermesError(code, 'not now'));
    const journal = { begin: broken, step: broken, toolStarted: broken, toolResult: broken, steered: broken, compacted: broken };
    talk.watchHooks();
    await expect(talk.says('hi', { journal })).rejects.toMatchObject({ code });
    expect(talk.fired.map(({ name }) => name)).toEqual(['pre_llm_call']);
  });

  it('asks the model while it is written down, but runs no tool and ends in nothing when that fails', async () => {
    const talk = startTalk({ script: [calls('weather', { city: 'London' }), says('never')], tools: [weather] });
    const steps: string[] = [];
    const begin = () => Promise.reject(new HermesError('STORE_UNAVAILABLE', 'not now'));
    const note = (what: string) => async () => void steps.push(what);
    await expect(talk.says('hi', { journal: { begin, step: note('step'), toolStarted: note('started'), toolResult: note('result'), steered: note('steered'), compacted: note('compacted') } })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(talk.requests).toHaveLength(1);
    expect(steps).toEqual(['step']);
  });

  it('takes a message that is nothing but a mention', async () => {
    const talk = startTalk({ script: [says('Yes?')] });
    expect((await talk.says('')).text).toBe('Yes?');
    expect(talk.requests[0]?.messages.at(-1)?.content).toBe('(empty message)');
  });
});

describe('limits', () => {
  it('asks for an answer without tools when the steps are used up', async () => {
    let n = 0;
    const count = tool('count', () => JSON.stringify({ n: ++n }));
    const talk = startTalk({ tools: [count], otherwise: (request) => (request.tools.length > 0 ? calls('count') : says('Counted to 3.')) });
    const result = await talk.says('count for ever', { limits: { maxSteps: 3, timeoutMs: 60_000 } });
    expect(result).toMatchObject({ status: 'answered', text: 'Counted to 3.', steps: 4 });
    expect(talk.requests.map((request) => request.tools.length)).toEqual([1, 1, 1, 0]);
    expect(talk.requests[3]?.messages.at(-1)).toMatchObject({ role: 'user', content: expect.stringContaining('No steps are left') as string });
    expect(result.entries.filter((entry) => entry.role === 'user')).toHaveLength(1);
  });

  it('keeps to the alternation of roles in the last request after an empty first answer', async () => {
    const talk = startTalk({ script: [says(''), says('Now.')] });
    await talk.says('hi', { limits: { maxSteps: 1, timeoutMs: 60_000 } });
    expect(talk.requests[1]?.messages.map((message) => message.role)).toEqual(['system', 'user']);
  });

  it('warns at the third equal result and stops at the fifth', async () => {
    const talk = startTalk({ tools: [weather], otherwise: () => calls('weather', { city: 'London' }) });
    const result = await talk.says('weather?');
    const texts = toolTexts(result);
    expect(texts).toHaveLength(5);
    expect(texts.map((text) => text?.includes('the same result'))).toEqual([false, false, true, true, true]);
    expect(result.status).toBe('failed');
    expect(result.text).toMatch(/^I stopped here: the same tool call/);
    expect(talk.requests).toHaveLength(5);
    assertHistory(result.entries);
  });

  it('takes no message from those that wait into a turn that it stops', async () => {
    let asked = 0;
    const talk = startTalk({ tools: [weather], otherwise: () => calls('weather') });
    const steering = () => (asked++, []);
    expect((await talk.says('weather?', { steering })).status).toBe('failed');
    expect(asked).toBe(4);
  });

  it('does not mind the same call with new results', async () => {
    let n = 0;
    const poll = tool('poll', () => JSON.stringify({ n: ++n }));
    const talk = startTalk({ tools: [poll], otherwise: () => (n < 8 ? calls('poll') : says('Done.')) });
    expect((await talk.says('wait')).text).toBe('Done.');
  });

  it('stops after three steps of arguments that cannot be used', async () => {
    let ran = 0;
    const counted = tool('weather', () => String(++ran));
    const talk = startTalk({ tools: [counted], otherwise: () => calls('weather', {}, { invalid: `no JSON (${talk.requests.length})` }) });
    expect(await talk.says('hi')).toMatchObject({ status: 'failed', code: 'TURN_STOPPED' });
    expect(talk.requests).toHaveLength(3);
    expect(ran).toBe(0);
  });

  it('is aborted by its time limit, with every call answered', async () => {
    const slow = tool('slow', () => new Promise(() => {}));
    const talk = startTalk({ tools: [slow, weather], script: [callsAll({ id: 'a', name: 'slow' }, { id: 'b', name: 'weather' })] });
    talk.watchHooks();
    const result = await talk.says('hi', { limits: { maxSteps: 5, timeoutMs: 20 } });
    expect(result).toMatchObject({ status: 'aborted', code: 'TURN_TIMEOUT' });
    expect(toolTexts(result)).toEqual(['{"error":"aborted; outcome unknown"}', '{"error":"aborted; not run"}']);
    expect(talk.journal).toContain('result b {"error":"aborted; not run"}');
    expect(talk.fired.flatMap(({ name, payload }) => (name.endsWith('_tool_call') ? [`${name} ${String(payload.tool_call_id)}`] : []))).toEqual(['pre_tool_call a', 'post_tool_call a']);
    assertHistory(result.entries);
  });
});

describe('/stop', () => {
  it('ends a model call', async () => {
    const stop = new AbortController();
    const talk = startTalk({
      script: [
        (request) =>
          new Promise((resolve) => {
            request.signal.addEventListener('abort', () => resolve(fails('aborted', 'Half')));
            stop.abort();
          }),
      ],
    });
    talk.watchHooks();
    expect(await talk.says('hi', { signal: stop.signal })).toMatchObject({ status: 'aborted', code: 'TURN_INTERRUPTED', text: 'Stopped.' });
    expect(talk.fired.at(-1)).toMatchObject({ name: 'on_session_end', payload: { completed: false, interrupted: true } });
    expect(talk.fired.map(({ name }) => name)).not.toContain('post_llm_call');
  });

  it('ends a tool that does not listen', async () => {
    const stop = new AbortController();
    const deaf = tool('deaf', () => {
      stop.abort();
      return new Promise(() => {});
    });
    const talk = startTalk({ tools: [deaf], script: [calls('deaf')] });
    const result = await talk.says('go', { signal: stop.signal });
    expect(result.status).toBe('aborted');
    expect(toolTexts(result)).toEqual(['{"error":"aborted; outcome unknown"}']);
    assertHistory(result.entries);
  });

  it('ends a question for consent that nobody answers, and the call does not run', async () => {
    const stop = new AbortController();
    const risky = tool('risky', () => '{}', { needsApproval: () => 'danger' });
    const talk = startTalk({ tools: [risky], script: [calls('risky', {}, { id: 'r' })] });
    const approve = () => {
      stop.abort();
      return new Promise<never>(() => {});
    };
    expect((await talk.says('go', { signal: stop.signal, approve })).status).toBe('aborted');
    expect(talk.journal).toEqual(['begin go', 'step r', 'result r {"error":"aborted; not run"}']);
  });

  it('before the turn begins costs no call', async () => {
    const talk = startTalk();
    expect((await talk.says('hi', { signal: AbortSignal.abort() })).status).toBe('aborted');
    expect(talk.requests).toHaveLength(0);
  });
});
