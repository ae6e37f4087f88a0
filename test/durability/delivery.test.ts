/** From the store to the platform, with the built program: faults of the platform and the model, and what a restart keeps of them. */
import { expect, test } from 'vitest';
import { createRig, pluginWith, shouldBeAnswered } from '../support/crash-rig.ts';
import { runProgram } from '../support/daemon.ts';
import { waitFor } from '../support/wait-for.ts';

const sends = (rig: Awaited<ReturnType<typeof createRig>>, chat: number) => rig.telegram.calls.filter(({ method, params }) => method === 'sendMessage' && String(params['chat_id']) === String(chat));

test('one HTTP 500, a broken connection and a deleted chat: the first arrives once, the second is repeated with a mark, the third is not tried again', async () => {
  const rig = await createRig();
  rig.telegram.fail('sendMessage', { status: 500, match: ({ chat_id }) => String(chat_id) === '1' });
  rig.telegram.fail('sendMessage', { dropAfter: true, match: ({ chat_id }) => String(chat_id) === '2' });
  rig.telegram.fail('sendMessage', { dropBefore: true, match: ({ chat_id }) => String(chat_id) === '3' });
  const daemon = await rig.start();
  for (const chat of [1, 2, 3, 4, 5]) rig.telegram.dm(chat);
  rig.telegram.close403(4);
  for (const chat of [1, 2, 3, 4, 5]) rig.telegram.dm(chat).says('hello');
  await shouldBeAnswered(rig, 5, ['answer to hello']);
  await shouldBeAnswered(rig, 1, ['answer to hello']);
  await waitFor('the repeats', () => rig.answers(2).length === 2 && rig.answers(3).length === 1);
  expect(rig.answers(1)).toEqual(['answer to hello']);
  expect(rig.answers(2)).toEqual(['answer to hello', 'answer to hello\n\n(may be a repeat)']);
  expect(rig.answers(3)).toEqual(['answer to hello\n\n(may be a repeat)']);
  expect(sends(rig, 4)).toHaveLength(1);
  await daemon.stop();
  rig.checkStore();
});

test('F17 a hung send blocks its chat and no other', async () => {
  const rig = await createRig();
  let isHung = true;
  rig.telegram.fail('sendMessage', { hangMs: 4000, match: ({ chat_id }) => String(chat_id) === '1' });
  await rig.start();
  rig.telegram.dm(1).says('hung');
  await waitFor('the call to hang', () => sends(rig, 1).length === 1);
  void waitFor('the hung one', () => rig.answers(1).length > 0).then(() => (isHung = false));
  rig.telegram.dm(1).says('behind it');
  for (let chat = 2; chat <= 20; chat++) rig.telegram.dm(chat).says('quick');
  for (let chat = 2; chat <= 20; chat++) await shouldBeAnswered(rig, chat, ['answer to quick']);
  expect(isHung).toBe(true);
  expect(rig.answers(1)).toEqual([]);
  await shouldBeAnswered(rig, 1, ['answer to hung', 'answer to behind it']);
  expect(rig.answers(1)).toEqual(['answer to hung', 'answer to behind it']);
});

test('A9 hermes-agent#46762 a retry_after is kept over a kill and a restart: not one early call, the final once, other chats at once', async () => {
  const rig = await createRig();
  rig.telegram.fail('sendMessage', { retryAfter: 5, match: ({ chat_id }) => String(chat_id) === '1' });
  const daemon = await rig.start();
  rig.telegram.dm(1).says('hello');
  await waitFor('the refusal', () => sends(rig, 1).length === 1);
  const refusedAt = sends(rig, 1)[0]?.at ?? 0;
  await waitFor('the refusal to be written down', () => daemon.output().includes('not delivered yet'));
  await daemon.kill();
  const next = await rig.start();
  rig.telegram.dm(1).says('more');
  rig.telegram.dm(2).says('hello');
  await shouldBeAnswered(rig, 2, ['answer to hello']);
  expect(sends(rig, 1)).toHaveLength(1);
  await shouldBeAnswered(rig, 1, ['answer to hello', 'answer to more']);
  const later = rig.telegram.calls.filter(({ method, params, at }) => method !== 'getUpdates' && String(params['chat_id']) === '1' && at > refusedAt);
  expect(Math.min(...later.map(({ at }) => at)) - refusedAt).toBeGreaterThanOrEqual(5000);
  expect(rig.answers(1)).toEqual(['answer to hello', 'answer to more']);
  await next.stop();
});

