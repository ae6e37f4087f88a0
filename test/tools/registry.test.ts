import { describe, expect, test } from 'vitest';
import { HermesError } from '../../src/contract/errors.ts';
import type { Tool } from '../../src/contract/tool.ts';
import { createRegistry } from '../../src/tools/registry.ts';
import { tempHome } from '../support/temp-home.ts';
import { readableLog } from './kit.ts';

function tool(name: string, more: Partial<Tool> = {}): Tool {
  return { name, toolset: 'set', schema: { name, description: 'does something', parameters: { type: 'object', properties: {} } }, handler: () => '{}', ...more };
}

function registryAt(now: () => number = () => 0, env: Record<string, string | undefined> = {}) {
  const { log, said } = readableLog();
  return { registry: createRegistry({ log, home: tempHome(), now, env }), said };
}

describe('registering', () => {
  test('the same name in the same toolset replaces', () => {
    const { registry } = registryAt();
    const second = tool('dice');
    expect(registry.register(tool('dice'), 'a.ts')).toBe(true);
    expect(registry.register(second, 'b.ts')).toBe(true);
    expect(registry.get('dice')).toBe(second);
  });

  test('the same name in another toolset is refused; both owners are named and the first stays', () => {
    const { registry, said } = registryAt();
    const first = tool('dice');
    registry.register(first, 'plugin games');
    expect(registry.register(tool('dice', { toolset: 'casino' }), 'plugin casino')).toBe(false);
    expect(registry.get('dice')).toBe(first);
    expect(said('error').join()).toMatch(/plugin casino.*plugin games/);
  });

  test('only the owner can take a tool away', () => {
    const { registry } = registryAt();
    registry.register(tool('dice'), 'games');
    registry.unregister('dice', 'somebody');
    expect(registry.names()).toEqual(['dice']);
    registry.unregister('dice', 'games');
    expect(registry.names()).toEqual([]);
  });

  test.each([
    ['no object', null, /no object/],
    ['a name with spaces', tool('a b'), /name must be/],
    ['no toolset', tool('x', { toolset: '' }), /toolset/],
    ['no handler', { ...tool('x'), handler: 'run' }, /handler must be a function/],
    ['parameters that are a list', { ...tool('x'), schema: { name: 'x', description: '', parameters: [] } }, /parameters must be a JSON Schema object/],
    ['parameters of another type', { ...tool('x'), schema: { name: 'x', description: '', parameters: { type: 'array' } } }, /type must be "object"/],
    ['no description', { ...tool('x'), schema: { name: 'x' } }, /description/],
    ['a list of environment names that is none', { ...tool('x'), requiresEnv: 'KEY' }, /requiresEnv/],
    ['a time limit below zero', tool('x', { timeoutMs: -1 }), /timeoutMs/],
  ])('%s is TOOL_INVALID, naming the owner and the cure', (_, broken, message) => {
    const { registry } = registryAt();
    const register = () => registry.register(broken as Tool, 'broken.ts');
    expect(register).toThrow(HermesError);
    expect(register).toThrow(message);
    expect(register).toThrow(/broken\.ts/);
  });
});

describe('definitions', () => {
  test('are sorted, carry the registered name and always an object schema', async () => {
    const { registry } = registryAt();
    registry.register(tool('zebra'), 'z');
    registry.register({ ...tool('ant'), schema: { name: 'other', description: 'd' } } as unknown as Tool, 'a');
    const { definitions, absent } = await registry.definitions(['zebra', 'ant', 'ghost']);
    expect(definitions.map(({ name }) => name)).toEqual(['ant', 'zebra']);
    expect(definitions[0]?.parameters).toEqual({ type: 'object', properties: {} });
    expect(absent).toEqual([{ name: 'ghost', reason: 'not installed' }]);
  });

  test('leave out a tool whose variable is not set, whose check says no or throws', async () => {
    const { registry, said } = registryAt(() => 0, { SET: 'x', EMPTY: '' });
    registry.register(tool('keyed', { requiresEnv: ['SET', 'EMPTY', 'UNSET'] }), 'f');
    registry.register(tool('no', { checkFn: () => false }), 'f');
    registry.register(tool('throws', { checkFn: () => Promise.reject(new Error('down')) }), 'f');
    registry.register(tool('yes', { checkFn: async () => true, requiresEnv: ['SET'] }), 'f');
    const { definitions, absent } = await registry.definitions(registry.names());
    expect(definitions.map(({ name }) => name)).toEqual(['yes']);
    expect(absent).toEqual([
      { name: 'keyed', reason: 'missing: EMPTY, UNSET' },
      { name: 'no', reason: 'not available now (its check says no)' },
      { name: 'throws', reason: 'not available now (its check failed: Error: down)' },
    ]);
    expect([...said('warn'), ...said('error')]).toEqual([]);
  });

  test('ask a check function once per pass, and again only after 30 s', async () => {
    let now = 0;
    let asked = 0;
    const { registry } = registryAt(() => now);
    const checkFn = () => ++asked > 0;
    registry.register(tool('a', { checkFn }), 'f');
    registry.register(tool('b', { checkFn }), 'f');
    await registry.definitions(['a', 'b']);
    expect(asked).toBe(1);
    now = 29_999;
    await registry.definitions(['a', 'b']);
    expect(asked).toBe(1);
    now = 30_000;
    await registry.definitions(['a', 'b']);
    expect(asked).toBe(2);
  });

  test('keep a tool through a failure within 60 s of a success, and no longer', async () => {
    let now = 0;
    let up = true;
    const { registry } = registryAt(() => now);
    registry.register(tool('a', { checkFn: () => up }), 'f');
    const offered = async () => (await registry.definitions(['a'])).definitions.length;
    expect(await offered()).toBe(1);
    up = false;
    now = 59_999;
    expect(await offered()).toBe(1);
    now = 60_000;
    expect(await offered()).toBe(0);
    up = true;
    now = 89_999;
    expect(await offered()).toBe(0);
    now = 90_000;
    expect(await offered()).toBe(1);
  });
});
