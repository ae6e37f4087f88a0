import { describe, expect, it } from 'vitest';
import type { ModelReply, ToolDefinition } from '../../src/contract/model.ts';
import { openApi, openDesk } from './desk.ts';

const weather: ToolDefinition = { name: 'weather', description: 'Weather of a city', parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } };

const sse = (...chunks: unknown[]) => chunks.map((chunk) => `data: ${typeof chunk === 'string' ? chunk : JSON.stringify(chunk)}\n\n`).join('');
const chunk = (delta: unknown, finish: string | null = null, index = 0) => ({ choices: [{ index, delta, finish_reason: finish }] });
const call = (index: number | undefined, id: unknown, name: unknown, args: unknown) => ({ ...(index === undefined ? {} : { index }), id, function: { name, arguments: args } });

async function talk(raw: string, tools: ToolDefinition[] = []) {
  const api = await openApi();
  api.answer(() => ({ raw }));
  const desk = openDesk({ base_url: api.url });
  return { reply: good(await desk.ask('hi', { tools })), shown: desk.shown.join(''), api };
}

function good(reply: ModelReply) {
  if (!reply.ok) throw new Error(`${reply.failure}: ${reply.detail}`);
  return reply;
}

describe('a plain answer', () => {
  it('streams text, counts tokens and names the model', async () => {
    const api = await openApi();
    const desk = openDesk({ base_url: api.url, name: 'm1' });
    expect(await desk.ask('how are you?')).toEqual({
      ok: true,
      text: 'You said: how are you?',
      toolCalls: [],
      finish: 'stop',
      model: 'custom/m1',
      usage: { input: 10, output: 5, cached: 0, requests: 1 },
    });
    expect(desk.shown.length).toBeGreaterThan(1);
    expect(desk.shown.join('')).toBe('You said: how are you?');
    expect(api.requests[0]?.body).toMatchObject({ model: 'm1', stream: true, stream_options: { include_usage: true } });
    expect(api.requests[0]?.body).not.toHaveProperty('tools');
  });

  it('accepts one JSON body in answer to a stream request', async () => {
    const api = await openApi();
    const message = { role: 'assistant', content: '<think>hm</think>Fine.', tool_calls: [call(undefined, 'a', 'weather', '{"city":"Rome"}'), call(undefined, 'a', 'weather', { city: 'Oslo' })] };
    api.script({ body: { choices: [{ index: 0, message, finish_reason: 'tool_calls' }], usage: { prompt_tokens: 3, completion_tokens: 2 } } });
    const desk = openDesk({ base_url: api.url });
    const reply = good(await desk.ask('hi', { tools: [weather] }));
    expect(reply).toMatchObject({ text: 'Fine.', finish: 'tool_calls', usage: { input: 3, output: 2 } });
    expect(reply.toolCalls.map(({ args }) => args)).toEqual([{ city: 'Rome' }, { city: 'Oslo' }]);
    expect(new Set(reply.toolCalls.map(({ id }) => id)).size).toBe(2);
    expect(desk.shown.join('')).toBe('Fine.');
  });

  it.each([400, 422])('asks again without stream_options when a server refuses them with %d, and remembers it', async (status) => {
    const api = await openApi();
    api.script({ status, body: { error: { message: 'Unrecognized request argument supplied: stream_options' } } }, { text: 'one' }, { text: 'two' });
    const desk = openDesk({ base_url: api.url });
    expect(good(await desk.ask('a'))).toMatchObject({ text: 'one', usage: { requests: 2 } });
    expect(good(await desk.ask('b')).text).toBe('two');
    expect(api.requests.map(({ body }) => 'stream_options' in body)).toEqual([true, false, false]);
    expect(desk.waits).toEqual([]);
  });

  it.each([
    ['without [DONE]', sse(chunk({ content: 'Fine.' }), chunk({}, 'stop'))],
    ['without a finish_reason', sse(chunk({ content: 'Fine.' }), '[DONE]')],
    ['without a last line end', sse(chunk({ content: 'Fine.' })) + 'data: [DONE]'],
    ['with \\r\\n, comments and a byte order mark', `\uFEFF: hello\r\n\r\ndata: ${JSON.stringify(chunk({ content: 'Fine.' }))}\r\n\r\n: ping\r\n\r\ndata:[DONE]\r\n\r\n`],
    ['with one event over several data lines', 'data: {"choices":[\ndata: {"index":0,"delta":{"content":"Fine."},\ndata: "finish_reason":"stop"}]}\n\n'],
    ['with text as parts', sse(chunk({ content: [{ type: 'text', text: 'Fi' }, { type: 'text', text: 'ne.' }] }, 'stop'))],
    ['of a second choice is ignored', sse(chunk({ content: 'No!' }, null, 1), chunk({ content: 'Fine.' }), chunk({}, 'stop', 1), chunk({}, 'stop'))],
    ['with chunks without choices before it', sse({ choices: [], prompt_filter_results: [] }, chunk({ role: 'assistant', content: 'Fine.' }, 'stop'), '[DONE]')],
  ])('%s is complete', async (_, raw) => {
    expect((await talk(raw)).reply).toMatchObject({ text: 'Fine.', finish: 'stop' });
  });

  it('a server that never closes the connection does not hold the answer back', async () => {
    const api = await openApi();
    const raw = sse(chunk({ content: 'Fine.' }), chunk({}, 'stop'));
    api.script({ raw, hangAfter: raw.length });
    const desk = openDesk({ base_url: api.url });
    const pending = desk.ask('hi');
    while (desk.shown.length === 0) await new Promise(setImmediate);
    const ticking = setInterval(() => desk.advance(1000), 1);
    expect(good(await pending).text).toBe('Fine.');
    clearInterval(ticking);
  });
});

