import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { HermesError } from '../../../src/contract/errors.ts';
import { waitFor } from '../../support/wait-for.ts';
import { chat, collect, echo, key, memoryState, playGateway, sayWords, startHttp, type ErrorBody, type Stage } from './support.ts';

const client = (url: string, options: { maxRetries?: number } = {}) => new OpenAI({ apiKey: key, baseURL: `${url}/v1`, maxRetries: 0, ...options });
const ask = (content: string) => [{ role: 'user' as const, content }];

test('the real client gets a whole answer', async () => {
  const { url, messages } = await startHttp();
  const { data, response } = await client(url).chat.completions.create({ model: 'offline/stand-in', messages: ask('hello') }).withResponse();
  expect(data).toMatchObject({
    object: 'chat.completion',
    model: 'offline/stand-in',
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'You said: hello' } }],
    usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18, prompt_tokens_details: { cached_tokens: 3 } },
  });
  expect(data.id).toMatch(/^chatcmpl-[0-9a-f]{32}$/);
  expect(Number.isInteger(data.created)).toBe(true);
  expect(response.headers.get('x-hermes-session-id')).toMatch(/^req-/);
  expect(messages[0]).toMatchObject({ text: 'hello', chatType: 'dm', addressed: true, interactive: false, sender: { id: 'api' }, options: { model: 'offline/stand-in' } });
});

test('the real client streams, role first, then words, usage last', async () => {
  const { url } = await startHttp();
  const stream = await client(url).chat.completions.create({ model: 'any', messages: ask('one two three'), stream: true, stream_options: { include_usage: true } });
  const chunks = await collect(stream);
  expect(chunks[0]?.choices[0]?.delta).toEqual({ role: 'assistant', content: '' });
  expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toBe('You said: one two three');
  expect(chunks.length).toBeGreaterThan(5);
  expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('stop');
  expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 18 } });
  expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
  expect(chunks.every((chunk) => chunk.object === 'chat.completion.chunk' && chunk.model === 'offline/stand-in')).toBe(true);
});

const withTool = ({ tell, answer }: Stage) => {
  tell({ type: 'started', turnId: 't', sessionId: 's', model: 'offline/stand-in' });
  tell({ type: 'text', delta: 'Let me see.' });
  tell({ type: 'segment', text: 'Let me see.' });
  tell({ type: 'tool_started', toolCallId: 'c1', name: 'calculate', args: { expression: '2**16\n' }, emoji: '🧮' });
  tell({ type: 'tool_finished', toolCallId: 'c1', name: 'calculate', status: 'ok', durationMs: 12 });
  tell({ type: 'text', delta: 'It is ' });
  tell({ type: 'text', delta: '65536.' });
  answer('It is 65536.');
};

test('tools show as named events that the real client reads as chunks', async () => {
  const { url } = await startHttp({ gateway: playGateway(withTool) });
  const final = await client(url).chat.completions.stream({ model: 'any', messages: ask('2**16?') }).finalChatCompletion();
  expect(final.choices[0]?.message.content).toBe('Let me see.\n\nIt is 65536.');

  const text = await (await chat(url, { stream: true, messages: ask('2**16?') })).text();
  const events = text.split('\n\n').filter((event) => event.startsWith('event: hermes.tool.progress\n'));
  const data = events.map((event) => JSON.parse(event.split('data: ')[1] ?? '') as Record<string, unknown>);
  expect(data).toMatchObject([
    { tool: 'calculate', emoji: '🧮', label: '2**16', toolCallId: 'c1', status: 'running', object: 'chat.completion.chunk', choices: [{ delta: {} }] },
    { tool: 'calculate', toolCallId: 'c1', status: 'completed', durationMs: 12 },
  ]);
  expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
});

