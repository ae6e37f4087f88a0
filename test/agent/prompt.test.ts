import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildSystemPrompt, toModelMessages, type SystemPromptParts } from '../../src/agent/prompt.ts';
import { estimateTokens } from '../../src/agent/tokens.ts';
import type { UserEntry } from '../../src/contract/transcript.ts';
import { calls, says, startTalk, tool } from './support.ts';

const nothing: SystemPromptParts = { identity: null, toolNames: [], memory: null, skillsIndex: [], platformHint: null, instructions: null, date: 'Monday, 30 November 2026' };

describe('the system prompt', () => {
  it('holds its parts in a fixed order, the date last', () => {
    const prompt = buildSystemPrompt({
      identity: 'You are Ada.',
      toolNames: ['memory', 'skill_view'],
      memory: 'Anna likes tea.',
      skillsIndex: [{ name: 'brew', description: 'How to\n brew tea' }],
      platformHint: 'Messages are short here.',
      instructions: 'Be formal.',
      date: 'Monday',
    });
    const order = ['You are Ada.', 'Save lasting facts', 'is information', 'Anna likes tea.', '- brew: How to brew tea', 'Be formal.', 'Messages are short here.', 'Today is Monday.'];
    const places = order.map((text) => prompt.indexOf(text));
    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect(places).not.toContain(-1);
  });

  it('has a short identity of its own and leaves out what is not there', () => {
    const prompt = buildSystemPrompt({ ...nothing, identity: '  \n', memory: '' });
    expect(prompt).toMatch(/^You are Hermes/);
    expect(prompt.split('\n\n')).toHaveLength(2);
  });

  it('stays small with every tool of the core and a full memory apart', () => {
    const toolNames = ['memory', 'session_search', 'skill_view', 'todo', 'clarify', 'delegate_task', 'web_search'];
    expect(estimateTokens(buildSystemPrompt({ ...nothing, toolNames, platformHint: 'You write in a chat; short paragraphs read best there.' }))).toBeLessThan(400);
  });

  it('bounds a long identity and long descriptions', () => {
    const prompt = buildSystemPrompt({ ...nothing, identity: '🙂'.repeat(20_000), skillsIndex: [{ name: 's', description: 'd'.repeat(5000) }] });
    expect(prompt.length).toBeLessThan(20_300);
  });
});

describe('the message of a user', () => {
  const send = (user: UserEntry, context = '') => toModelMessages({ systemPrompt: 's', history: [], user, context, turnEntries: [], images: [] })[1]?.content;

  it('has its note above and the context of this turn below', () => {
    expect(send({ role: 'user', turnId: 't', text: 'hi', note: 'Your last reply did not arrive.' }, 'It is Monday.')).toBe('[Your last reply did not arrive.]\nhi\n\nIt is Monday.');
  });

  it('names its files when there is no text, its photos always', () => {
    const file = { path: '/c/a', mime: 'application/pdf', name: 'a.pdf', kind: 'file' };
    const photo = { path: '/c/b', mime: 'image/png', name: 'b.png', kind: 'image' };
    expect(send({ role: 'user', turnId: 't', text: ' ', media: [file, photo] })).toBe('[file: a.pdf]\n[image: b.png]');
    expect(send({ role: 'user', turnId: 't', text: 'see', media: [file, photo] })).toBe('see\n[image: b.png]');
  });
});

it('the bytes before the newest message are the same in every later turn', async () => {
  const said = fc.record({ text: fc.string({ minLength: 1 }), note: fc.option(fc.string({ minLength: 1 }), { nil: undefined }), context: fc.string(), tools: fc.nat(2) });
  let n = 0;
  let left = 0;
  let context = '';
  const count = tool('count', () => JSON.stringify({ n: ++n }));
  const talk = startTalk({ tools: [count], otherwise: () => (left-- > 0 ? calls('count') : says('Fine.')) });
  talk.hooks.add('p', 'pre_llm_call', () => context);
  await fc.assert(
    fc.asyncProperty(fc.array(said, { minLength: 2, maxLength: 5 }), async (turns) => {
      talk.history.length = 0;
      let before = '';
      for (const [i, turn] of turns.entries()) {
        left = turn.tools;
        context = turn.context;
        const user: UserEntry = { role: 'user', turnId: `turn-${i + 1}`, text: turn.text, ...(turn.note !== undefined && { note: turn.note }) };
        const from = talk.requests.length;
        await talk.says(turn.text, { user });
        const messages = talk.requests[from]?.messages ?? [];
        const prefix = JSON.stringify(messages.slice(0, -1)).slice(0, -1);
        expect(prefix.startsWith(before)).toBe(true);
        before = prefix;
      }
    }),
    { numRuns: 60 },
  );
});

describe('estimateTokens', () => {
  it('counts four letters, two of other alphabets and one CJK character as about a token', () => {
    expect(estimateTokens('')).toBe(0);
    expect(estimateTokens('x'.repeat(400))).toBe(100);
    expect(estimateTokens('ж'.repeat(400))).toBe(200);
    expect(estimateTokens('字'.repeat(400))).toBe(400);
  });
});
