import { describe, expect, it } from 'vitest';
import type { ModelMessage, ToolDefinition } from '../../src/contract/model.ts';
import { openDesk } from './desk.ts';

const tool = (name: string, description: string, properties: Record<string, unknown>, required = Object.keys(properties)): ToolDefinition => ({ name, description, parameters: { type: 'object', properties, required } });
const text = { type: 'string' };

const calculate = tool('calculate', 'Evaluates an expression such as 2**16', { expression: text });
const convert = tool('unit_convert', 'Converts a value between units', { value: { type: 'number' }, from_unit: text, to_unit: text });
const weather = tool('weather', 'The weather of a city', { city: text });
const forecast = tool('get_forecast', 'Tells the temperature of the next days', { location: text, days: { type: 'integer' } }, ['location']);
const builtIns = [
  tool('todo', 'Keeps the list of things to do', { todos: { type: 'array' }, merge: { type: 'boolean' } }, []),
  tool('memory', 'Remembers facts', { action: { type: 'string', enum: ['add', 'replace', 'remove'] }, content: text }, ['action']),
  tool('session_search', 'Searches earlier conversations', { query: text }),
  tool('web_search', 'Searches the web', { query: text }),
  tool('web_extract', 'Reads web pages', { urls: { type: 'array', items: text } }),
  tool('terminal', 'Runs a shell command', { command: text }),
  tool('process', 'Looks after background processes', { action: text }),
  tool('read_file', 'Reads a file', { path: text }),
  tool('write_file', 'Writes a file', { path: text, content: text }),
  tool('search_files', 'Finds text in files', { pattern: text }),
  tool('patch', 'Changes a file', { path: text }),
  tool('clarify', 'Asks the person a question', { question: text }),
  tool('skills_list', 'Lists the skills', {}),
];
const everything = [calculate, convert, weather, forecast, ...builtIns];

/** A whole turn: calls are answered by `run` until there is text. */
async function turn(asked: string, tools: ToolDefinition[], run: (name: string, args: Record<string, unknown>) => unknown = () => ({ result: 'done' }), before: ModelMessage[] = []) {
  const desk = openDesk({ provider: 'offline' });
  const messages: ModelMessage[] = [{ role: 'system', content: 'You are Hermes.' }, ...before, { role: 'user', content: asked }];
  const calls: [string, Record<string, unknown>][] = [];
  for (let step = 0; step < 10; step++) {
    const reply = await desk.ask('', { messages, tools });
    if (!reply.ok) throw new Error(reply.detail);
    if (reply.toolCalls.length === 0) return { calls, text: reply.text, shown: desk.shown, messages };
    messages.push({ role: 'assistant', content: reply.text, toolCalls: reply.toolCalls });
    for (const { id, name, args } of reply.toolCalls) {
      calls.push([name, args]);
      messages.push({ role: 'tool', toolCallId: id, name, content: JSON.stringify(run(name, args)) });
    }
  }
  throw new Error('it never stops calling tools');
}

