import { describe, expect, it } from 'vitest';
import { createAgentTools, type AgentToolDeps } from '../../src/agent/agent-tools.ts';
import type { ToolContext } from '../../src/contract/tool.ts';
import type { Entry } from '../../src/contract/transcript.ts';
import { silentLog } from '../../src/lib/log.ts';

const context: ToolContext = { task_id: 's', session_id: 's', turn_id: 't', tool_call_id: 'c', platform: 'test', signal: new AbortController().signal, log: silentLog, home: '/nowhere' };

function setUp(deps: Partial<AgentToolDeps> = {}) {
  const restored: string[] = [];
  const tools = createAgentTools({ todo: { run: () => '{"todos":[]}', restore: (result) => void restored.push(result) }, history: [], ...deps });
  const run = async (name: string, args: Record<string, unknown> = {}): Promise<unknown> => JSON.parse((await tools.get(name)?.(args, context)) ?? 'null');
  return { run, restored };
}

/** A person who writes these replies, and what they were shown. */
function person(...replies: (string | null)[]) {
  const shown: [string, string[]][] = [];
  const ask = async (question: string, choices: string[]) => {
    shown.push([question, choices]);
    return replies.shift() ?? null;
  };
  return { ask, shown };
}

describe('clarify', () => {
  it('shows at most four choices, the first one as recommended, and understands a number', async () => {
    const { ask, shown } = person('2');
    const answer = await setUp({ ask }).run('clarify', { question: 'Which?', choices: ['red', { label: 'green' }, { description: 'blue' }, { title: 'grey' }, 'fifth'] });
    expect(shown).toEqual([['Which?', ['red (Recommended)', 'green', 'blue', 'grey']]]);
    expect(answer).toEqual({ question: 'Which?', choices_offered: ['red', 'green', 'blue', 'grey'], user_response: 'green' });
  });

  it.each([
    ['RED (recommended)', 'red'],
    ['1.', 'red'],
    [' Green ', 'green'],
    ['9', '9'],
    ['neither, please', 'neither, please'],
  ])('takes %j as %j', async (reply, response) => {
    expect(await setUp(person(reply)).run('clarify', { question: 'Which?', choices: ['red', 'green'] })).toMatchObject({ user_response: response });
  });

  it.each([
    ['1, 3', ['red', 'blue']],
    ['red and blue', ['red', 'blue']],
    ['2', ['green']],
    ['all but red', 'all but red'],
  ])('takes %j as several: %j', async (reply, response) => {
    expect(await setUp(person(reply)).run('clarify', { question: 'Which?', choices: ['red', 'green', 'blue'], multi_select: true })).toMatchObject({ user_response: response });
  });

  it('strips a mark that the model wrote itself, and marks no lone choice', async () => {
    const { ask, shown } = person('1');
    expect(await setUp({ ask }).run('clarify', { question: 'Go?', choices: ['yes (Recommended)'] })).toMatchObject({ user_response: 'yes' });
    expect(shown[0]?.[1]).toEqual(['yes']);
  });

  it('asks a batch one by one and stops asking when nobody answers', async () => {
    const { ask, shown } = person('blue', null);
    const answer = await setUp({ ask }).run('clarify', { questions: [{ question: 'Colour?' }, { question: 'Size?', choices: ['S', 'L'] }, { question: 'When?' }] });
    expect(answer).toMatchObject({
      responses: [{ user_response: 'blue' }, { user_response: expect.stringMatching(/^Nobody answered/) as string }, { user_response: expect.stringMatching(/^Nobody answered/) as string }],
      timed_out: true,
    });
    expect(shown).toHaveLength(2);
  });

  it('says when it cannot ask', async () => {
    expect(await setUp().run('clarify', { question: 'Hm?' })).toEqual({ error: 'clarify is not available in this execution context' });
    const { ask } = person('x');
    expect(await setUp({ ask }).run('clarify', { choices: ['a'] })).toEqual({ error: 'clarify needs a question' });
    expect(await setUp({ ask }).run('clarify', { questions: Array.from({ length: 6 }, () => ({ question: 'q' })) })).toEqual({ error: 'clarify takes 5 questions at most' });
    expect(await setUp({ ask: () => Promise.reject(new Error('chat gone')) }).run('clarify', { question: 'q' })).toMatchObject({ error: expect.stringContaining('chat gone') as string });
  });
});

describe('todo', () => {
  it('goes on from the last list in the history', () => {
    const entry = (text: string): Entry => ({ role: 'tool', turnId: 't', toolCallId: 'c', name: 'todo', text });
    const history = [entry('{"todos":[1]}'), entry('{"todos":[2]}'), entry('{"error":"no"}'), entry('{"todos":[2]}\n\n[a note]')];
    expect(setUp({ history }).restored).toEqual(['{"todos":[2]}']);
    expect(setUp().restored).toEqual([]);
  });
});

it('memory and session_search run what they are given, or say that they are not here', async () => {
  const { run } = setUp({ memory: { run: (args) => JSON.stringify({ saved: args.content }) }, sessionSearch: async (args) => JSON.stringify({ looked: args.query }) });
  expect(await run('memory', { content: 'tea' })).toEqual({ saved: 'tea' });
  expect(await run('session_search', { query: 'tea' })).toEqual({ looked: 'tea' });
  expect(await setUp().run('memory')).toEqual({ error: 'memory is not available in this execution context' });
  expect(await setUp().run('session_search')).toEqual({ error: 'session_search is not available in this execution context' });
});
