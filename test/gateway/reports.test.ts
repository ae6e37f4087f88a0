/** Public bug reports against daemons of this kind, replayed on the whole house: the model misbehaves, and the next message is answered. */
import { expect, test } from 'vitest';
import { lastUserText } from '../support/openai-api.ts';
import { waitFor } from '../support/wait-for.ts';
import { deskTool, openDesk, type Desk } from './desk.ts';

/** From now on the model answers plainly; so must the daemon, to the next three messages. */
async function answersOn(desk: Desk): Promise<void> {
  desk.model.answer((request) => ({ text: `answer to ${lastUserText(request)}` }));
  const ann = desk.person('ann');
  for (const text of ['one', 'two', 'three']) {
    await ann.says(text);
    await ann.shouldSee(`answer to ${text}`);
  }
  expect(desk.model.violations).toEqual([]);
  desk.checkHistories();
}

test('A14 hermes-agent#58057 arguments that are an array run nothing, are told to the model, and poison no later request', async () => {
  let runs = 0;
  const desk = await openDesk({ tools: [deskTool('edit', () => ((runs += 1), '{}'))] });
  desk.model.script({ toolCalls: [{ name: 'edit', args: '[{"mode":"replace","path":"config.yaml"}]' }] }, { text: 'I see.' });
  const ann = desk.person('ann');
  await ann.says('edit it');
  await ann.shouldSee('I see.');
  expect(runs).toBe(0);
  expect(desk.model.requests[1]?.body.messages.at(-1)?.content).toMatch(/error/);
  await answersOn(desk);
});

test('A15 hermes-agent#32086 a stream that breaks off after some text is shown as cut off, not as an answer', async () => {
  const desk = await openDesk();
  const text = 'Let me compare the configs: ';
  desk.model.answer(() => ({ text: text.repeat(20), cutAfter: 3000 }));
  const outcome = await desk.person('ann').asks('compare');
  expect(outcome.status).toBe('failed');
  await waitFor('the sentence', () => desk.person('ann').seen().length === 1);
  expect(desk.person('ann').seen()[0]).toMatch(/cut|broke|incomplete|unfinished/i);
  await answersOn(desk);
});

test('A16 AstrBot#1243 a window of a few messages never parts a call from its result', async () => {
  const desk = await openDesk({ config: { model: { context_window: 1024 } }, tools: [deskTool('look', () => JSON.stringify({ seen: 'x'.repeat(300) }))] });
  desk.model.answer((request) => {
    if (request.raw.includes('You condense a conversation')) return { text: 'They looked around.' };
    return request.body.messages.at(-1)?.role === 'tool' ? { text: `answer to ${lastUserText(request)}` } : { toolCalls: [{ name: 'look', args: {} }] };
  });
  const ann = desk.person('ann');
  for (let i = 0; i < 10; i++) {
    await ann.says(`look ${i} ${'around '.repeat(20)}`);
    await ann.shouldSee(`answer to look ${i}`);
  }
  expect(desk.model.violations).toEqual([]);
  await answersOn(desk);
});

test('A17 nanobot#2298 one and the same call without end is warned about, then stopped, and said', async () => {
  let runs = 0;
  const desk = await openDesk({ tools: [deskTool('write', () => ((runs += 1), JSON.stringify({ written: true })))] });
  desk.model.answer(() => ({ toolCalls: [{ name: 'write', args: { path: 'a' } }] }));
  const ann = desk.person('ann');
  await ann.says('write it');
  await waitFor('a sentence', () => ann.seen().length === 1);
  expect(ann.seen()[0]).toMatch(/same|repeat/i);
  expect(runs).toBeLessThanOrEqual(5);
  expect(desk.model.requests.length).toBeLessThanOrEqual(7);
  await answersOn(desk);
});

test('A18 hermes-agent#31273 no money left: one call for all of it, a plain sentence each time, no word of the provider\'s', async () => {
  const desk = await openDesk();
  desk.model.answer(() => ({ status: 402, body: { error: { message: 'canary: insufficient funds on account 42', code: 'insufficient_quota' } } }));
  const ann = desk.person('ann');
  for (let i = 0; i < 10; i++) await ann.says(`message ${i}`);
  await waitFor('ten sentences', () => ann.seen().length === 10);
  expect(desk.model.requests).toHaveLength(1);
  expect(ann.seen().join()).not.toMatch(/canary|account 42/);
  desk.checkHistories();
});

test('openclaw#75124 a tool that the platform may not have is refused when it is called, not only left out of the list', async () => {
  let runs = 0;
  const desk = await openDesk({
    before: ({ registry }) => void registry.register({ ...deskTool('secret_tool', () => ((runs += 1), '{}')), toolset: 'elsewhere' }, 'desk'),
  });
  desk.model.script({ toolCalls: [{ name: 'secret_tool', args: {} }] }, { text: 'I may not.' });
  const ann = desk.person('ann');
  await ann.says('do it');
  await ann.shouldSee('I may not.');
  expect(runs).toBe(0);
  expect(desk.model.requests[0]?.raw).not.toContain('secret_tool');
  expect(desk.model.requests[1]?.body.messages.at(-1)?.content).toMatch(/not available/);
  await answersOn(desk);
});

test('A20 openclaw#48534 hooks that never return cost their time limit, not the answer, and are switched off', async () => {
  const desk = await openDesk({
    config: { plugins: { hook_timeout_s: { pre: 0.2, post: 0.2 } } },
    before({ hooks }) {
      for (const name of ['on_session_start', 'pre_gateway_dispatch', 'pre_llm_call'] as const) hooks.add('stuck', name, () => new Promise(() => {}));
    },
  });
  for (const id of ['ann', 'bob', 'eve']) {
    await desk.person(id).says('hello');
    await desk.person(id).shouldSee('answer to hello');
  }
  await answersOn(desk);
});

test('a turn that has used up its tokens ends with a sentence; the next one has as many again', async () => {
  const desk = await openDesk({ config: { budgets: { turn_tokens: 100 } }, tools: [deskTool('look', () => '{}')] });
  let calls = 0;
  desk.model.answer((request) => ({ toolCalls: [{ name: 'look', args: { at: (calls += 1) } }], usage: { prompt_tokens: 30, completion_tokens: 5 }, ...(lastUserText(request) === 'quick' ? { text: 'done', toolCalls: [] } : {}) }));
  const ann = desk.person('ann');
  await ann.says('look at everything');
  await ann.shouldSee('used up its 100 tokens');
  expect(calls).toBe(3);
  await ann.says('quick');
  await ann.shouldSee('done');
  expect(desk.model.violations).toEqual([]);
  desk.checkHistories();
});