test('void text is told to the page by how much stands, and to everybody else by a line', async () => {
  const gateway = playGateway(({ tell, answer }) => {
    tell({ type: 'text', delta: 'First.' });
    tell({ type: 'segment', text: 'First.' });
    tell({ type: 'text', delta: 'Half an ans' });
    tell({ type: 'retract' });
    tell({ type: 'text', delta: 'Whole answer with a secret' });
    answer('Whole answer with a [word removed]');
  });
  const { url } = await startHttp({ gateway });
  const text = await (await chat(url, { stream: true, messages: ask('x') })).text();
  let page = '';
  let plain = '';
  for (const event of text.split('\n\n').filter((event) => event.includes('data: {'))) {
    const data = JSON.parse(event.split('data: ')[1] ?? '') as { keep: number; text: string; choices: { delta: { content?: string } }[] };
    const content = data.choices[0]?.delta.content ?? '';
    plain += content;
    page = event.startsWith('event: hermes.text.replaced') ? page.slice(0, data.keep) + data.text : page + content;
  }
  expect(page.replace(/\n+/g, '\n')).toBe('First.\nWhole answer with a [word removed]');
  expect(plain).toContain('the answer begins again');
  expect(plain.endsWith('Whole answer with a [word removed]')).toBe(true);
});

test('history, instructions and files of a request', async () => {
  const { url, messages, adapter } = await startHttp();
  const png = Buffer.from('not really a picture').toString('base64');
  const answer = await chat(url, {
    model: 'gpt-unknown',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'My name is Ada.' },
      { role: 'assistant', content: [{ type: 'text', text: 'Hello Ada.' }] },
      { role: 'developer', content: 'No lists.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Who is this?' },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${png}`, detail: 'low' } },
          { type: 'file', file: { filename: '../../a\u0000.txt', file_data: `data:text/plain;base64,${Buffer.from('text').toString('base64')}` } },
        ],
      },
    ],
  });
  expect(answer.status).toBe(200);
  const [message] = messages;
  expect(message).toMatchObject({
    text: 'Who is this?',
    options: { instructions: 'Be brief.\n\nNo lists.', history: [{ role: 'user', text: 'My name is Ada.' }, { role: 'assistant', text: 'Hello Ada.' }] },
    attachments: [{ kind: 'image', mime: 'image/png', size: 20, name: 'image' }, { kind: 'file', mime: 'text/plain', size: 4, name: '../../a.txt' }],
  });
  expect(message?.options?.model).toBeUndefined();
  const [image] = message?.attachments ?? [];
  if (!image || !adapter.download) throw new Error('no image arrived');
  expect(Buffer.from(await adapter.download(image, 20, AbortSignal.timeout(1000))).toString()).toBe('not really a picture');
  await expect(adapter.download(image, 19, AbortSignal.timeout(1000))).rejects.toThrow('larger');
});

test('a file beside the limit is taken, one over it is not', async () => {
  const { url, messages } = await startHttp();
  const send = (bytes: number) =>
    chat(url, { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${Buffer.alloc(bytes).toString('base64')}` } }] }] });
  // 25 MiB of body is 18.7 MiB of file, so the body's own cap comes before the file's.
  expect((await send(18 * 1024 * 1024)).status).toBe(200);
  expect((await send(19 * 1024 * 1024)).status).toBe(413);
  expect(messages).toHaveLength(1);
});

test('X-Hermes-Session-Id is the chat, for the next request too; without it every request has a chat of its own', async () => {
  const { url, messages } = await startHttp();
  const headers = { authorization: `Bearer ${key}`, 'x-hermes-session-id': 'my-notes' };
  const first = await chat(url, { messages: ask('a') }, headers);
  expect(first.headers.get('x-hermes-session-id')).toBe('my-notes');
  await chat(url, { messages: ask('b') });
  await chat(url, { messages: ask('c') });
  const chats = messages.map(({ address }) => address.chat);
  expect(chats[0]).toBe('my-notes');
  expect(new Set(chats).size).toBe(3);
});

test.each([
  ['no JSON', '{"messages":', 'REQUEST_INVALID'],
  ['no messages', { messages: [] }, 'REQUEST_INVALID'],
  ['the wrong type', { messages: 'hi' }, 'REQUEST_INVALID'],
  ['an unknown role', { messages: [{ role: 'tool', content: 'x' }] }, 'REQUEST_INVALID'],
  ['an answer as the last message', { messages: [{ role: 'assistant', content: 'x' }] }, 'REQUEST_INVALID'],
  ['an empty message', { messages: ask('  ') }, 'REQUEST_INVALID'],
  ['tools of the client', { messages: ask('x'), tools: [{ type: 'function', function: { name: 'f' } }] }, 'REQUEST_INVALID'],
  ['functions of the client', { messages: ask('x'), functions: [{ name: 'f' }] }, 'REQUEST_INVALID'],
  ['an image by address', { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'http://169.254.169.254/' } }] }] }, 'REQUEST_INVALID'],
  ['several answers at once', { messages: ask('x'), n: 2 }, 'REQUEST_INVALID'],
])('400 for %s, and no turn', async (_what, body, code) => {
  const { url, messages } = await startHttp();
  const raw = typeof body === 'string' ? body : JSON.stringify(body);
  const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' }, body: raw });
  expect(response.status).toBe(400);
  expect(((await response.json()) as ErrorBody).error).toMatchObject({ code, type: 'invalid_request_error' });
  expect(messages).toEqual([]);
});

