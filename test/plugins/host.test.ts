/** The host: what is found, in which order, what a bad plugin costs, and what a good one can do. */
import { linkSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { CommandContext } from '../../src/contract/plugin.ts';
import { toPluginLines } from '../../src/lib/plugin-lines.ts';
import { tempHome } from '../support/temp-home.ts';
import { waitFor } from '../support/wait-for.ts';
import { homeWith, loadPlugins, writeFiles, type Files } from './plugin-home.ts';

const schema = `{description: 'Says hello to somebody', parameters: {type: 'object', properties: {}}}`;
const inChat: CommandContext = { platform: 'telegram', session_id: 's1', sender: { id: '7', name: 'Ann' }, chat: { id: '7', type: 'dm', thread: null } };

/** A plugin folder `name` whose register runs `body`. */
function plugin(name: string, body: string, extra: Files = {}): Files {
  const files = { 'plugin.yaml': `name: ${name}\nversion: 1.0.0`, 'index.js': `export function register(ctx) {\n${body}\n}`, ...extra };
  return Object.fromEntries(Object.entries(files).map(([path, text]) => [`${name}/${path}`, text]));
}

function tool(name: string, result = `'{"ok":true}'`): string {
  return `ctx.registerTool({name: '${name}', schema: ${schema}, handler: () => ${result}});`;
}

describe('loading', () => {
  test.each([
    ['index.ts', `import type { PluginContext } from 'hermes-gateway';\nimport { hi } from './hi.ts';\nexport function register(ctx: PluginContext): void { hi(ctx) }`, 'hi.ts', `import type { PluginContext } from 'hermes-gateway';\nexport const hi = (ctx: PluginContext) => ctx.registerTool({ name: 'hi', schema: { name: 'hi', description: 'x', parameters: {} }, handler: () => '{"ok":true}' });`],
    ['index.mjs', `import { hi } from './hi.mjs';\nexport default function register(ctx) { hi(ctx) }`, 'hi.mjs', `export const hi = (ctx) => ctx.registerTool({name: 'hi', schema: ${schema}, handler: () => '{"ok":true}'});`],
    ['index.cjs', `const { hi } = require('./hi.cjs');\nmodule.exports = { register(ctx) { hi(ctx) } };`, 'hi.cjs', `exports.hi = (ctx) => ctx.registerTool({name: 'hi', schema: ${schema}, handler: () => '{"ok":true}'});`],
    ['index.js', `const { hi } = require('./hi.js');\nmodule.exports = async (ctx) => { await null; hi(ctx) };`, 'hi.js', `exports.hi = (ctx) => ctx.registerTool({name: 'hi', schema: ${schema}, handler: () => '{"ok":true}'});`],
    ['index.js', `import { hi } from './hi.js';\nexport default { register: async (ctx) => { await null; hi(ctx) } };`, 'hi.js', `export const hi = (ctx) => ctx.registerTool({name: 'hi', schema: ${schema}, handler: () => '{"ok":true}'});`],
  ])('%s is loaded as it is', async (file, text, helper, helperText) => {
    const { host, runTool } = await loadPlugins(homeWith({ 'p/plugin.yaml': 'name: p', [`p/${file}`]: text, [`p/${helper}`]: helperText }));
    expect(host.facts()).toMatchObject([{ name: 'p', state: 'loaded', reason: null, tools: ['hi'] }]);
    expect(await runTool('hi', {})).toEqual({ ok: true });
  });

  test('a package of the gateway is there for a plugin that was only copied, lazily too, and its own copy wins', async () => {
    const lazy = plugin('lazy', `ctx.registerTool({name: 'lazy', schema: ${schema}, handler: async () => JSON.stringify((await import('yaml')).parse('a: 1'))});`);
    const own = plugin('own', `ctx.registerTool({name: 'own', schema: ${schema}, handler: async () => JSON.stringify((await import('yaml')).parse('a: 1'))});`, {
      'node_modules/yaml/package.json': '{"name":"yaml","main":"index.js"}',
      'node_modules/yaml/index.js': `exports.parse = () => ({ from: 'its own yaml' });`,
    });
    const { runTool } = await loadPlugins(homeWith({ ...lazy, ...own }));
    expect(await runTool('lazy', {})).toEqual({ a: 1 });
    expect(await runTool('own', {})).toEqual({ from: 'its own yaml' });
  });

  test('a package that nobody has is named with the command that installs it', async () => {
    const home = homeWith({ 'p/plugin.yaml': 'name: p', 'p/index.ts': `import pad from '@left/pad/deep';\nexport const register = () => pad;` });
    const { host } = await loadPlugins(home);
    expect(host.facts()[0]?.reason).toBe(`needs the npm package @left/pad; install it with: npm install --prefix ${join(home, 'plugins', 'p')} --ignore-scripts @left/pad`);
  });

  test('the order is that of folder names over all places; an explicit folder replaces one of the same name', async () => {
    const home = homeWith({ ...plugin('c', tool('c1')), ...plugin('a', tool('a1')), ...plugin('same', tool('old')), 'notes/README.md': 'no plugin' });
    const shared = writeFiles(tempHome(), { ...plugin('b', tool('b1')), ...plugin('same', tool('newer')) });
    const given = writeFiles(tempHome(), { ...plugin('same', tool('newest')) });
    const { host, logged } = await loadPlugins(home, { paths: [shared, join(shared, 'nowhere')], extraDirs: [join(given, 'same')] });
    expect(host.facts().map(({ name, tools }) => [name, ...tools])).toEqual([['a', 'a1'], ['b', 'b1'], ['c', 'c1'], ['same', 'newest']]);
    expect(logged()).toContain(`Plugin same: ${join(given, 'same')} (command line) is used instead of ${join(home, 'plugins', 'same')} (home)`);
    expect(logged()).toContain(`There is no plugin folder ${join(shared, 'nowhere')}`);
  });

  test('enabled is a list of the only ones, disabled wins, and what is off is shown with its reason', async () => {
    const home = homeWith({ ...plugin('a', tool('a1')), ...plugin('b', tool('b1')), ...plugin('c', tool('c1')) });
    const { host } = await loadPlugins(home, { enabled: ['a', 'b'], disabled: ['b'] });
    expect(toPluginLines(host.facts())).toEqual([
      'Plugins (3):', '  ✓ a v1.0.0 (1 tools)', '  ✗ b v1.0.0 - disabled (in plugins.disabled)', '  ✗ c v1.0.0 - disabled (not in plugins.enabled)',
    ]);
  });

  test('required variables: strings and objects mixed, an empty one counts as missing', async () => {
    const manifest = { 'plugin.yaml': 'name: p\nversion: 2.0.0\nrequires_env:\n  - ONE\n  - {name: TWO, secret: true}\n  - THREE' };
    const { host, logged } = await loadPlugins(homeWith(plugin('p', tool('t'), manifest)), { env: { ONE: '1', THREE: ' ' } });
    expect(logged()).toContain('"level":"warn"');
    expect(logged()).toContain('Plugin p disabled (missing: TWO, THREE)');
    expect(host.facts()[0]).toMatchObject({ state: 'disabled', reason: 'missing: TWO, THREE', tools: [] });
  });
});

describe('bad plugins', () => {
  test('twelve at once leave the good one working, and each is named with its reason', async () => {
    const home = homeWith({
      ...plugin('b01', `throw new Error('broken on purpose');`),
      ...plugin('b02', `return new Promise(() => {});`),
      ...plugin('b03', `${tool('half')} ctx.registerHook('pre_llm_call', () => 'half'); ctx.registerCommand({name: 'half', handler: () => ''}); throw new Error('after half');`),
      ...plugin('b04', '', { 'index.js': 'export function register( {' }),
      ...plugin('b05', '', { 'index.js': 'export const nothing = 1;' }),
      ...plugin('b06', '', { 'index.js': 'await new Promise(() => {}); export const register = () => {};' }),
      ...plugin('b07', 'process.exit(3);'),
      ...plugin('b08', '', { 'plugin.yaml': 'name: [' }),
      ...plugin('b09', 'return Promise.reject(null);'),
      ...plugin('b10', `ctx.registerTool({name: 'x'});`),
      'b11/plugin.yaml': 'name: b11\nversion: 1.0.0', 'b11/__init__.py': 'def register(ctx): pass',
      'b12/index.js': 'export const register = () => {};',
      ...plugin('good', tool('fine')),
    });
    const { host, hooks, registry, logged } = await loadPlugins(home, { limitMs: 300 });
    const reasons = Object.fromEntries(host.facts().map(({ name, state, reason }) => [name, `${state}: ${reason}`]));
    expect(reasons).toEqual({
      b01: 'failed: broken on purpose', b02: 'failed: register() took longer than 0.3 s', b03: 'failed: after half', b04: expect.stringContaining('index.js:1:') as string,
      b05: expect.stringContaining('exports no register(ctx)') as string, b06: 'failed: loading its module took longer than 0.3 s',
      b07: 'failed: a plugin may not call process.exit; throw an error instead', b08: expect.stringContaining('plugin.yaml: ') as string, b09: 'failed: null',
      b10: 'failed: tool x has no schema; give {name, description, parameters}', b11: expect.stringContaining('Python plugin') as string,
      b12: expect.stringContaining('no plugin.yaml or plugin.json') as string, good: 'loaded: null',
    });
    expect(registry.names()).toEqual(['fine']);
    expect(hooks.has('pre_llm_call')).toBe(false);
    expect(host.commands()).toEqual([]);
    for (const { name } of host.facts().filter(({ state }) => state === 'failed')) expect(logged()).toContain(`Plugin ${name} failed: `);
    expect(logged()).toContain('Plugin b07 called process.exit(3); it was refused');
  });

  test('what is registered after the time limit stays out', async () => {
    const late = plugin('late', `return new Promise((resolve) => setTimeout(() => { try { ${tool('late')} } catch (error) { globalThis.lateSays = error.message } resolve() }, 60));`);
    const { registry, host } = await loadPlugins(homeWith(late), { limitMs: 30 });
    const says = await waitFor('the late registration', () => (globalThis as { lateSays?: string }).lateSays);
    expect(says).toContain('after its register() was over');
    expect(host.facts()[0]).toMatchObject({ state: 'failed', tools: [] });
    expect(registry.names()).toEqual([]);
  });

  test('a failed plugin gives back what it tracked', async () => {
    const home = homeWith(plugin('p', `ctx.track(() => { globalThis.tracked = 'disposed' }); throw new Error('no');`));
    await loadPlugins(home);
    expect((globalThis as { tracked?: string }).tracked).toBe('disposed');
  });

  test('a tool name that is taken stays with its first owner; the rest of the plugin works', async () => {
    const { host, registry, logged } = await loadPlugins(homeWith({ ...plugin('a', tool('same')), ...plugin('b', tool('same') + tool('other')) }));
    expect(host.facts().map(({ name, tools }) => [name, tools])).toEqual([['a', ['same']], ['b', ['other']]]);
    expect(registry.get('same')?.toolset).toBe('a');
    expect(logged()).toMatch(/same of b .* a has one of that name/);
  });

  test('an unknown hook name is said aloud with the nearest one', async () => {
    const { host, logged } = await loadPlugins(homeWith(plugin('p', `ctx.registerHook('post_tool_cal', () => {});`)));
    expect(logged()).toContain('there is no hook \\"post_tool_cal\\", so it will never be called; did you mean post_tool_call?');
    expect(host.facts()[0]).toMatchObject({ state: 'loaded', hooks: [] });
  });
});

describe('ctx', () => {
  test('answers to camelCase and snake_case alike', async () => {
    const body = (register: string, check: string, max: string) => `ctx.${register}({name: '${register}', schema: ${schema}, handler: () => '{}', ${check}: () => false, ${max}: 9});`;
    const snake = `ctx.register_command({name: 'say', description: 'x', handler: () => ctx.plugin_dir}); ctx.register_cli_command({name: 'cli', help: 'h', setup_fn: () => {}, handler_fn: () => 5});
      ctx.register_hook('pre_tool_call', () => { throw new Error('x') }, {fail_closed: true}); ctx.register_skill({name: 's', path: 's.md'}); if (!('dispatch_tool' in ctx)) throw new Error('no dispatch_tool');`;
    const { registry, host, hooks, home } = await loadPlugins(
      homeWith(plugin('p', body('registerTool', 'checkFn', 'maxResultChars') + body('register_tool', 'check_fn', 'max_result_chars') + snake, { 's.md': '# Say' })),
    );
    for (const name of ['registerTool', 'register_tool']) expect(registry.get(name)).toMatchObject({ checkFn: expect.any(Function) as () => boolean, maxResultChars: 9 });
    expect(host.commands()[0]?.handler('', inChat)).toBe(join(home, 'plugins', 'p'));
    expect(host.cliCommands()[0]?.handlerFn({})).toBe(5);
    const [verdict] = await hooks.fire('pre_tool_call', { session_id: 's', turn_id: 't', platform: 'cli', tool_name: 'x', args: {}, task_id: 's', tool_call_id: 'c' });
    expect(verdict?.failedClosed).toContain('failed: x');
  });

  test('keeps JSON across restarts, hands out copies, and refuses more than 10 MB', async () => {
    const home = homeWith(plugin('p', `
      const before = ctx.state.get('list') ?? [];
      ctx.registerCommand({name: 'before', handler: () => JSON.stringify(before)});
      ctx.state.set('list', [...before, 1]);
      ctx.state.get('list').push('not kept');
      ctx.state.set('gone', 1); ctx.state.set('gone', undefined); ctx.state.set('__proto__', {a: 1});
      try { ctx.state.set('big', 'x'.repeat(11e6)); } catch (error) { ctx.registerCommand({name: 'big', handler: () => error.message}); }`));
    await loadPlugins(home);
    const { host } = await loadPlugins(home);
    const says = Object.fromEntries(host.commands().map(({ name, handler }) => [name, handler('', inChat)]));
    expect(says).toEqual({ before: '[1]', big: expect.stringContaining('larger than 10 MB') as string });
    expect(readFileSync(join(home, 'cache', 'plugin-state', 'p.json'), 'utf8')).toBe('{"list":[1,1],"__proto__":{"a":1}}');
  });

  test('a damaged state file is put aside and said', async () => {
    const home = homeWith(plugin('p', `ctx.state.set('a', ctx.state.get('a') ?? 'new');`));
    writeFiles(home, { 'cache/plugin-state/p.json': '{"a": ' });
    const { logged } = await loadPlugins(home);
    expect(logged()).toContain('p.json.damaged');
    expect(readFileSync(join(home, 'cache', 'plugin-state', 'p.json'), 'utf8')).toBe('{"a":"new"}');
  });

  test('has settings from the configuration over the defaults of the manifest', async () => {
    const manifest = { 'plugin.yaml': 'name: p\nconfig_schema:\n  city: {default: Paris}\n  units: {default: metric}\n  key: {required: true, description: the key}' };
    const { host, logged } = await loadPlugins(homeWith(plugin('p', `ctx.registerCommand({name: 'show', handler: () => ctx.config.city + ' ' + ctx.config.units});`, manifest)), { pluginConfig: { p: { city: 'Rome' } } });
    expect(host.commands()[0]?.handler('', inChat)).toBe('Rome metric');
    expect(logged()).toContain('its setting key is not set (the key)');
  });

  test('calls tools and sends messages', async () => {
    const { host, sent } = await loadPlugins(homeWith(plugin('p', `${tool('inner')} ctx.registerCommand({name: 'go', handler: async () => { await ctx.sendMessage('telegram:5', 'hi'); return ctx.dispatchTool('inner', {}); }});`)));
    expect(await host.commands()[0]?.handler('', inChat)).toBe('{"ok":true}');
    expect(sent).toEqual(['telegram:5 hi']);
  });

  test('command names: lower case, no slash, hyphens for blanks; taken, empty and odd ones are left out', async () => {
    const names = ['/Say Hello', 'new', '', 'say-hello', 'ünicode'];
    const { host, logged } = await loadPlugins(homeWith(plugin('p', names.map((name) => `ctx.registerCommand({name: ${JSON.stringify(name)}, handler: () => ''});`).join('\n'))), { reservedCommands: ['new'] });
    expect(host.commands().map(({ name, plugin }) => `${plugin}: ${name}`)).toEqual(['p: say-hello']);
    expect(logged()).toContain('the command new is left out, because the gateway itself has it already');
    expect(logged()).toContain('the command say-hello is left out, because p has it already');
    expect(host.facts()[0]?.commands).toEqual(['say-hello']);
  });

  test("a memory provider's terminal commands appear only while it is the active one", async () => {
    const home = homeWith(plugin('mem', `class Provider { name = 'mem'; #text = 'secret place'; snapshot() { return this.#text } }
      ctx.registerMemoryProvider(new Provider()); ctx.registerCliCommand({name: 'mem', help: '', handlerFn: () => {}});`));
    const idle = await loadPlugins(home);
    expect(idle.host.cliCommands()).toEqual([]);
    const active = await loadPlugins(home, { memoryProvider: 'mem' });
    expect(active.host.cliCommands().map(({ name }) => name)).toEqual(['mem']);
    expect(active.host.memoryProviders()[0]?.snapshot()).toBe('secret place');
  });

  test('platforms of the manifest hold for its tools unless a tool says otherwise', async () => {
    const { registry } = await loadPlugins(homeWith(plugin('p', `${tool('here')} ctx.registerTool({name: 'there', platforms: ['slack'], schema: ${schema}, handler: () => '{}'});`, { 'plugin.yaml': 'name: p\nplatforms: [telegram]' })));
    expect([registry.get('here')?.platforms, registry.get('there')?.platforms]).toEqual([['telegram'], ['slack']]);
  });

  test('takes everything back when the host is disposed of, the newest first', async () => {
    const { host, registry, hooks } = await loadPlugins(homeWith(plugin('p', `${tool('t')} ctx.registerHook('pre_llm_call', () => 'x'); globalThis.disposed = [];
      ctx.track(() => globalThis.disposed.push(1)); ctx.track({dispose() { throw new Error('no') }}); ctx.track({dispose() { globalThis.disposed.push(2) }});`)));
    expect(registry.names()).toEqual(['t']);
    const exit = process.exit;
    await host.dispose();
    expect(registry.names()).toEqual([]);
    expect(hooks.has('pre_llm_call')).toBe(false);
    expect((globalThis as { disposed?: number[] }).disposed).toEqual([2, 1]);
    expect(process.exit).not.toBe(exit);
  });
});

describe('declared paths', () => {
  async function skillFrom(path: string, prepare: (dir: string) => void = () => {}) {
    const home = homeWith(plugin('p', `ctx.registerSkill({name: 's', path: ${JSON.stringify(path)}});`, { 'in/SKILL.md': '# Inside' }));
    writeFiles(home, { 'outside.md': '# Secret' });
    prepare(join(home, 'plugins', 'p'));
    const { host } = await loadPlugins(home);
    return host.facts()[0];
  }

  test.each([
    ['../../outside.md'], ['in/../../../outside.md'], ['/etc/passwd'], ['a\0b'], [''], ['missing.md'],
  ])('%j is refused', async (path) => {
    expect(await skillFrom(path)).toMatchObject({ state: 'failed', skills: [] });
  });

  test('links that lead out, hard links and pipes are refused', async () => {
    expect(await skillFrom('out.md', (dir) => symlinkSync('../../outside.md', join(dir, 'out.md')))).toMatchObject({ state: 'failed', reason: '"out.md" leads out of the plugin folder' });
    expect(await skillFrom('hard.md', (dir) => linkSync(join(dir, '../../outside.md'), join(dir, 'hard.md')))).toMatchObject({ state: 'failed', reason: expect.stringContaining('hard link') as string });
    expect(await skillFrom('pipe.md', (dir) => void execFileSync('mkfifo', [join(dir, 'pipe.md')]))).toMatchObject({ state: 'failed', reason: '"pipe.md" is neither a file nor a folder' });
  });

  test('links inside and a linked plugin folder are fine', async () => {
    expect(await skillFrom('link', (dir) => symlinkSync('in', join(dir, 'link')))).toMatchObject({ state: 'loaded', skills: ['s'] });
    const elsewhere = writeFiles(tempHome(), plugin('real', `ctx.registerSkill({name: 's', path: 'skill.md'});`, { 'skill.md': '# Linked' }));
    const home = tempHome();
    mkdirSync(join(home, 'plugins'));
    symlinkSync(join(elsewhere, 'real'), join(home, 'plugins', 'linked'));
    const { host } = await loadPlugins(home);
    expect(host.facts()).toMatchObject([{ name: 'real', state: 'loaded', skills: ['s'] }]);
  });

  test('an installed skill is copied into the home folder, updated, and never put over an edit', async () => {
    const home = homeWith(plugin('p', `ctx.installSkill('skill.md');`, { 'skill.md': 'first' }));
    const copy = join(home, 'skills', 'p', 'SKILL.md');
    const source = join(home, 'plugins', 'p', 'skill.md');
    await loadPlugins(home);
    expect(readFileSync(copy, 'utf8')).toBe('first');
    writeFileSync(source, 'second');
    await loadPlugins(home);
    expect(readFileSync(copy, 'utf8')).toBe('second');
    writeFileSync(copy, 'mine');
    writeFileSync(source, 'third');
    await loadPlugins(home);
    expect(readFileSync(copy, 'utf8')).toBe('mine');
  });
});

test('a plugin folder that cannot be listed stops nothing', async () => {
  const home = tempHome();
  writeFileSync(join(home, 'plugins'), 'a file');
  onTestFinished(() => rmSync(join(home, 'plugins')));
  const { host, logged } = await loadPlugins(home);
  expect(host.facts()).toEqual([]);
  expect(logged()).toContain('cannot be listed');
});