test('C1 with the model down the user knows within 90 s, and the next message is tried anew', { timeout: 120_000 }, async () => {
  const rig = await createRig();
  await rig.start();
  await rig.model.close();
  const begun = performance.now();
  rig.telegram.dm(1).says('hello');
  await waitFor('a sentence', () => rig.answers(1).length > 0, 90_000);
  expect(performance.now() - begun).toBeLessThan(90_000);
  expect(rig.answers(1)[0]).not.toMatch(/ECONNREFUSED|127\.0\.0\.1|http/);
  expect(rig.answers(1)[0]).toMatch(/again/i);
});

test('A12 hermes-agent#55844 five thousand emoji arrive whole, each message within the limit, streamed or not', async () => {
  for (const enabled of [true, false]) {
    const rig = await createRig({ config: { streaming: { enabled } } });
    rig.model.answer(() => ({ text: '😀'.repeat(5000), ...(enabled ? { chunkBytes: 40_000, chunkDelayMs: 100 } : {}) }));
    const daemon = await rig.start();
    rig.telegram.dm(1).says('smile');
    await waitFor('all of it', () => rig.answers(1).join('').length === 10_000, 20_000);
    for (const text of rig.answers(1)) {
      expect(text.length).toBeLessThanOrEqual(4096);
      expect(text.isWellFormed()).toBe(true);
    }
    expect(rig.answers(1).join('')).toBe('😀'.repeat(5000));
    await daemon.stop();
  }
});

test('A10 hermes-agent#76494 eight tool calls with a growing answer and a limit that doubles at each early call: it never doubles', async () => {
  const step = pluginWith('stepper', `exports.register = (ctx) => ctx.registerTool({
  name: 'step', schema: { name: 'step', description: 'Steps.', parameters: { type: 'object', properties: { n: { type: 'integer' } } } },
  handler: ({ n }) => JSON.stringify({ stepped: n }),
});`);
  const rig = await createRig({ plugins: [step.dir], config: { streaming: { enabled: true } } });
  let steps = 0;
  rig.model.answer(() => {
    steps += 1;
    const text = `Step ${steps}: ${'working on it '.repeat(6)}`;
    return { text, chunkBytes: 300, chunkDelayMs: 60, ...(steps <= 8 ? { toolCalls: [{ name: 'step', args: { n: steps } }] } : {}) };
  });
  let until = 0;
  let early = 0;
  let seen = 0;
  // The third call that shows something is refused for three seconds; whatever comes before their end is an offence.
  rig.telegram.fail('*', {
    times: 10_000,
    retryAfter: 3,
    match: ({ chat_id }) => {
      if (String(chat_id) !== '1') return false;
      seen += 1;
      if (seen === 3) until = Date.now() + 3000;
      else if (Date.now() < until) early += 1;
      return seen === 3;
    },
  });
  await rig.start();
  rig.telegram.dm(1).says('work');
  await waitFor('the final', () => rig.answers(1).some((text) => text.startsWith('Step 9')), 25_000);
  expect(early).toBe(0);
  expect(rig.answers(1).map((text) => text.slice(0, 6))).toEqual(Array.from({ length: 9 }, (_, i) => `Step ${i + 1}`));
});

test('a terminal chat beside the daemon leaves the daemon\'s deliveries alone', async () => {
  const rig = await createRig();
  rig.telegram.fail('sendMessage', { hangAfterMs: 4000 });
  const daemon = await rig.start();
  rig.telegram.dm(1).says('hello');
  await waitFor('the call to be in flight', () => rig.answers(1).length === 1);
  rig.telegram.dm(1).says('behind it');
  const run = await runProgram(['chat', '-q', 'typed there'], { home: rig.home });
  expect(run).toMatchObject({ code: 0, stdout: 'answer to typed there\n' });
  await shouldBeAnswered(rig, 1, ['answer to behind it']);
  expect(rig.answers(1)).toEqual(['answer to hello', 'answer to behind it']);
  expect(sends(rig, 1)).toHaveLength(2);
  await daemon.stop();
  rig.checkStore();
});