test('400 for a session id or an idempotency key that is none', async () => {
  const { url, messages } = await startHttp();
  for (const name of ['x-hermes-session-id', 'idempotency-key'])
    for (const value of ['with space', 'x'.repeat(257), 'ü'])
      expect((await chat(url, { messages: ask('x') }, { authorization: `Bearer ${key}`, [name]: value })).status, `${name}: ${value}`).toBe(400);
  expect(messages).toEqual([]);
});

test.each([
  ['failed', 'MODEL_UNAVAILABLE', 503],
  ['failed', 'MODEL_AUTH', 502],
  ['failed', 'MODEL_OVERFLOW', 400],
  ['failed', 'TURN_TIMEOUT', 504],
  ['failed', 'TURN_FAILED', 500],
  ['failed', 'BUDGET_EXCEEDED', 429],
  ['declined', 'QUEUE_FULL', 429],
  ['declined', undefined, 403],
  ['aborted', undefined, 409],
] as const)('a turn that is %s with %s is told as %i, streaming or not', async (status, code, expected) => {
  const gateway = playGateway(({ answer }) => answer(code ? 'A fixed sentence.' : '', { status, ...(code ? { code } : {}) }));
  const { url } = await startHttp({ gateway });
  for (const stream of [false, true]) {
    const response = await chat(url, { stream, messages: ask('x') });
    expect(response.status).toBe(expected);
    const { error } = (await response.json()) as ErrorBody;
    if (code) expect(error).toMatchObject({ code, message: 'A fixed sentence.' });
  }
});

test('the real client does not repeat a turn that has run, and does repeat one that was never accepted', async () => {
  const failing = playGateway(({ answer }) => answer('Sorry.', { status: 'failed', code: 'MODEL_UNAVAILABLE' }));
  const { url } = await startHttp({ gateway: failing });
  await expect(client(url, { maxRetries: 2 }).chat.completions.create({ model: 'm', messages: ask('x') })).rejects.toMatchObject({ status: 503, code: 'MODEL_UNAVAILABLE' });
  expect(failing.messages).toHaveLength(1);

  const good = echo();
  let refusals = 1;
  const locked = { ...good, receive: (async (message, observer) => {
    if (refusals-- > 0) throw new HermesError('STORE_UNAVAILABLE', 'The disk is full.');
    return await good.receive(message, observer);
  }) satisfies typeof good.receive };
  const second = await startHttp({ gateway: locked });
  const first = await chat(second.url, { messages: ask('x') });
  expect([first.status, first.headers.get('retry-after')]).toEqual([503, '5']);
});

test('a failure after the first words ends the stream as an error, never as an answer', async () => {
  const gateway = playGateway(({ tell, answer }) => {
    tell({ type: 'text', delta: 'Half' });
    answer('The answer was cut off.', { status: 'failed', code: 'MODEL_CUT' });
  });
  const { url } = await startHttp({ gateway });
  const stream = await client(url).chat.completions.create({ model: 'm', messages: ask('x'), stream: true });
  await expect(collect(stream)).rejects.toMatchObject({ error: { code: 'MODEL_CUT', message: 'The answer was cut off.' } });
});

test('a refused message is 403', async () => {
  const { url } = await startHttp({ gateway: { receive: async () => ({ status: 'refused', reason: 'not_allowed' }), messages: [], repeats: 0 } });
  expect((await chat(url, { messages: ask('x') })).status).toBe(403);
});

