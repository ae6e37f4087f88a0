import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ApiErrorInfo, ApiObserver, ApiRequestInfo, ApiResponseInfo, ModelReply } from '../../src/contract/model.ts';
import { startOpenAiApi } from '../support/openai-api.ts';
import { waitFor } from '../support/wait-for.ts';
import { at, openApi, openDesk } from './desk.ts';

const canary = 'CANARY-7f3a';
const error = (message: string, more: object = {}) => ({ error: { message, ...more } });

function bad(reply: ModelReply) {
  if (reply.ok) throw new Error(`answered: ${reply.text}`);
  return reply;
}

/** A port that was free a moment ago: connections to it are refused. */
async function closedPort(): Promise<string> {
  const api = await startOpenAiApi();
  await api.close();
  return api.url;
}

function observe() {
  const seen: ({ kind: 'request' } & ApiRequestInfo | { kind: 'response' } & ApiResponseInfo | { kind: 'error' } & ApiErrorInfo)[] = [];
  const api: ApiObserver = {
    onRequest: async (info) => void seen.push({ kind: 'request', ...info }),
    onResponse: async (info) => void seen.push({ kind: 'response', ...info }),
    onError: async (info) => void seen.push({ kind: 'error', ...info }),
  };
  return { seen, api };
}

describe('nobody answers', () => {
  it('a refused connection is tried three times, 1 and 2 s apart, and then said', async () => {
    const desk = openDesk({ base_url: await closedPort() });
    expect(bad(await desk.ask('hi'))).toMatchObject({ failure: 'unavailable', usage: { requests: 3 }, partialText: '' });
    expect(desk.waits).toEqual([1000, 2000]);
  });

  it.each([
    [0, [800, 1600]],
    [0.999999, [1200, 2400]],
  ])('the waits vary by a fifth (%d)', async (random, waits) => {
    const desk = openDesk({ base_url: await closedPort() }, { random: () => random });
    await desk.ask('hi');
    expect(desk.waits).toEqual(waits);
  });

  it('an unknown host is a failure like any other', async () => {
    const desk = openDesk({ base_url: 'http://no-such-host.invalid/v1' });
    expect(bad(await desk.ask('hi')).failure).toBe('unavailable');
  });

  it('a server that does not speak TLS is a failure like any other', async () => {
    const api = await openApi();
    const desk = openDesk({ base_url: api.url.replace('http:', 'https:') });
    expect(bad(await desk.ask('hi'))).toMatchObject({ failure: 'unavailable', usage: { requests: 3 } });
  });

  it('a server that hangs up at once is tried three times', async () => {
    let connections = 0;
    const server = createServer((socket) => {
      connections++;
      socket.once('data', () => socket.destroy());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const desk = openDesk({ base_url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` });
    expect(bad(await desk.ask('hi')).failure).toBe('unavailable');
    expect(connections).toBe(3);
  });

  it('five dead providers are heard of within 90 s', async () => {
    const fallbacks = await Promise.all([1, 2, 3, 4].map(async () => at({ url: await closedPort() })));
    const desk = openDesk({ base_url: await closedPort(), fallbacks }, { random: () => 0.999 });
    expect(bad(await desk.ask('hi'))).toMatchObject({ failure: 'unavailable', usage: { requests: 15 } });
    expect(desk.deps.now()).toBeLessThan(90_000);
  });
});

describe('time limits', () => {
  it('nothing at all for 120 s ends the call, and not a second before', async () => {
    const api = await openApi();
    api.script({ hang: true });
    const desk = openDesk({ base_url: api.url });
    let ended = false;
    const pending = desk.ask('hi').finally(() => (ended = true));
    await api.waitForRequest(1);
    desk.advance(119_999);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(ended).toBe(false);
    desk.advance(1);
    expect(bad(await pending)).toMatchObject({ failure: 'timeout', usage: { requests: 1 } });
    await waitFor('the request to be given up', () => api.requests[0]?.aborted);
  });

  it('headers, a role and keep-alives are no first token', async () => {
    const api = await openApi();
    const raw = `: ping\n\ndata: ${JSON.stringify({ choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] })}\n\n: ping\n\n`;
    api.script({ raw, hangAfter: raw.length });
    const desk = openDesk({ base_url: api.url });
    const pending = desk.ask('hi');
    await api.waitForRequest(1);
    await new Promise((resolve) => setTimeout(resolve, 20));
    desk.advance(120_000);
    expect(bad(await pending).failure).toBe('timeout');
  });

  it('60 s without anything new end an answer that had begun; what was shown is said', async () => {
    const api = await openApi();
    const raw = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'Once upon' } }] })}\n\n`;
    api.script({ raw, hangAfter: raw.length });
    const desk = openDesk({ base_url: api.url, fallbacks: [at(api)] });
    const pending = desk.ask('hi');
    await waitFor('the first words', () => desk.shown.length > 0);
    desk.advance(60_000);
    expect(bad(await pending)).toMatchObject({ failure: 'timeout', partialText: 'Once upon', usage: { requests: 1 } });
  });

  it('a provider that hangs is not asked again, but the fallback is', async () => {
    const api = await openApi();
    const other = await openApi();
    api.script({ hang: true });
    const desk = openDesk({ base_url: api.url, fallbacks: [at(other, 'second')] });
    const pending = desk.ask('hi');
    await api.waitForRequest(1);
    desk.advance(120_000);
    expect(await pending).toMatchObject({ ok: true, model: 'custom/second', usage: { requests: 2 } });
  });

  it('a fallback that hangs has what is left of the 120 s, and nobody is asked after it', async () => {
    const api = await openApi();
    api.script({ status: 429, headers: { 'retry-after': '20' } }, { status: 401 }, { hang: true });
    const desk = openDesk({ base_url: api.url, fallbacks: [at(api, 'second'), at(api, 'third')] });
    const pending = desk.ask('hi');
    await api.waitForRequest(3);
    desk.advance(100_000);
    expect(bad(await pending)).toMatchObject({ failure: 'rate_limited', usage: { requests: 3 } });
  });

  it('no attempt begins when 120 s of retrying are over', async () => {
    const api = await openApi();
    api.answer(() => ({ status: 429, headers: { 'retry-after': '30' } }));
    const desk = openDesk({ base_url: api.url, fallbacks: [at(api, 'b'), at(api, 'c'), at(api, 'd')] });
    expect(bad(await desk.ask('hi')).failure).toBe('rate_limited');
    expect(desk.deps.now()).toBeLessThanOrEqual(120_000);
    expect(api.requests.map(({ body }) => body.model)).toEqual(['test-model', 'test-model', 'test-model', 'b', 'b', 'c', 'd']);
  });
});

describe('statuses', () => {
  it.each([
    // status, body, failure, requests to the primary, fallback asked
    [500, undefined, 'unavailable', 3, true],
    [502, '<html>Bad gateway</html>', 'unavailable', 3, true],
    [503, undefined, 'unavailable', 3, true],
    [529, error('Overloaded', { type: 'overloaded_error' }), 'unavailable', 3, true],
    [408, undefined, 'unavailable', 3, true],
    [409, undefined, 'unavailable', 3, true],
    [401, error('Incorrect API key provided'), 'auth', 1, true],
    [403, error('Country not supported'), 'auth', 1, true],
    [402, error('Payment required'), 'quota', 1, true],
    [429, error('You exceeded your current quota, please check your plan', { code: 'insufficient_quota' }), 'quota', 1, true],
    [400, error('Your credit balance is too low to access the API'), 'quota', 1, true],
    [429, error('Rate limit reached'), 'rate_limited', 3, true],
    [429, error('You exceeded your current quota. Please retry in 4.5s.'), 'rate_limited', 3, true],
    [404, error('The model does not exist', { code: 'model_not_found' }), 'bad_request', 1, true],
    [400, error('This model\'s maximum context length is 8192 tokens.'), 'overflow', 1, false],
    [400, error('too long', { code: 'context_length_exceeded' }), 'overflow', 1, false],
    [400, error('prompt is too long: 210000 tokens > 200000 maximum'), 'overflow', 1, false],
    [400, error('The input token count (9) exceeds the maximum number of tokens allowed (8).'), 'overflow', 1, false],
    [400, error('the request exceeds the available context size'), 'overflow', 1, false],
    [413, '', 'overflow', 1, false],
    [400, error('Invalid value for messages'), 'bad_request', 1, false],
    [422, '[]', 'bad_request', 1, false],
  ])('%d %j is %s: %d requests, fallback %s', async (status, body, failure, requests, falls) => {
    const api = await openApi();
    api.answer((request) => (request.body.model === 'second' ? { text: 'from the second' } : { status, body }));
    const alone = openDesk({ base_url: api.url });
    expect(bad(await alone.ask('hi'))).toMatchObject({ failure, status, usage: { requests } });
    expect(api.requests).toHaveLength(requests);

    const backed = openDesk({ base_url: api.url, fallbacks: [at(api, 'second')] });
    const reply = await backed.ask('hi');
    if (falls) expect(reply).toMatchObject({ ok: true, text: 'from the second', model: 'custom/second' });
    else expect(bad(reply)).toMatchObject({ failure });
  });

  it('a fault that passes is not noticed', async () => {
    const api = await openApi();
    api.script({ status: 500 }, { status: 503 }, { text: 'Fine.' });
    const desk = openDesk({ base_url: api.url });
    expect(await desk.ask('hi')).toMatchObject({ ok: true, text: 'Fine.', usage: { requests: 3 } });
  });

  it.each([
    ['1', 1000],
    ['20', 20_000],
    ['30', 30_000],
    ['0', 0],
  ])('429 with Retry-After %s waits %d ms', async (value, ms) => {
    const api = await openApi();
    api.script({ status: 429, headers: { 'retry-after': value } }, { text: 'Fine.' });
    const desk = openDesk({ base_url: api.url });
    expect((await desk.ask('hi')).ok).toBe(true);
    expect(desk.waits).toEqual([ms]);
  });

  it('429 with a date waits until then', async () => {
    const api = await openApi();
    api.script({ status: 429, headers: { 'retry-after': new Date(Date.now() + 15_000).toUTCString() } }, { text: 'Fine.' });
    const desk = openDesk({ base_url: api.url });
    expect((await desk.ask('hi')).ok).toBe(true);
    expect(desk.waits[0]).toBeGreaterThan(10_000);
    expect(desk.waits[0]).toBeLessThanOrEqual(15_000);
  });

  it.each(['31', '600', new Date(Date.now() + 3_600_000).toUTCString()])('429 with Retry-After %s goes on to the fallback at once', async (value) => {
    const api = await openApi();
    api.script({ status: 429, headers: { 'retry-after': value } }, { text: 'from the second' });
    const desk = openDesk({ base_url: api.url, fallbacks: [at(api, 'second')] });
    expect(await desk.ask('hi')).toMatchObject({ ok: true, model: 'custom/second' });
    expect(desk.waits).toEqual([]);
  });

  it('the first provider\'s trouble is the one that is reported, with all of them in the detail', async () => {
    const api = await openApi();
    api.answer((request) => (request.body.model === 'second' ? { status: 500 } : { status: 401, body: error('wrong key') }));
    const reply = bad(await openDesk({ base_url: api.url, fallbacks: [at(api, 'second')] }).ask('hi'));
    expect(reply).toMatchObject({ failure: 'auth', status: 401 });
    expect(reply.detail).toMatch(/custom\/test-model: HTTP 401: wrong key; custom\/second: HTTP 500/);
  });
});

describe('a used-up quota', () => {
  it('is not asked for again for 15 minutes, per address and key', async () => {
    const api = await openApi();
    api.answer((request) => (request.headers.authorization === 'Bearer empty-key' ? { status: 402 } : { text: 'from the second' }));
    const desk = openDesk({ base_url: api.url, api_key: 'empty-key', fallbacks: [{ ...at(api, 'same-key'), api_key: 'empty-key' }, at(api, 'second')] });
    expect(await desk.ask('1')).toMatchObject({ ok: true, model: 'custom/second', usage: { requests: 2 } });
    expect(await desk.ask('2')).toMatchObject({ ok: true, model: 'custom/second', usage: { requests: 1 } });
    desk.advance(15 * 60_000 - 1);
    expect(await desk.ask('3')).toMatchObject({ ok: true, usage: { requests: 1 } });
    desk.advance(1);
    expect(await desk.ask('4')).toMatchObject({ ok: true, usage: { requests: 2 } });
    expect(api.requests.map(({ body }) => body.model)).toEqual(['test-model', 'second', 'second', 'second', 'test-model', 'second']);
  });

  it('without a fallback is said without a request', async () => {
    const api = await openApi();
    api.answer(() => ({ status: 402 }));
    const desk = openDesk({ base_url: api.url });
    await desk.ask('1');
    expect(bad(await desk.ask('2'))).toMatchObject({ failure: 'quota', usage: { requests: 0 } });
    expect(api.requests).toHaveLength(1);
  });
});

describe('a provider that keeps failing', () => {
  it('is passed over for half a minute while there is another, then asked once to see how it is', async () => {
    const api = await openApi();
    let isDown = true;
    api.answer((request) => (request.body.model === 'second' ? { text: 'from the second' } : isDown ? { status: 503 } : { text: 'back again' }));
    const desk = openDesk({ base_url: api.url, fallbacks: [at(api, 'second')] });
    const asked = async (text: string) => {
      const before = api.requests.length;
      await desk.ask(text);
      return api.requests.slice(before).map(({ body }) => body.model);
    };
    expect(await asked('1')).toEqual(['test-model', 'test-model', 'test-model', 'second']);
    expect(await asked('2')).toEqual(['test-model', 'test-model', 'second']);
    expect(await asked('3')).toEqual(['second']);
    desk.advance(30_000);
    expect(await asked('4')).toEqual(['test-model', 'second']);
    desk.advance(30_000);
    isDown = false;
    expect(await asked('5')).toEqual(['test-model']);
    isDown = true;
    expect(await asked('6')).toEqual(['test-model', 'test-model', 'test-model', 'second']);
  });

  it('is asked every time when there is no other', async () => {
    const api = await openApi();
    api.answer(() => ({ status: 503 }));
    const desk = openDesk({ base_url: api.url });
    for (let message = 1; message <= 4; message++) await desk.ask('hi');
    expect(api.requests).toHaveLength(12);
  });
});

describe('a 200 that is no answer', () => {
  const html = `<!DOCTYPE html><html>${canary}</html>`;
  const stream = (...chunks: unknown[]) => chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('');
  it.each([
    ['HTML', { raw: html, headers: { 'content-type': 'text/html' } }],
    ['HTML as JSON', { raw: html, headers: { 'content-type': 'application/json' } }],
    ['HTML as a stream', { raw: html }],
    ['nothing', { raw: '' }],
    ['white space', { raw: ' \n\n' }],
    ['words', { raw: `upstream ${canary}`, headers: { 'content-type': 'text/plain' } }],
    ['choices: []', { body: { choices: [] } }],
    ['choices: null', { body: { choices: null } }],
    ['no choices in a stream', { raw: `${stream({ choices: [] })}data: [DONE]\n\n` }],
    ['[DONE] alone', { raw: 'data: [DONE]\n\n' }],
    ['an error', { body: error(canary) }],
    ['an error in a stream', { raw: stream(error(canary)) }],
    ['an error event', { raw: `event: error\ndata: {"message":"${canary}"}\n\n` }],
    ['an error in a list', { body: [error(canary)] }],
    ['finish_reason error', { raw: stream({ choices: [{ index: 0, delta: {}, finish_reason: 'error' }] }) }],
    ['broken JSON', { raw: `{"choices":[{"message":{"content":"${canary}`, headers: { 'content-type': 'application/json' } }],
    ['a broken chunk', { raw: `data: {"choices":[{"delta":{"content":${canary}\n\ndata: [DONE]\n\n` }],
    ['a JSON string', { body: JSON.stringify(canary) }],
    ['a lie about gzip', { raw: 'data: {}\n\n', headers: { 'content-encoding': 'gzip' } }],
    ['10 MB of JSON', { body: `{"choices":[{"message":{"content":"${canary}${'x'.repeat(10_000_000)}"}}]}` }],
    ['10 MB in one line', { raw: `data: {"choices":[{"delta":{"content":"${'x'.repeat(10_000_000)}` }],
    ['10 MB of HTML', { raw: `<html>${canary}${'x'.repeat(10_000_000)}` }],
    ['204', { status: 204, raw: '' }],
  ])('%s is a bad answer: one retry, nothing shown, at most 2 KiB in the log', async (_, reply) => {
    const api = await openApi();
    api.answer(() => reply);
    const desk = openDesk({ base_url: api.url });
    const failed = bad(await desk.ask('hi'));
    expect(failed).toMatchObject({ failure: 'bad_answer', partialText: '', usage: { requests: 2 } });
    expect(Buffer.byteLength(failed.detail)).toBeLessThanOrEqual(2048);
    expect(desk.shown).toEqual([]);
    for (const line of desk.logged) expect(line.length).toBeLessThan(6000);
  });

  it('an overflow in a 200 is an overflow', async () => {
    const api = await openApi();
    api.script({ raw: stream(error('maximum context length is 8192')) });
    expect(bad(await openDesk({ base_url: api.url }).ask('hi'))).toMatchObject({ failure: 'overflow', usage: { requests: 1 } });
  });

  it('10 MB of text are read up to 1 MiB and marked as cut', async () => {
    const api = await openApi();
    api.script({ pieces: Array.from({ length: 1000 }, () => 'x'.repeat(10_000)), chunkBytes: 65_536 });
    const desk = openDesk({ base_url: api.url });
    const failed = bad(await desk.ask('hi'));
    expect(failed).toMatchObject({ failure: 'cut', usage: { requests: 1 } });
    expect(failed.partialText).toBe(desk.shown.join(''));
    expect(failed.partialText.length).toBeLessThanOrEqual(1024 * 1024 + 10_000);
    await waitFor('the stream to be given up', () => api.requests[0]?.aborted);
  });
});

describe('an abort', () => {
  it('ends a request that hangs at once', async () => {
    const api = await openApi();
    api.script({ hang: true });
    const control = new AbortController();
    const pending = openDesk({ base_url: api.url, fallbacks: [at(api)] }).ask('hi', { signal: control.signal });
    await api.waitForRequest(1);
    control.abort();
    expect(bad(await pending)).toMatchObject({ failure: 'aborted', usage: { requests: 1 } });
    await waitFor('the request to be given up', () => api.requests[0]?.aborted);
    expect(api.requests).toHaveLength(1);
  });

  it('in the middle of an answer says what was shown, and shows no more', async () => {
    const api = await openApi();
    api.script({ text: 'one two three four five' });
    const control = new AbortController();
    const desk = openDesk({ base_url: api.url });
    const reply = bad(await desk.ask('hi', { signal: control.signal, onText: (delta) => (desk.shown.push(delta), control.abort()) }));
    expect(reply).toMatchObject({ failure: 'aborted', partialText: 'one' });
    expect(desk.shown).toEqual(['one']);
  });

  it('does not wait for an observer that hangs', async () => {
    const api = await openApi();
    const control = new AbortController();
    const never = () => new Promise<void>(() => {});
    const pending = openDesk({ base_url: api.url }).ask('hi', { signal: control.signal, api: { onRequest: never, onResponse: never, onError: never } });
    setImmediate(() => control.abort());
    expect(bad(await pending)).toMatchObject({ failure: 'aborted' });
    expect(api.requests).toHaveLength(0);
  });

  it('does not wait for an observer of the failure either', async () => {
    const api = await openApi();
    api.answer(() => ({ status: 500 }));
    const control = new AbortController();
    const onError = () => (setImmediate(() => control.abort()), new Promise<void>(() => {}));
    const pending = openDesk({ base_url: api.url }).ask('hi', { signal: control.signal, api: { ...observe().api, onError } });
    expect(bad(await pending)).toMatchObject({ failure: 'aborted', usage: { requests: 1 } });
  });

  it('before the call costs no request', async () => {
    const api = await openApi();
    expect(bad(await openDesk({ base_url: api.url }).ask('hi', { signal: AbortSignal.abort() }))).toMatchObject({ failure: 'aborted', usage: { requests: 0 } });
    expect(api.requests).toHaveLength(0);
  });
});

describe('the observer', () => {
  it('sees every attempt with its answer, and no secret', async () => {
    const api = await openApi();
    api.script({ status: 500, body: error(`key ${canary} broke`) }, { toolCalls: [{ name: 'weather', args: { city: 'Rome' }, id: 'a' }] });
    const { seen, api: observer } = observe();
    await openDesk({ base_url: api.url, api_key: canary }).ask('hi', { api: observer });
    const url = `${api.url}/chat/completions`;
    expect(seen).toMatchObject([
      { kind: 'request', method: 'POST', url, model: 'custom/test-model', attempt: 1, body: { messages: [{ role: 'user', content: 'hi' }] } },
      { kind: 'response', method: 'POST', url, status_code: 500, usage: null },
      { kind: 'error', status_code: 500, attempt: 1, retryable: true, error: 'HTTP 500: key [redacted] broke' },
      { kind: 'request', attempt: 2 },
      { kind: 'response', status_code: 200, response: { content: '', tool_calls: [{ id: 'a', name: 'weather', arguments: { city: 'Rome' } }], finish_reason: 'tool_calls' }, usage: { input: 10, output: 5 } },
    ]);
    expect(seen[0]).toHaveProperty('headers.authorization', '[redacted]');
    expect(seen[0]).toHaveProperty('headers.content-type', 'application/json');
    expect(JSON.stringify(seen)).not.toContain(canary);
    expect(api.requests[0]?.headers.authorization).toBe(`Bearer ${canary}`);
  });

  it('hears of a refused connection as an error without a status', async () => {
    const { seen, api } = observe();
    await openDesk({ base_url: await closedPort() }).ask('hi', { api });
    expect(seen.map(({ kind }) => kind)).toEqual(['request', 'error', 'request', 'error', 'request', 'error']);
    expect(seen.at(-1)).toMatchObject({ status_code: null, attempt: 3, retryable: false, error: expect.stringContaining('ECONNREFUSED') as string });
  });

  it('that changes the body it was shown changes nothing', async () => {
    const api = await openApi();
    const tools = [{ name: 'weather', description: 'Weather', parameters: { type: 'object' } }];
    const observer: ApiObserver = {
      ...observe().api,
      async onRequest({ body }) {
        const { messages, tools } = body as { messages: unknown[]; tools: { function: { parameters: { type?: string } } }[] };
        messages.length = 0;
        delete tools[0]?.function.parameters.type;
      },
    };
    expect(await openDesk({ base_url: api.url }).ask('hi', { tools, api: observer })).toMatchObject({ ok: true, text: 'You said: hi' });
    expect(tools[0]?.parameters).toEqual({ type: 'object' });
  });

  it('is told that nothing is tried again once text was shown', async () => {
    const api = await openApi();
    const { seen, api: observer } = observe();
    api.script({ text: 'one two three', cutAfter: 700 });
    expect(bad(await openDesk({ base_url: api.url }).ask('hi', { api: observer })).partialText).not.toBe('');
    expect(seen.at(-1)).toMatchObject({ kind: 'error', status_code: 200, retryable: false });
  });

  it('that throws does not break the call', async () => {
    const api = await openApi();
    const fail = () => Promise.reject(new Error('observer'));
    expect((await openDesk({ base_url: api.url }).ask('hi', { api: { onRequest: fail, onResponse: fail, onError: fail } })).ok).toBe(true);
  });
});

it('no key means no Authorization header', async () => {
  const api = await openApi();
  await openDesk({ base_url: api.url }).ask('hi');
  expect(api.requests[0]?.headers).not.toHaveProperty('authorization');
});

it('a key in a provider\'s answer is removed from the detail and the log', async () => {
  const api = await openApi();
  api.answer(() => ({ status: 401, body: error(`Incorrect API key provided: ${canary}`) }));
  const desk = openDesk({ base_url: api.url, api_key: canary });
  expect(bad(await desk.ask('hi')).detail).toBe('HTTP 401: Incorrect API key provided: [redacted]');
  expect(desk.logged.join()).not.toContain(canary);
});

it('a callback that throws ends the call as a failure, never as a rejection', async () => {
  const api = await openApi();
  const reply = await openDesk({ base_url: api.url }).ask('hi', {
    onText() {
      throw new Error('broken page');
    },
  });
  expect(reply.ok).toBe(false);
});
