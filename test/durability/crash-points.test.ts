/** The process dies at each named instant of a turn; after the restart the message is answered, once, and the history is valid. */
import { expect, test } from 'vitest';
import { createRig, counterPlugin, pluginWith, shouldBeAnswered, type Rig } from '../support/crash-rig.ts';
import { waitFor } from '../support/wait-for.ts';

function callTheTool({ model }: Rig): void {
  model.answer(({ body }) => {
    const isAnswered = body.messages.some(({ role }) => role === 'tool');
    return isAnswered ? { text: 'counted' } : { toolCalls: [{ name: 'count', args: {} }] };
  });
}

async function dieAt(rig: Rig, label: string): Promise<void> {
  const daemon = await rig.start(label);
  expect(await daemon.ended, `${label} was never passed:\n${daemon.output()}`).toBe(null);
}

// The labels stand in the order in which a turn passes them.
const beforeTool = ['received', 'admitted', 'row_claimed', 'turn_begun', 'step_stored', 'tool_started'];
const afterTool = ['tool_done', 'tool_stored', 'before_commit', 'turn_committed', 'part_attempting'];

test.each([...beforeTool, ...afterTool])('killed at %s: one answer, the tool ran at most once, the history is valid', async (label) => {
  const counter = counterPlugin();
  const rig = await createRig({ plugins: [counter.dir] });
  callTheTool(rig);
  rig.telegram.dm(1).says('count, please');
  await dieAt(rig, label);
  const daemon = await rig.start();
  await shouldBeAnswered(rig, 1, ['counted']);
  expect(rig.answers(1)).toEqual(['counted']);
  // Begun and not run is reported as unknown, like begun and run: nobody can tell them apart.
  expect(counter.count()).toBe(label === 'tool_started' ? 0 : 1);
  expect(rig.model.violations).toEqual([]);
  expect(rig.telegram.unconfirmed).toEqual([]);
  await daemon.stop();
  rig.checkStore();
});

test.each(['part_answered', 'part_settled'])('killed at %s: the part is sent at most twice and answered', async (label) => {
  const rig = await createRig();
  rig.telegram.dm(1).says('hello');
  await dieAt(rig, label);
  const daemon = await rig.start();
  rig.telegram.dm(1).says('again');
  await shouldBeAnswered(rig, 1, ['answer to hello', 'answer to again']);
  expect(rig.answers(1).filter((text) => text === 'answer to hello').length).toBeLessThanOrEqual(label === 'part_settled' ? 1 : 2);
  await daemon.stop();
  rig.checkStore();
});

const story = 'Once upon a time there was a house on a hill, and nobody lived in it. ';

test.each(['preview_opened', 'preview_shown', 'preview_shown:2'])('killed at %s of a growing answer: the message is finished, not a second one', async (label) => {
  const rig = await createRig({ config: { streaming: { enabled: true } } });
  let requests = 0;
  rig.model.answer(() => {
    requests += 1;
    return { text: story.repeat(6), ...(requests === 1 ? { chunkBytes: 700, chunkDelayMs: 120 } : {}) };
  });
  rig.telegram.dm(1).says('tell me a story');
  await dieAt(rig, label);
  const daemon = await rig.start();
  await shouldBeAnswered(rig, 1, [story.repeat(6).trim()]);
  expect(rig.answers(1)).toHaveLength(1);
  expect(rig.telegram.unconfirmed).toEqual([]);
  await daemon.stop();
  rig.checkStore();
});

test('killed while the model is asked, and again while it answers: asked anew, answered once', async () => {
  const rig = await createRig();
  rig.model.script({ hang: true }, { text: story, chunkBytes: 300, hangAfter: 900 });
  rig.telegram.dm(1).says('hello');
  for (const request of [1, 2]) {
    const daemon = await rig.start('never');
    await rig.model.waitForRequest(request);
    await daemon.kill();
  }
  const daemon = await rig.start();
  await shouldBeAnswered(rig, 1, ['answer to hello']);
  expect(rig.answers(1)).toEqual(['answer to hello']);
  await daemon.stop();
  rig.checkStore();
});

test('killed while consent is waited for: it is asked for again, a button of before leads nowhere, and the tool runs once', async () => {
  const wipe = pluginWith('wipe', `const { appendFileSync } = require('node:fs');
exports.register = (ctx) => ctx.registerTool({
  name: 'count', needsApproval: () => 'deletes files',
  schema: { name: 'count', description: 'Counts.', parameters: { type: 'object', properties: {} } },
  handler: () => { appendFileSync(FILE, 'x'); return JSON.stringify({ counted: true }); },
});`);
  const rig = await createRig({ plugins: [wipe.dir] });
  callTheTool(rig);
  const ann = rig.telegram.dm(1);
  ann.says('count, please');
  const first = await rig.start();
  await ann.shouldSee('Allow count?');
  const old = ann.seen().at(-1)?.buttons.flat()[0]?.callback_data;
  await first.kill();
  const daemon = await rig.start();
  await waitFor('another question', () => ann.seen().some(({ buttons }) => buttons.length > 0 && buttons[0]?.[0]?.callback_data !== old));
  rig.telegram.push({ callback_query: { id: '1', from: { id: 1, is_bot: false, first_name: 'A' }, chat_instance: '1', data: old, message: { message_id: 1, date: 1, chat: { id: 1, type: 'private' } } } });
  ann.says('/approve');
  await ann.shouldSee('counted');
  expect(wipe.count()).toBe(1);
  await daemon.stop();
  rig.checkStore();
});

test('A8 PraisonAI#2723 a message that kills the process again and again is quarantined; the others are answered and the user is told', async () => {
  const bomb = pluginWith('bomb', `exports.register = (ctx) => ctx.registerHook('pre_llm_call', ({ user_message }) => { if (user_message === 'boom') process.abort(); });`);
  const rig = await createRig({ plugins: [bomb.dir], config: { operator: 'telegram:50' } });
  rig.telegram.dm(50).says('hello');
  rig.telegram.dm(1).says('boom');
  for (const chat of [2, 3, 4, 5, 6]) rig.telegram.dm(chat).says('hello');
  let deaths = 0;
  for (;;) {
    const daemon = await rig.start('never');
    // Looked up, not taken: the waits of earlier starts still run.
    const told = waitFor('the sentence', () => rig.answers(1).some((text) => text.includes('not tried again')), 30_000).then(() => 'told', () => 'not told');
    if ((await Promise.race([daemon.ended.then(() => 'died'), told])) === 'told') break;
    deaths += 1;
    expect(deaths, daemon.output()).toBeLessThanOrEqual(3);
  }
  expect(deaths).toBe(3);
  for (const chat of [2, 3, 4, 5, 6]) {
    await shouldBeAnswered(rig, chat, ['answer to hello']);
    expect(rig.answers(chat)).toEqual(['answer to hello']);
  }
  await rig.telegram.dm(50).shouldSee(/quarantined/);
}, 90_000);