test('what a command says instead of an answer is the answer', async () => {
  const gateway = playGateway(({ tell, answer }) => {
    tell({ type: 'notice', text: 'Started afresh.' });
    answer('');
  });
  const { url } = await startHttp({ gateway });
  const reply = await client(url).chat.completions.create({ model: 'm', messages: ask('/new') });
  expect(reply.choices[0]?.message.content).toBe('Started afresh.');
  const streamed = await client(url).chat.completions.stream({ model: 'm', messages: ask('/new') }).finalChatCompletion();
  expect(streamed.choices[0]?.message.content).toBe('Started afresh.');
});

test('one Idempotency-Key, one turn: the second asks while the first runs, the third after it, the fourth after a restart', async () => {
  let finish: () => void = () => undefined;
  const rows = new Map<string, string>();
  const gateway = playGateway(async (stage) => {
    stage.tell({ type: 'text', delta: 'Once ' });
    await new Promise<void>((resolve) => (finish = resolve));
    stage.tell({ type: 'text', delta: 'only.' });
    stage.answer('Once only.');
  });
  const { url, adapter } = await startHttp({ gateway, state: memoryState(rows) });
  const headers = { authorization: `Bearer ${key}`, 'idempotency-key': 'abc-1' };
  const first = chat(url, { messages: ask('x'), model: 'm' }, headers);
  await waitFor('the turn', () => gateway.messages.length === 1);
  const second = client(url).chat.completions.stream({ model: 'm', messages: ask('x') }, { headers }).finalChatCompletion();
  await waitFor('the repeat', () => gateway.repeats === 1);
  finish();
  // Who joins in the middle reads the whole answer, not its second half.
  expect((await second).choices[0]?.message.content).toBe('Once only.');
  const answers = [await first, await chat(url, { messages: ask('x'), model: 'm' }, headers)];
  const bodies = await Promise.all(answers.map((answer) => answer.json() as Promise<OpenAI.ChatCompletion>));
  expect(bodies.map((body) => body.choices[0]?.message.content)).toEqual(['Once only.', 'Once only.']);
  expect(bodies[0]?.id).toBe(bodies[1]?.id);
  expect(answers[0]?.headers.get('x-hermes-session-id')).toBe(answers[1]?.headers.get('x-hermes-session-id'));

  await adapter.stop();
  const again = await startHttp({ gateway, state: memoryState(rows) });
  expect((await chat(again.url, { messages: ask('something else') }, headers)).status).toBe(422);
  expect((await chat(again.url, { messages: ask('x'), model: 'm' }, headers)).status).toBe(200);
  expect(gateway.messages).toHaveLength(1);
});

test('a client that goes away does not end its turn', async () => {
  let finish: () => void = () => undefined;
  const gateway = playGateway(async (stage) => {
    await new Promise<void>((resolve) => (finish = resolve));
    sayWords(stage, 'Still here.');
  });
  const { url } = await startHttp({ gateway });
  const headers = { authorization: `Bearer ${key}`, 'idempotency-key': 'gone-1', 'content-type': 'application/json' };
  const leaving = new AbortController();
  const lost = fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body: JSON.stringify({ messages: ask('x') }), signal: leaving.signal });
  await waitFor('the turn', () => gateway.messages.length === 1);
  leaving.abort();
  await expect(lost).rejects.toThrow();
  finish();
  const found = (await (await chat(url, { messages: ask('x') }, headers)).json()) as OpenAI.ChatCompletion;
  expect(found.choices[0]?.message.content).toBe('Still here.');
  expect(gateway.messages).toHaveLength(1);
});

test('who waits when the adapter stops is told so', async () => {
  const gateway = playGateway(() => undefined);
  const { url, adapter } = await startHttp({ gateway });
  const waiting = chat(url, { messages: ask('x') });
  await waitFor('the turn', () => gateway.messages.length === 1);
  await adapter.stop();
  const response = await waiting;
  expect(response.status).toBe(503);
  expect(((await response.json()) as ErrorBody).error.code).toBe('gateway_stopping');
  await expect(fetch(`${url}/healthz`)).rejects.toThrow();
});

test('models, as the real client lists them', async () => {
  const { url } = await startHttp();
  const models = await collect(client(url).models.list());
  expect(models.map(({ id, object }) => [id, object])).toEqual([['offline/stand-in', 'model'], ['openai/gpt-5-mini', 'model']]);
});