describe('thoughts, refusals, filters', () => {
  it('never shows reasoning deltas', async () => {
    const { reply, shown } = await talk(sse(chunk({ reasoning_content: 'secret thought' }), chunk({ reasoning: 'another' }), chunk({ content: 'Fine.' }), chunk({}, 'stop')));
    expect(reply.text).toBe('Fine.');
    expect(shown).toBe('Fine.');
  });

  it.each([
    ['<think>a < b</think>\n\nFine.', 'Fine.'],
    ['\n<think></think>Fine.', 'Fine.'],
    ['<thinking about it', '<thinking about it'],
    ['I <think> so</think>', 'I <think> so</think>'],
    ['<think>never ends', ''],
    ['<th', '<th'],
    ['  two spaces', '  two spaces'],
  ])('%j is shown as %j, letter by letter too', async (text, visible) => {
    for (const pieces of [[text], [...text]]) {
      const { reply, shown } = await talk(sse(...pieces.map((piece) => chunk({ content: piece })), chunk({}, 'stop')));
      expect(reply.text).toBe(visible);
      expect(shown).toBe(visible);
    }
  });

  it('a refusal is the text, once', async () => {
    const { reply, shown, api } = await talk(sse(chunk({ refusal: 'I will ' }), chunk({ refusal: 'not.' }), chunk({}, 'stop')));
    expect(reply).toMatchObject({ text: 'I will not.', finish: 'content_filter' });
    expect(shown).toBe('I will not.');
    expect(api.requests).toHaveLength(1);
  });

  it('a filtered answer is not asked for again', async () => {
    const { reply, api } = await talk(sse(chunk({ content: 'Half' }), chunk({}, 'content_filter'), '[DONE]'));
    expect(reply).toMatchObject({ text: 'Half', finish: 'content_filter' });
    expect(api.requests).toHaveLength(1);
  });
});

