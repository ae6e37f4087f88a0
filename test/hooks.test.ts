/** Every hook that has a place to fire: exactly once per event, with exactly the keys of the table, on a chat platform's turns. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { hookTable, type HookName } from '../src/contract/plugin.ts';
import { createRig, type Rig } from './support/crash-rig.ts';
import { lastUserText } from './support/openai-api.ts';
import { tempHome } from './support/temp-home.ts';
import { waitFor } from './support/wait-for.ts';

interface Fired {
  name: HookName;
  payload: Record<string, unknown>;
}

/** A plugin that writes down every hook it hears, and does what a few of them may do. */
function recorder(): { dir: string; fired(): Fired[]; of(name: HookName): Record<string, unknown>[] } {
  const dir = join(tempHome(), 'recorder');
  const file = join(dir, 'fired.jsonl');
  mkdirSync(dir, { recursive: true });
  writeFileSync(file, '');
  writeFileSync(join(dir, 'plugin.yaml'), 'name: recorder\nversion: 1.0.0\n');
  writeFileSync(
    join(dir, 'index.js'),
    `const { appendFileSync } = require('node:fs');
const answers = {
  pre_gateway_dispatch: ({ message }) => message === 'skip me' ? { action: 'skip' } : message === 'rewrite me' ? { action: 'rewrite', text: 'rewritten' } : undefined,
  pre_llm_call: () => ({ context: 'CONTEXT-OF-THE-TURN' }),
  transform_llm_output: ({ response_text }) => response_text === 'plain' ? 'transformed' : undefined,
};
exports.register = (ctx) => {
  for (const name of ${JSON.stringify(Object.keys(hookTable))}) ctx.registerHook(name, (payload) => {
    appendFileSync(${JSON.stringify(file)}, JSON.stringify({ name, payload }) + '\\n');
    return answers[name]?.(payload);
  });
  ctx.registerTool({ name: 'note', schema: { name: 'note', description: 'Notes a text.', parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] } }, handler: ({ text }) => JSON.stringify({ noted: text }) });
};`,
  );
  const fired = () => readFileSync(file, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line) as Fired);
  return { dir, fired, of: (name) => fired().filter((each) => each.name === name).map(({ payload }) => payload) };
}

/** What the scripted model does, by the person's words. */
function play({ model }: Rig): void {
  model.answer((request) => {
    const { messages } = request.body;
    const said = lastUserText(request);
    const hasResult = messages.at(-1)?.role === 'tool';
    if (said.startsWith('note') && !hasResult) return { toolCalls: [{ name: 'note', args: { text: 'x' } }] };
    if (said.startsWith('run') && !hasResult) return { toolCalls: [{ name: 'terminal', args: { command: 'echo hi' } }] };
    if (said.startsWith('refused')) return { status: 400 };
    return { text: said.startsWith('plain') ? 'plain' : `answer to ${said.split('\n')[0]}` };
  });
}

test('a chat fires every hook once, with the keys that docs/hooks.md promises', async () => {
  const plugin = recorder();
  const rig = await createRig({ plugins: [plugin.dir], telegram: { allowed_chats: [-100] }, config: { platform_toolsets: { telegram: ['telegram', 'terminal'] } } });
  play(rig);
  const daemon = await rig.start();
  const chat = rig.telegram.dm(1);

  chat.says('note this');
  await chat.shouldSee('answer to note this');
  await waitFor('the end of the first turn', () => plugin.of('on_session_end').length === 1);
  const first = plugin.fired().map(({ name }) => name).filter((name) => name !== 'on_delivery');
  expect(first).toEqual([
    'on_plugin_loaded',
    'on_message_received',
    'pre_gateway_dispatch',
    'on_session_start',
    'pre_llm_call',
    'pre_api_request',
    'post_api_request',
    'pre_tool_call',
    'post_tool_call',
    'transform_tool_result',
    'pre_api_request',
    'post_api_request',
    'transform_llm_output',
    'post_llm_call',
    'on_session_end',
  ]);
  expect(rig.model.requests[0]?.raw).toContain('CONTEXT-OF-THE-TURN');

  chat.says('plain');
  await chat.shouldSee('transformed');
  chat.says('skip me');
  chat.says('rewrite me');
  await chat.shouldSee('answer to rewritten');
  expect(rig.answers(1).join()).not.toContain('skip me');

  chat.says('run it');
  await chat.shouldSee(/Allow terminal/);
  chat.says('/deny');
  await chat.shouldSee('answer to run it');
  expect(plugin.of('post_approval_response')[0]).toMatchObject({ tool_name: 'terminal', choice: 'deny', decided_by: '1' });

  chat.says('refused');
  await waitFor('the failed turn', () => plugin.of('on_error_occurred').length === 1);
  chat.says('/new');
  await chat.shouldSee(/new conversation/i);
  const [finalized] = plugin.of('on_session_finalize');
  const [reset] = plugin.of('on_session_reset');
  expect(finalized).toMatchObject({ reason: 'new', session_id: finalized?.['old_session_id'] });
  expect(reset).toMatchObject({ reason: 'new', session_id: finalized?.['new_session_id'], old_session_id: finalized?.['old_session_id'] });

  chat.says('after');
  await chat.shouldSee('answer to after');
  const starts = plugin.of('on_session_start');
  expect(starts.map(({ session_id }) => session_id)).toEqual([finalized?.['old_session_id'], finalized?.['new_session_id']]);
  expect(plugin.of('pre_llm_call').map(({ is_first_turn }) => is_first_turn)).toEqual([true, false, false, false, false, true]);

  const group = rig.telegram.group(-100);
  group.as(1).sends({ new_chat_members: [{ id: 77, is_bot: false, first_name: 'Nele' }] });
  await waitFor('the joined person', () => plugin.of('on_user_joined').length === 1);

  await daemon.stop();
  expect(plugin.of('on_session_finalize').at(-1)).toMatchObject({ reason: 'shutdown', new_session_id: null });

  const heard = new Set(plugin.fired().map(({ name }) => name));
  const later: HookName[] = ['subagent_start', 'subagent_stop'];
  expect(Object.keys(hookTable).filter((name) => !heard.has(name as HookName))).toEqual(later);
  for (const { name, payload } of plugin.fired()) expect(Object.keys(payload).sort(), name).toEqual([...hookTable[name].keys].sort());
  for (const name of ['post_llm_call', 'on_session_end', 'pre_llm_call'] as const) {
    const turns = plugin.of(name).map(({ turn_id }) => turn_id);
    expect(new Set(turns).size, `${name} fired twice for one turn`).toBe(turns.length);
  }
  expect(rig.model.violations).toEqual([]);
  rig.checkStore();
}, 90_000);

test('session hooks do not fire again after a restart, and the context of pre_llm_call is in no transcript', async () => {
  const plugin = recorder();
  const rig = await createRig({ plugins: [plugin.dir] });
  play(rig);
  const before = await rig.start();
  rig.telegram.dm(1).says('one');
  await rig.telegram.dm(1).shouldSee('answer to one');
  await before.stop();
  await rig.start();
  rig.telegram.dm(1).says('two');
  await rig.telegram.dm(1).shouldSee('answer to two');
  expect(plugin.of('on_session_start')).toHaveLength(1);
  const [, second] = rig.model.requests;
  const contexts = second?.raw.match(/CONTEXT-OF-THE-TURN/g) ?? [];
  expect(contexts).toHaveLength(1);
}, 60_000);
