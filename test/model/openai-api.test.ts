/** The simulator is held to what the real API does, by the real client. */
import OpenAI from 'openai';
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions';
import { expect, it } from 'vitest';
import { openApi } from './desk.ts';

const user: ChatCompletionMessageParam = { role: 'user', content: 'hi' };
const calls = (...ids: string[]): ChatCompletionMessageParam => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'look', arguments: '{}' } })),
});
const result = (id: string): ChatCompletionMessageParam => ({ role: 'tool', tool_call_id: id, content: '{}' });

async function open() {
  const api = await openApi();
  return { api, client: new OpenAI({ apiKey: 'test', baseURL: api.url, maxRetries: 0 }) };
}

it('answers whole and as a stream, and keeps the requests', async () => {
  const { api, client } = await open();
  const whole = await client.chat.completions.create({ model: 'm', messages: [user] });
  expect(whole.choices[0]?.message.content).toBe('You said: hi');
  let streamed = '';
  for await (const chunk of await client.chat.completions.create({ model: 'm', messages: [user], stream: true })) streamed += chunk.choices[0]?.delta.content ?? '';
  expect(streamed).toBe('You said: hi');
  expect(api.requests.map(({ body }) => body.stream)).toEqual([undefined, true]);
  expect((await client.models.list()).data.map(({ id }) => id)).toEqual(['test-model']);
});

it('plays tool calls in both forms', async () => {
  const { api, client } = await open();
  const reply = { toolCalls: [{ name: 'look', args: { at: 'the moon 🌕' } }, { name: 'look', args: '{broken' }] };
  api.script(reply, reply);
  const whole = await client.chat.completions.create({ model: 'm', messages: [user] });
  const streamed = await client.chat.completions.stream({ model: 'm', messages: [user] }).finalMessage().catch(String);
  expect(whole.choices[0]?.message.tool_calls).toMatchObject([
    { id: 'call_1', function: { name: 'look', arguments: '{"at":"the moon 🌕"}' } },
    { id: 'call_2', function: { name: 'look', arguments: '{broken' } },
  ]);
  expect(whole.choices[0]?.finish_reason).toBe('tool_calls');
  expect(streamed).toMatchObject({ tool_calls: [{ id: 'call_3' }, { id: 'call_4', function: { arguments: '{broken' } }] });
});

it('waits for requests and lets a test hold an answer back', async () => {
  const { api, client } = await open();
  let release = () => {};
  api.script({ text: 'late', after: new Promise<void>((resolve) => (release = resolve)) });
  const pending = client.chat.completions.create({ model: 'm', messages: [user] });
  expect((await api.waitForRequest(1)).body.model).toBe('m');
  release();
  expect((await pending).choices[0]?.message.content).toBe('late');
});

it.each<[string, ChatCompletionMessageParam[]]>([
  ['no messages', []],
  ['a call without its answer', [user, calls('a')]],
  ['one of two calls without its answer', [user, calls('a', 'b'), result('a'), user]],
  ['a call answered twice', [user, calls('a'), result('a'), result('a')]],
  ['an answer without a call', [user, result('a')]],
  ['an answer to another call', [user, calls('a'), result('b')]],
  ['two calls with one id', [user, calls('a', 'a'), result('a')]],
  ['empty text of a user', [{ role: 'user', content: '' }]],
  ['empty text of the assistant', [user, { role: 'assistant', content: ' ' }]],
  ['empty text beside calls', [user, { ...calls('a'), content: '' } as ChatCompletionMessageParam, result('a')]],
  ['an unknown role', [{ role: 'robot', content: 'hi' } as unknown as ChatCompletionMessageParam]],
  ['arguments that are no object', [user, { role: 'assistant', content: null, tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: '[]' } }] }, result('a')]],
  ['arguments that are no JSON', [user, { role: 'assistant', content: null, tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: '{' } }] }, result('a')]],
  ['a function name with a dot', [user, { role: 'assistant', content: null, tool_calls: [{ id: 'a', type: 'function', function: { name: 'a.b', arguments: '{}' } }] }, result('a')]],
])('refuses %s with 400', async (_, messages) => {
  const { api, client } = await open();
  await expect(client.chat.completions.create({ model: 'm', messages })).rejects.toMatchObject({ status: 400, type: 'invalid_request_error' });
  expect(api.violations).toHaveLength(1);
});

it('refuses tools that the real API refuses', async () => {
  const { api, client } = await open();
  const tool = (name: string, parameters: Record<string, unknown> = { type: 'object' }) => ({ type: 'function' as const, function: { name, parameters } });
  for (const tools of [[], [tool('a.b')], [tool('look'), tool('look')], [tool('look', { type: 'array' })]])
    await expect(client.chat.completions.create({ model: 'm', messages: [user], tools })).rejects.toMatchObject({ status: 400 });
  expect(api.violations).toHaveLength(4);
});
