/** Plugins of form 2: plugin.json and the files that it names. */
import { describe, expect, test } from 'vitest';
import { waitFor } from '../support/wait-for.ts';
import { homeWith, loadPlugins, type Files } from './plugin-home.ts';

const inTurn = { session_id: 's1', turn_id: 't1', platform: 'telegram' };
const received = { ...inTurn, message: 'hello', sender: { id: '7', name: 'Ann' }, chat: { id: '-100', type: 'group', thread: '3' } };

function declared(manifest: Record<string, unknown>, files: Files): string {
  const json = JSON.stringify({ name: 'notes', version: '1.2.0', ...manifest });
  return homeWith(Object.fromEntries(Object.entries({ 'plugin.json': `// notes\n${json}`, ...files }).map(([path, text]) => [`notes/${path}`, text])));
}

function tool(name: string, execute: string): string {
  return `module.exports = { name: '${name}', description: 'Does a thing', parameters: {type: 'object', properties: {}}, execute: ${execute} };`;
}

describe('tools', () => {
  test('every way to answer becomes the JSON that the model reads', async () => {
    const { runTool } = await loadPlugins(
      declared({ tools: ['tools/ok.js', 'tools/no.cjs', 'tools/raw.mjs', 'tools/odd.ts', 'tools/text.js'] }, {
        'tools/ok.js': tool('ok', `async (args) => ({ success: true, result: { got: args } })`),
        'tools/no.cjs': tool('no', `() => ({ success: false, error: 'not today' })`),
        'tools/raw.mjs': `export const name = 'raw'; export const description = 'x'; export const parameters = {}; export async function execute() { return '{"raw":true}'; }`,
        'tools/odd.ts': `export default { name: 'odd', description: 'x', parameters: {}, execute(): unknown { return { success: false, error: { code: 5 } }; } };`,
        'tools/text.js': tool('text', `() => { throw new Error('it broke') }`),
      }),
    );
    expect(await runTool('ok', { a: 1 })).toEqual({ got: { a: 1 } });
    expect(await runTool('no', {})).toEqual({ error: 'not today' });
    expect(await runTool('raw', {})).toEqual({ raw: true });
    expect(await runTool('odd', {})).toEqual({ error: '{"code":5}' });
    expect((await runTool('text', {})).error).toContain('it broke');
  });

  test('two files share the module that both import', async () => {
    const { runTool } = await loadPlugins(
      declared({ tools: ['tools/put.ts', 'tools/get.ts'] }, {
        'lib/box.ts': `export const box: { value: number } = { value: 0 };`,
        'tools/put.ts': `import { box } from '../lib/box.ts';\nexport default { name: 'put', description: 'x', parameters: {}, execute: () => { box.value = 42; return '{}'; } };`,
        'tools/get.ts': `import { box } from '../lib/box.ts';\nexport default { name: 'get', description: 'x', parameters: {}, execute: () => JSON.stringify(box) };`,
      }),
    );
    await runTool('put', {});
    expect(await runTool('get', {})).toEqual({ value: 42 });
  });
});

test('a missing or broken file drops that item alone, with a line', async () => {
  const { host, logged } = await loadPlugins(
    declared(
      {
        main: 'absent.js', tools: ['tools/absent.js', 'tools/broken.js', 'tools/empty.js', '../../escape.js', 'tools/good.js'], hooks: ['hooks/on_mesage_received.js', 'hooks/absent.js', 'hooks/post_llm_call.js'],
        skills: ['skills/absent.md', 'skills/greet.md', 'skills/wave/SKILL.md'], data: ['data/absent.json'],
      },
      {
        'tools/broken.js': 'const = 5', 'tools/empty.js': 'exports.name = 1', 'tools/good.js': tool('good', `() => '{}'`), 'hooks/on_mesage_received.js': 'module.exports = () => {}', 'hooks/post_llm_call.js': 'module.exports = () => {}',
        'skills/greet.md': 'Say hello first.', 'skills/wave/SKILL.md': '---\nname: wave\n---\nWave.',
      },
    ),
  );
  expect(host.facts()).toMatchObject([{ name: 'notes', version: '1.2.0', state: 'loaded', tools: ['good'], hooks: ['post_llm_call'], skills: ['greet', 'wave'] }]);
  for (const item of ['tools/absent.js', 'tools/broken.js', 'tools/empty.js', '../../escape.js', 'skills/absent.md', 'data/absent.json']) expect(logged()).toContain(`Plugin notes: ${item} is left out: `);
  expect(logged()).toContain('there is no hook \\"on_mesage_received\\", so it will never be called; did you mean on_message_received?');
  expect(logged()).not.toContain('absent.js is left out: "absent.js"');
});

