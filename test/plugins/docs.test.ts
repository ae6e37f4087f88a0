/** docs/hooks.md is held equal to the hook table, and every file shown in docs/plugins.md is loaded and used. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import type { CommandContext } from '../../src/contract/plugin.ts';
import { hookTable } from '../../src/contract/plugin.ts';
import { toPluginLines } from '../../src/lib/plugin-lines.ts';
import { homeWith, loadPlugins, projectRoot } from './plugin-home.ts';

const hooksPage = readFileSync(join(projectRoot, 'docs', 'hooks.md'), 'utf8');
const pluginsPage = readFileSync(join(projectRoot, 'docs', 'plugins.md'), 'utf8');
const inChat: CommandContext = { platform: 'telegram', session_id: 's1', sender: { id: '7', name: 'Ann' }, chat: { id: '7', type: 'dm', thread: null } };
const received = { session_id: 's1', turn_id: 't1', platform: 'telegram', message: '!greetings', sender: { id: '7', name: 'Ann' }, chat: { id: '7', type: 'dm', thread: null } };

/** Files are shown as a line with the path in bold, then the text as a code block. */
function shownFiles(page: string): Record<string, string> {
  return Object.fromEntries([...page.matchAll(/^\*\*`([^`]+)`\*\*\n```\w+\n([\s\S]*?)^```$/gm)].map(([, path = '', text = '']) => [path, text]));
}

test('hooks.md has the table as it is in the code', () => {
  const rows = Object.entries(hookTable).map(([name, { when, keys, returns, limit }]) => `| \`${name}\` | ${when} | ${keys.map((key) => `\`${key}\``).join(', ') || '–'} | ${returns} | ${limit} |`);
  expect(hooksPage.split('\n').filter((line) => line.startsWith('| `'))).toEqual(rows);
});

test('plugins.md names every member of ctx', async () => {
  const { host } = await loadPlugins(homeWith({ 'p/plugin.yaml': 'name: p', 'p/index.js': `export const register = (ctx) => ctx.registerCommand({name: 'keys', handler: () => Object.keys(ctx)});` }));
  const table = pluginsPage.slice(pluginsPage.indexOf('| ctx | |'), pluginsPage.indexOf('Everything is staged'));
  const named = [...table.matchAll(/^\| (.+?) \|/gm)].flatMap(([, cell = '']) => [...cell.matchAll(/`(\w+)[^`]*`/g)].map(([, name]) => name));
  const members = host.commands()[0]?.handler('', inChat) as string[];
  expect(named.sort()).toEqual([...members].sort());
});

test('plugins.md links only to what is there', () => {
  for (const page of [pluginsPage, hooksPage])
    for (const [, target = ''] of page.matchAll(/\]\(([^)#]+)\)/g)) expect(existsSync(join(projectRoot, 'docs', target)), target).toBe(true);
});

test('the plugins of plugins.md work as they are shown', async () => {
  const { host, hooks, runTool, sent, logged } = await loadPlugins(homeWith(shownFiles(pluginsPage)));
  expect(logged()).not.toMatch(/"level":"(warn|error)"/);
  expect(toPluginLines(host.facts())).toEqual(['Plugins (3):', '  ✓ dice v1.0.0 (1 tools)', '  ✓ greeter v1.0.0 (1 tools, 1 hooks)', '  ✓ tally v1.0.0 (1 hooks)']);

  expect(await runTool('roll_dice', { sides: 2 })).toEqual({ rolled: expect.toSatisfy((rolled: number) => rolled === 1 || rolled === 2) as number });
  expect((await runTool('roll_dice', { sides: 1 })).error).toEqual(expect.any(String));

  await hooks.fire('post_tool_call', { session_id: 's', turn_id: 't', platform: 'cli', tool_name: 'x', args: {}, task_id: 's', tool_call_id: 'c', result: '{}', duration_ms: 1, status: 'ok' });
  expect(host.commands().find(({ name }) => name === 'tally')?.handler('', inChat)).toBe('Tool calls: 1');
  const print = vi.spyOn(console, 'log').mockImplementation(() => {});
  host.cliCommands()[0]?.handlerFn({});
  expect(print.mock.calls).toEqual([['Tool calls: 1']]);
  print.mockRestore();

  expect(await runTool('greet', { person: 'Ann', language: 'fr' })).toEqual({ text: 'Bonjour, Ann!' });
  expect(await runTool('greet', { person: 'Ann', language: 'xx' })).toEqual({ error: 'no greeting in xx' });
  expect(await hooks.fire('on_message_received', received)).toEqual([{ plugin: 'greeter', value: { handled: true } }]);
  expect(sent).toEqual(['telegram:7 Ann, I can greet in en, fr.']);
  expect(host.skills().map(({ plugin, name }) => `${plugin}:${name}`)).toEqual(['greeter:greeting']);
});
