/** An orderly stop: intake closes, turns end or are given back at their next step, deliveries in flight end; nothing is lost or doubled. */
import { expect, test } from 'vitest';
import { counterPlugin, createRig, shouldBeAnswered } from '../support/crash-rig.ts';
import { lastUserText } from '../support/openai-api.ts';
import { waitFor } from '../support/wait-for.ts';

const limitMs = 25_000;

test('B13 stopped while a tool runs, a model is slow, an answer grows and a send hangs: done by itself in a moment, all answered once', async () => {
  const counter = counterPlugin(700);
  const rig = await createRig({ plugins: [counter.dir], config: { streaming: { enabled: true } } });
  const long = 'Once upon a time there was a house on a hill. '.repeat(8).trim();
  rig.model.answer((request) => {
    const text = lastUserText(request);
    if (request.body.messages.at(-1)?.role === 'tool') return { text: 'counted' };
    if (text === 'count') return { toolCalls: [{ name: 'count', args: {} }] };
    if (text === 'story') return { text: long, chunkBytes: 700, chunkDelayMs: 150 };
    return { text: `answer to ${text}`, delayMs: text === 'slow' ? 1000 : 0 };
  });
  rig.telegram.fail('sendMessage', { hangAfterMs: 1500, match: ({ chat_id }) => String(chat_id) === '4' });
  const daemon = await rig.start();
  for (const [chat, text] of [[1, 'count'], [2, 'slow'], [3, 'story'], [4, 'hung']] as const) rig.telegram.dm(chat).says(text);
  await waitFor('everything to be under way', () => counter.count() === 1 && rig.model.requests.length === 4 && rig.answers(3).length > 0 && rig.answers(4).length > 0);
  rig.telegram.dm(1).says('and after that');
  const begun = performance.now();
  expect(await daemon.stop(), daemon.output()).toBe(0);
  expect(performance.now() - begun).toBeLessThan(limitMs);
  expect(rig.answers(4)).toEqual(['answer to hung']);
  rig.checkStore();

  const next = await rig.start();
  await shouldBeAnswered(rig, 1, ['counted', 'answer to and after that']);
  for (const [chat, answers] of [[1, ['counted', 'answer to and after that']], [2, ['answer to slow']], [3, [long]], [4, ['answer to hung']]] as const) {
    await shouldBeAnswered(rig, chat, [...answers]);
    expect(rig.answers(chat)).toEqual(answers);
  }
  expect(counter.count()).toBe(1);
  expect(rig.model.violations).toEqual([]);
  expect(rig.telegram.unconfirmed).toEqual([]);
  await next.stop();
  rig.checkStore();
});

test('B13 stopped while a tool and a model hang for good: within 25 s, and both go on after the restart', { timeout: 90_000 }, async () => {
  const counter = counterPlugin(100_000);
  const rig = await createRig({ plugins: [counter.dir] });
  let isBack = false;
  rig.model.answer((request) => {
    const last = request.body.messages.at(-1);
    if (last?.role === 'tool') return { text: `result: ${String(last.content)}` };
    if (lastUserText(request) === 'count') return { toolCalls: [{ name: 'count', args: {} }] };
    return isBack ? { text: 'here I am' } : { hang: true };
  });
  const daemon = await rig.start();
  rig.telegram.dm(1).says('count');
  rig.telegram.dm(2).says('hello');
  await waitFor('both to hang', () => counter.count() === 1 && rig.model.requests.length === 2);
  const begun = performance.now();
  expect(await daemon.stop(), daemon.output()).toBe(0);
  expect(performance.now() - begun).toBeLessThan(limitMs);
  rig.checkStore();

  isBack = true;
  const next = await rig.start();
  await shouldBeAnswered(rig, 2, ['here I am']);
  await waitFor('the other answer', () => rig.answers(1).length > 0);
  expect(rig.answers(1)).toHaveLength(1);
  expect(rig.answers(1)[0]).toMatch(/^result: .*error/);
  expect(rig.answers(2)).toEqual(['here I am']);
  expect(counter.count()).toBe(1);
  await next.stop();
  rig.checkStore();
});

test('a second signal ends the program at once, and nothing is lost by it', async () => {
  const rig = await createRig();
  rig.model.script({ hang: true });
  const daemon = await rig.start();
  rig.telegram.dm(1).says('hello');
  await rig.model.waitForRequest(1);
  void daemon.stop();
  await waitFor('the first signal to be heard', () => daemon.output().includes('stopping'));
  const begun = performance.now();
  expect(await daemon.stop()).toBe(1);
  // Far below the 20 s that a hanging turn would be given.
  expect(performance.now() - begun).toBeLessThan(10_000);
  const next = await rig.start();
  await shouldBeAnswered(rig, 1, ['answer to hello']);
  expect(rig.answers(1)).toEqual(['answer to hello']);
  await next.stop();
  rig.checkStore();
});