describe('hooks', () => {
  test('have the file name of their event; the four of this form also get the plugin', async () => {
    const show = `module.exports = async (context) => ({ keys: Object.keys(context).sort(), plugin: context.plugin?.name });`;
    const { hooks } = await loadPlugins(
      declared({ hooks: ['hooks/on_message_received.js', 'hooks/on_user_joined.mjs', 'hooks/on_error_occurred.js', 'hooks/post_llm_call.js'] }, {
        'hooks/on_message_received.js': show, 'hooks/on_user_joined.mjs': show.replace('module.exports =', 'export default'), 'hooks/on_error_occurred.js': show, 'hooks/post_llm_call.js': show,
      }),
    );
    const told = async (results: Promise<{ value: unknown }[]>) => (await results)[0]?.value;
    expect(await told(hooks.fire('on_message_received', received))).toEqual({ keys: ['chat', 'message', 'platform', 'plugin', 'sender', 'session_id', 'turn_id'], plugin: 'notes' });
    expect(await told(hooks.fire('on_user_joined', { user: { id: '7', name: 'Ann' }, chat: '-100', platform: 'telegram' }))).toEqual({ keys: ['chat', 'platform', 'plugin', 'user'], plugin: 'notes' });
    expect(await told(hooks.fire('on_error_occurred', { error: 'e', where: 'w', session_id: null, turn_id: null, platform: null }))).toMatchObject({ plugin: 'notes' });
    expect(await told(hooks.fire('post_llm_call', { ...inTurn, user_message: '', assistant_response: '', conversation_history: [], model: 'm' }))).toEqual({
      keys: ['assistant_response', 'conversation_history', 'model', 'platform', 'session_id', 'turn_id', 'user_message'],
    });
  });

  test('on_plugin_loaded is called once, with tools and data at hand', async () => {
    const { logged } = await loadPlugins(
      declared({ tools: ['tools/good.js'], hooks: ['hooks/on_plugin_loaded.js'], data: ['data/people.csv', 'data/a.json', 'data/b.yaml'] }, {
        'tools/good.js': tool('good', `() => 'raw answer'`),
        'hooks/on_plugin_loaded.js': `module.exports = ({ plugin }) => plugin.log.info('LOADED ' + [plugin.name, plugin.version, plugin.getTool('good').execute(), plugin.getTool('x'),
          JSON.stringify(plugin.data('data/people.csv')), plugin.data('data/a.json').a, plugin.data('data/b.yaml').b].join(' | '));`,
        'data/people.csv': '\uFEFFname,says\r\nAnn,"hi, ""all"""\r\n\r\nBob,"two\nlines"\r\n',
        'data/a.json': '{"a": 1 /* one */}',
        'data/b.yaml': 'b: 2',
      }),
    );
    const line = await waitFor('on_plugin_loaded', () => logged().split('\n').filter((line) => line.includes('LOADED')));
    expect(line).toHaveLength(1);
    const people = [{ name: 'Ann', says: 'hi, "all"' }, { name: 'Bob', says: 'two\nlines' }];
    expect((JSON.parse(line[0] ?? '') as { msg: string }).msg).toBe(`LOADED notes | 1.2.0 | raw answer |  | ${JSON.stringify(people)} | 1 | 2`);
  });

  test('sendMessage answers in the chat at hand, or in a direct chat with somebody who is allowed', async () => {
    const { hooks, sent } = await loadPlugins(
      declared({ hooks: ['hooks/on_message_received.js'] }, {
        'hooks/on_message_received.js': `module.exports = async ({ message, plugin }) => {
          await null;
          if (message === 'here') await plugin.sendMessage('an answer');
          else await plugin.sendMessage('a note', message);
          return { handled: true };
        };`,
      }),
    );
    expect(await hooks.fire('on_message_received', { ...received, message: 'here' })).toEqual([{ plugin: 'notes', value: { handled: true } }]);
    await hooks.fire('on_message_received', { ...received, message: '8' });
    expect(await hooks.fire('on_message_received', { ...received, message: 'stranger' })).toEqual([]);
    expect(sent).toEqual(['telegram:-100:3 an answer', 'telegram:8 a note']);
  });

  test('sendMessage reaches the chat from inside a tool, by its session', async () => {
    const { runTool, sent } = await loadPlugins(
      declared({ tools: ['tools/tell.js'], hooks: ['hooks/on_plugin_loaded.js'] }, {
        'hooks/on_plugin_loaded.js': `const box = require('../box.js'); module.exports = ({ plugin }) => { box.plugin = plugin; };`,
        'box.js': 'module.exports = {};',
        'tools/tell.js': `const box = require('../box.js');\n${tool('tell', `async () => { await box.plugin.sendMessage('working on it'); return '{"told":true}'; }`)}`,
      }),
      { addresses: { ofSession: (id) => (id === 's1' ? { platform: 'telegram', account: 'bot', chat: '55' } : null), ofUser: () => null } },
    );
    expect(await waitFor('the tool', async () => (await runTool('tell', {})).told)).toBe(true);
    expect(sent).toEqual(['telegram:55 working on it']);
  });
});

test('main is run like register(ctx), and when it fails nothing of the plugin stays', async () => {
  const files = { 'tools/good.js': tool('good', `() => '{}'`) };
  const good = await loadPlugins(declared({ main: 'main.ts', tools: ['tools/good.js'] }, { ...files, 'main.ts': `export default (ctx: { register_command(c: object): void }): void => ctx.register_command({ name: 'hi', handler: () => 'hi' });` }));
  expect(good.host.facts()).toMatchObject([{ state: 'loaded', tools: ['good'], commands: ['hi'] }]);
  const bad = await loadPlugins(declared({ main: 'main.js', tools: ['tools/good.js'] }, { ...files, 'main.js': `throw new Error('main broke');` }));
  expect(bad.host.facts()).toMatchObject([{ state: 'failed', reason: 'main broke', tools: [] }]);
  expect(bad.registry.names()).toEqual([]);
});

test('npm packages that are missing are named with the command that installs them', async () => {
  const home = declared({ dependencies: { 'left-pad': '^1', yaml: '^2' }, tools: ['tools/a.js'] }, { 'tools/a.js': `const x = require('right-pad');\n${tool('a', `() => x`)}` });
  const { logged } = await loadPlugins(home);
  expect(logged()).toContain(`npm install --prefix ${home}/plugins/notes --ignore-scripts left-pad right-pad`);
  expect(logged()).toContain('tools/a.js is left out: needs the npm package right-pad');
});
