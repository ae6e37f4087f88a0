import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { discoverTools } from '../../src/tools/discover.ts';
import { createRegistry } from '../../src/tools/registry.ts';
import { tempHome } from '../support/temp-home.ts';
import { builtins, contextOn, readableLog } from './kit.ts';

const web = { search: null, searxng_url: null, allow_cidrs: [] };

async function discovered(files: Record<string, string>, loadModule?: (path: string) => Promise<unknown>) {
  const home = tempHome();
  const dir = join(home, 'tools');
  mkdirSync(dir);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
  const { log, said } = readableLog();
  const registry = createRegistry({ log, home });
  const found = await discoverTools(registry, [join(home, 'nowhere'), dir], { home, workspace: home, env: {}, web, log }, loadModule);
  return { registry, said, home, names: found.names };
}

const plain = (name: string, answer = '{}') => `export default {name: '${name}', toolset: 'mine', schema: {name: '${name}', description: 'd', parameters: {type: 'object'}}, handler: () => '${answer}'}`;

test('the folder ships every built-in, and none of its files fails', async () => {
  const { names, said } = await builtins();
  expect(names).toEqual(['clarify', 'memory', 'patch', 'process', 'read_file', 'read_result', 'search_files', 'session_search', 'terminal', 'todo', 'web_extract', 'web_search', 'write_file']);
  expect(said('error')).toEqual([]);
});

test('the table of docs/tools.md is what the registry holds', async () => {
  const { registry, names } = await builtins();
  const text = readFileSync(new URL('../../docs/tools.md', import.meta.url), 'utf8');
  const rows = [...text.matchAll(/^\| `(\w+)` \| (\w+) \|[^|]*\| (the agent|its handler) \|$/gm)].map(([, name, toolset, by]) => ({ name, toolset, by }));
  expect(rows).toEqual(
    [...names].sort().map((name) => ({ name, toolset: registry.get(name)?.toolset, by: registry.get(name)?.agentRun ? 'the agent' : 'its handler' })),
  );
});

test('what a chat platform is offered stays small, since every request carries it', async () => {
  const { registry } = await builtins({ env: { BRAVE_API_KEY: 'k' } });
  const { definitions } = await registry.definitions(['clarify', 'memory', 'read_result', 'session_search', 'todo', 'web_extract', 'web_search']);
  expect(definitions).toHaveLength(7);
  expect(JSON.stringify(definitions).length).toBeLessThan(4_000);
});

test('files are taken in name order: a tool, a factory, CommonJS', async () => {
  const { registry, names, home } = await discovered({
    'b.mjs': plain('second'),
    'a.mjs': `export default (deps) => ({name: 'first', toolset: 'mine', schema: {name: 'first', description: 'd', parameters: {type: 'object'}}, handler: () => JSON.stringify(deps.home)})`,
    'c.cjs': plain('third').replace('export default', 'module.exports ='),
    'notes.md': '# no tool',
    'types.d.ts': 'export {}',
  });
  expect(names).toEqual(['first', 'second', 'third']);
  expect(await registry.dispatch('first', {}, contextOn('cli', home))).toBe(JSON.stringify(home));
});

test('files that fail are named and the others work', async () => {
  const { names, said } = await discovered({
    'a.mjs': 'throw new Error("no luck")',
    'b.mjs': 'export default 3',
    'c.mjs': 'export const tool = 1',
    'd.mjs': 'this is no JavaScript',
    'e.mjs': `export default () => { throw new Error('factory') }`,
    'f.mjs': plain('bad name'),
    'g.mjs': plain('good'),
  });
  expect(names).toEqual(['good']);
  const errors = said('error');
  expect(errors).toHaveLength(6);
  for (const letter of 'abcdef') expect(errors.some((line) => line.includes(`${letter}.mjs`))).toBe(true);
});

test('TypeScript goes through the loader that is handed in', async () => {
  const asked: string[] = [];
  const { names } = await discovered({ 'a.ts': 'enum Old { Syntax }' }, async (path) => {
    asked.push(path);
    return { default: { name: 'typed', toolset: 'mine', schema: { name: 'typed', description: 'd', parameters: {} }, handler: () => '{}' } };
  });
  expect(names).toEqual(['typed']);
  expect(asked[0]).toMatch(/a\.ts$/);
});