describe('the offline model', () => {
  it('says in its first answer what it is and what to configure, and not again', async () => {
    const first = await turn('Hello!', []);
    expect(first.text).toContain('offline stand-in');
    expect(first.text).toContain('OPENAI_API_KEY=... in ~/.hermes/.env');
    const second = await turn('How are you?', [], undefined, [
      { role: 'user', content: 'Hello!' },
      { role: 'assistant', content: first.text },
    ]);
    expect(second.text).toBe('You said: How are you?');
  });

  it('says it in the first answer that follows a tool, too', async () => {
    const { text } = await turn('calculate 2**16', [calculate], () => ({ result: 65536 }));
    expect(text).toContain('offline stand-in');
    expect(text).toContain('The calculate tool says: 65536.');
  });

  it('gives the same answer to the same conversation, in small pieces', async () => {
    const [one, two] = [await turn('Use the weather tool for London', everything), await turn('Use the weather tool for London', everything)];
    expect(one).toEqual(two);
    expect(one.shown.length).toBeGreaterThan(5);
    expect(one.shown.join('')).toBe(one.text);
  });

  it('stops when it is told to', async () => {
    const control = new AbortController();
    const desk = openDesk({ provider: 'offline' });
    const reply = await desk.ask('hi', { signal: control.signal, onText: () => control.abort() });
    expect(reply).toMatchObject({ ok: false, failure: 'aborted', partialText: 'I ' });
  });

  it.each<[string, [string, Record<string, unknown>][]]>([
    ['Use the weather tool for London', [['weather', { city: 'London' }]]],
    ['Please use the weather tool for New York.', [['weather', { city: 'New York' }]]],
    ['use weather in Paris, please', [['weather', { city: 'Paris' }]]],
    ["What's the weather in London?", [['weather', { city: 'London' }]]],
    ['Can you tell me the weather in São Paulo today?', [['weather', { city: 'São Paulo' }]]],
    ['weather for Oslo', [['weather', { city: 'Oslo' }]]],
    ['Call get_forecast for Rome', [['get_forecast', { location: 'Rome' }]]],
    ['Use the temperature tool for Rome', [['get_forecast', { location: 'Rome' }]]],
    ['calculate 2**16', [['calculate', { expression: '2**16' }]]],
    ['Calculate (3 + 4) * 5.5', [['calculate', { expression: '(3 + 4) * 5.5' }]]],
    ["What's 2 to the power of 16?", [['calculate', { expression: '2**16' }]]],
    ['What is 12 times 7?', [['calculate', { expression: '12 * 7' }]]],
    ['hi, what is 10 divided by 4', [['calculate', { expression: '10 / 4' }]]],
    ['How much is 7 squared?', [['calculate', { expression: '7**2' }]]],
    ['Use the calculator to compute 19 + 23', [['calculate', { expression: '19 + 23' }]]],
    ['Use the calculate tool to work out 2 to the power of 10', [['calculate', { expression: '2**10' }]]],
    ['convert 100 celsius to fahrenheit', [['unit_convert', { value: 100, from_unit: 'celsius', to_unit: 'fahrenheit' }]]],
    ['Please convert -3.5 km to miles.', [['unit_convert', { value: -3.5, from_unit: 'km', to_unit: 'miles' }]]],
    ['Use unit_convert for 5 kg to lb', [['unit_convert', { value: 5, from_unit: 'kg', to_unit: 'lb' }]]],
    ['Search the web for quiet keyboards', [['web_search', { query: 'quiet keyboards' }]]],
    ['Use web_extract on https://example.com/a?b=c', [['web_extract', { urls: ['https://example.com/a?b=c'] }]]],
    ['Use the terminal tool to run ls -la', [['terminal', { command: 'ls -la' }]]],
    ['use read_file on notes/today.md', [['read_file', { path: 'notes/today.md' }]]],
    ['Use the memory tool to add "likes tea"', [['memory', { action: 'add' }]]],
    ['Use the skills_list tool', [['skills_list', {}]]],
    ['Use the weather tool for London and then calculate 2**16', [['weather', { city: 'London' }], ['calculate', { expression: '2**16' }]]],
    ['calculate 1+1, then use the weather tool for Rome and convert 5 km to miles', [['calculate', { expression: '1+1' }], ['weather', { city: 'Rome' }], ['unit_convert', { value: 5, from_unit: 'km', to_unit: 'miles' }]]],
    ['Use the weather tool for Trinidad and Tobago', [['weather', { city: 'Trinidad and Tobago' }]]],
  ])('%s', async (asked, expected) => {
    expect((await turn(asked, everything)).calls).toEqual(expected);
  });

  it.each([
    'Hello!',
    'Write a poem about the weather',
    'Tell me about the process of making cheese.',
    'What is the process for a visa?',
    'I have a good memory of London',
    'Where is the terminal for Delta in Boston?',
    'My todo list is too long',
    'read the news to me',
    'search for meaning',
    'I moved from 12 Main Street to 7 High Road',
    'On 2024-05-06 I was in Paris',
    'Call me at 555-1234',
    'The weather was nice',
    'Please patch me through',
    'Thank you for the file',
    '',
  ])('calls nothing for: %s', async (asked) => {
    expect((await turn(asked || ' ', everything)).calls).toEqual([]);
  });

  it('calls only what is offered', async () => {
    expect((await turn('Use the weather tool for London', [calculate])).calls).toEqual([]);
    expect((await turn('What is 2 to the power of 16?', [weather])).calls).toEqual([]);
  });

  it('answers from every result in order', async () => {
    const { text } = await turn('Use the weather tool for London and then calculate 2**16', everything, (name) => (name === 'weather' ? { city: 'London', temperature: 18 } : { result: 65536 }));
    expect(text).toContain('The weather tool says: city: London, temperature: 18.\nThe calculate tool says: 65536.');
  });

  it('says when a tool reports an error, and goes on to the next one', async () => {
    const { text, calls } = await turn('Use the weather tool for Atlantis, then calculate 1+1', everything, (name) => (name === 'weather' ? { error: 'no such city' } : { result: 2 }));
    expect(text).toContain('The weather tool reported an error: no such city');
    expect(text).toContain('The calculate tool says: 2.');
    expect(calls).toHaveLength(2);
  });

  it('looks at the newest message alone', async () => {
    const earlier = await turn('calculate 1+1', [calculate], () => ({ result: 2 }));
    const { calls, text } = await turn('Thanks!', [calculate], undefined, [...earlier.messages.slice(1), { role: 'assistant', content: earlier.text }]);
    expect(calls).toEqual([]);
    expect(text).toContain('You said: Thanks!');
  });

  it('stands in as the last fallback of a provider that is down', async () => {
    const fallbacks = [{ provider: 'offline', name: null, base_url: null, api_key: null }];
    const reply = await openDesk({ base_url: 'http://127.0.0.1:1/v1', fallbacks }).ask('hi');
    expect(reply).toMatchObject({ ok: true, model: 'offline/stand-in' });
  });
});