describe('tool calls', () => {
  it('are assembled by index, in order of index', async () => {
    const { reply } = await talk(
      sse(
        chunk({ tool_calls: [call(1, 'b', 'weather', '{"ci')] }),
        chunk({ tool_calls: [call(0, 'a', 'weather', '')] }),
        chunk({ tool_calls: [{ index: 1, function: { arguments: 'ty":"Rome"}' } }, { index: 0, function: { arguments: '{"city":"Oslo"}' } }] }),
        chunk({}, 'tool_calls'),
        '[DONE]',
      ),
      [weather],
    );
    expect(reply.toolCalls).toEqual([
      { id: 'a', name: 'weather', args: { city: 'Oslo' } },
      { id: 'b', name: 'weather', args: { city: 'Rome' } },
    ]);
    expect(reply.finish).toBe('tool_calls');
  });

  it.each([
    ['share one index', [call(0, 'a', 'weather', '{"city":"Oslo"}'), call(0, 'b', 'weather', '{"city":"Rome"}')]],
    ['have no index', [call(undefined, 'a', 'weather', '{"city":"Oslo"}'), call(undefined, 'b', 'weather', '{"city":"Rome"}')]],
    ['have neither index nor id', [call(undefined, null, 'weather', '{"city":"Oslo"}'), call(undefined, '', 'weather', '{"city":"Rome"}')]],
    ['share one id', [call(0, 'a', 'weather', '{"city":"Oslo"}'), call(1, 'a', 'weather', '{"city":"Rome"}')]],
    ['repeat their name in every delta', [call(0, 'a', 'weather', '{"city":'), call(0, 'a', 'weather', '"Oslo"}'), call(1, '', 'weather', '{"city":"Rome"}')]],
  ])('that %s stay apart, with ids of their own', async (_, calls) => {
    const { reply } = await talk(sse(...calls.map((one) => chunk({ tool_calls: [one] })), chunk({}, 'stop'), '[DONE]'), [weather]);
    expect(reply.toolCalls.map(({ name, args }) => [name, args])).toEqual([
      ['weather', { city: 'Oslo' }],
      ['weather', { city: 'Rome' }],
    ]);
    const ids = reply.toolCalls.map(({ id }) => id);
    expect(new Set(ids).size).toBe(2);
    for (const id of ids) expect(id).toMatch(/\S/);
    expect(reply.finish).toBe('tool_calls');
  });

  it.each(['[]', '"x"', 'null', '3', '{"city":', 'city=Rome'])('arguments %s are marked, and the next request is in order', async (args) => {
    const api = await openApi();
    api.script({ toolCalls: [{ name: 'weather', args }] });
    const desk = openDesk({ base_url: api.url });
    const { toolCalls } = good(await desk.ask('hi', { tools: [weather] }));
    expect(toolCalls[0]).toMatchObject({ name: 'weather', args: {}, invalid: expect.stringMatching(/^the arguments/) as string });

    const [first] = toolCalls;
    if (!first) throw new Error('no call');
    const messages = [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: '', toolCalls },
      { role: 'tool', toolCallId: first.id, name: first.name, content: '{"error":"invalid_json"}' },
    ] as const;
    expect(good(await desk.ask('', { messages: [...messages], tools: [weather] })).text).toBe('You said: hi');
    expect(api.violations).toEqual([]);
  });

  it.each(['../x', '', 'a b', 'x'.repeat(1_000_000 - 100), 'getwéather'])('the name %.20s never runs, and can be sent back', async (name) => {
    const { reply } = await talk(sse(chunk({ tool_calls: [call(0, 'a', name, '{}')] }), chunk({}, 'tool_calls')));
    expect(reply.toolCalls[0]?.name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    expect(reply.toolCalls[0]?.invalid).toMatch(/^Unknown tool/);
    expect(reply.toolCalls[0]?.invalid?.length).toBeLessThan(200);
  });

  it.each(['constructor', '__proto__', 'toString'])('the name %s comes through as it is', async (name) => {
    expect((await talk(sse(chunk({ tool_calls: [call(0, 'a', name, '{}')] }), chunk({}, 'tool_calls')))).reply.toolCalls).toEqual([{ id: 'a', name, args: {} }]);
  });

  it('that the length limit cut off are marked', async () => {
    const { reply } = await talk(sse(chunk({ tool_calls: [call(0, 'a', 'weather', '{"city":"Ro')] }), chunk({}, 'length'), '[DONE]'));
    expect(reply).toMatchObject({ finish: 'length', toolCalls: [{ args: {}, invalid: expect.any(String) as string }] });
  });
});

describe('usage', () => {
  it.each([
    [undefined, [0, 0, 0]],
    [null, [0, 0, 0]],
    [{ prompt_tokens: -5, completion_tokens: 'many' }, [0, 0, 0]],
    [{ prompt_tokens: '7', completion_tokens: 2.4 }, [0, 2, 0]],
    [{ prompt_tokens: 7, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 5 } }, [7, 1, 5]],
    [{ prompt_tokens: 7, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 50 } }, [7, 1, 7]],
    [{ prompt_tokens: 7, completion_tokens: 1, prompt_tokens_details: null }, [7, 1, 0]],
    [[1, 2], [0, 0, 0]],
  ])('%j counts as %j', async (usage, [input, output, cached]) => {
    const { reply } = await talk(sse(chunk({ content: 'Fine.' }, 'stop'), { choices: [], usage }, '[DONE]'));
    expect(reply.usage).toEqual({ input, output, cached, requests: 1 });
  });
});
