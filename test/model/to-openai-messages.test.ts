import { expect, it } from 'vitest';
import type { ModelMessage } from '../../src/contract/model.ts';
import { toOpenAiMessages, toOpenAiTools } from '../../src/model/to-openai-messages.ts';
import { openApi, openDesk } from './desk.ts';

const history: ModelMessage[] = [
  { role: 'system', content: 'Be kind.' },
  { role: 'user', content: 'What is in the pictures?', images: [{ mime: 'image/png', base64: 'AAAA' }] },
  { role: 'assistant', content: '', toolCalls: [{ id: 'a', name: 'look', args: { deep: [1] } }, { id: 'b', name: '../x', args: {}, invalid: 'Unknown tool: ../x' }] },
  { role: 'tool', toolCallId: 'a', name: 'look', content: '{"result":"a cat"}' },
  { role: 'tool', toolCallId: 'b', name: '../x', content: '{"error":"Unknown tool: ../x"}' },
  { role: 'assistant', content: 'A cat.' },
  { role: 'user', content: '', images: [{ mime: 'image/jpeg', base64: 'BBBB' }] },
];

it('messages become those of a chat completion', () => {
  expect(toOpenAiMessages(history)).toEqual([
    { role: 'system', content: 'Be kind.' },
    { role: 'user', content: [{ type: 'text', text: 'What is in the pictures?' }, { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] },
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        { id: 'a', type: 'function', function: { name: 'look', arguments: '{"deep":[1]}' } },
        { id: 'b', type: 'function', function: { name: '___x', arguments: '{}' } },
      ],
    },
    { role: 'tool', tool_call_id: 'a', content: '{"result":"a cat"}' },
    { role: 'tool', tool_call_id: 'b', content: '{"error":"Unknown tool: ../x"}' },
    { role: 'assistant', content: 'A cat.' },
    { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/jpeg;base64,BBBB' } }] },
  ]);
});

it('the API accepts them', async () => {
  const api = await openApi();
  const tools = [{ name: 'look', description: 'Looks', parameters: { type: 'object', properties: {} } }];
  expect((await openDesk({ base_url: api.url }).ask('', { messages: history, tools })).ok).toBe(true);
  expect(api.violations).toEqual([]);
});

it('a tool that no provider would accept by its name is left out', () => {
  const tool = (name: string) => ({ name, description: '', parameters: { type: 'object' } });
  expect(toOpenAiTools([tool('a.b'), tool('ok_1'), tool(''), tool('x'.repeat(65)), tool('ü')]).map((sent) => sent.function.name)).toEqual(['ok_1']);
});
