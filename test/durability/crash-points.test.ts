/** The process dies at each named instant of a turn; after the restart the message is answered, once, and the history is valid. */
import { mkdirSync, writeFileSync, readFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createRig, shouldBeAnswered, type Rig } from '../support/crash-rig.ts';
import { tempHome } from '../support/temp-home.ts';

/** A plugin whose tool counts its runs in a file; what it did before a death cannot be undone. */
function counterPlugin(): { dir: string; count(): number } {
  const dir = join(tempHome(), 'counter');
  const file = join(dir, 'runs.txt');
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'plugin.yaml'), 'name: counter\nversion: 1.0.0\n');
  writeFileSync(
    join(dir, 'index.js'),
    `const { appendFileSync } = require('node:fs');
exports.register = (ctx) => ctx.registerTool({
  name: 'count',
  schema: { name: 'count', description: 'Counts.', parameters: { type: 'object', properties: {} } },
  handler: () => { appendFileSync(${JSON.stringify(file)}, 'x'); return JSON.stringify({ counted: true }); },
});`,
  );
  return { dir, count: () => (existsSync(file) ? readFileSync(file, 'utf8').length : 0) };
}

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
const beforeTool = ['admitted', 'turn_begun', 'step_stored', 'tool_started'];
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
  expect(counter.count()).toBeLessThanOrEqual(1);
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

test('a message that kills the process again and again is quarantined; the others are answered and the user is told', async () => {
  const dir = join(tempHome(), 'bomb');
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'plugin.yaml'), 'name: bomb\nversion: 1.0.0\n');
  writeFileSync(join(dir, 'index.js'), `exports.register = (ctx) => ctx.registerHook('pre_llm_call', ({ user_message }) => { if (user_message === 'boom') process.abort(); });`);
  const rig = await createRig({ plugins: [dir], config: { operator: 'telegram:50' } });
  rig.telegram.dm(50).says('hello');
  rig.telegram.dm(1).says('boom');
  for (const chat of [2, 3, 4, 5, 6]) rig.telegram.dm(chat).says('hello');
  let deaths = 0;
  for (;;) {
    const daemon = await rig.start('never');
    const told = rig.telegram.dm(1).shouldSee(/not tried again/, 15_000).then(() => 'told', () => 'not told');
    if ((await Promise.race([daemon.ended.then(() => 'died'), told])) === 'told') break;
    deaths += 1;
    expect(deaths).toBeLessThanOrEqual(3);
  }
  expect(deaths).toBe(3);
  for (const chat of [2, 3, 4, 5, 6]) {
    await shouldBeAnswered(rig, chat, ['answer to hello']);
    expect(rig.answers(chat)).toEqual(['answer to hello']);
  }
  await rig.telegram.dm(50).shouldSee(/quarantined/);
});
