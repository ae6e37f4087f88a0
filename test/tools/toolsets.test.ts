import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { HermesError } from '../../src/contract/errors.ts';
import type { Tool } from '../../src/contract/tool.ts';
import { createSkills } from '../../src/skills/skills.ts';
import { createSkillTools } from '../../src/skills/tools.ts';
import { loadToolsets } from '../../src/tools/load-toolsets.ts';
import { createRegistry } from '../../src/tools/registry.ts';
import { createToolsets, refusal, type PlatformChoice } from '../../src/tools/toolsets.ts';
import { tempHome } from '../support/temp-home.ts';
import { builtins, readableLog } from './kit.ts';

const file = readFileSync(new URL('../../config/toolsets.yaml', import.meta.url), 'utf8');
const nothing: PlatformChoice = { platformToolsets: {}, disabled: [], pluginToolsets: [] };

const core = ['clarify', 'memory', 'read_result', 'session_search', 'skill_view', 'skills_list', 'todo', 'web_extract', 'web_search'];
const forOwners = ['patch', 'process', 'read_file', 'search_files', 'terminal', 'write_file'];

async function shipped() {
  const { registry, home } = await builtins();
  const { log, said } = readableLog();
  for (const tool of createSkillTools(createSkills({ home, paths: [], pluginSkills: () => [], log }))) registry.register(tool, 'skills');
  return { registry, said, toolsets: createToolsets({ definitions: loadToolsets(file), registry, log }) };
}

function small(yaml: string, tools: [name: string, toolset: string, platforms?: string[]][] = []) {
  const { log, said } = readableLog();
  const registry = createRegistry({ log, home: tempHome() });
  for (const [name, toolset, platforms] of tools) {
    const tool: Tool = { name, toolset, schema: { name, description: 'd', parameters: {} }, handler: () => '{}', ...(platforms ? { platforms } : {}) };
    registry.register(tool, 'test');
  }
  return { said, toolsets: createToolsets({ definitions: loadToolsets(yaml), registry, log }) };
}

describe('the toolsets as they ship', () => {
  test.each([
    ['cli', [...core, ...forOwners].sort()],
    ['telegram', core],
    ['discord', core],
    ['slack', core],
    ['http', core],
    ['cron', core],
    ['webhook', core],
    ['a platform that a plugin brought', core],
  ])('%s has exactly its tools', async (platform, expected) => {
    const { toolsets } = await shipped();
    expect(toolsets.toolsForPlatform(platform, nothing).names).toEqual(expected);
  });

  test('every tool of the file is registered and every registered tool is in the file', async () => {
    const { registry, toolsets } = await shipped();
    const named = new Set([...loadToolsets(file).values()].flatMap(({ tools }) => tools));
    expect([...named].sort()).toEqual(registry.names());
    expect(toolsets.resolveToolset('all')).toEqual(registry.names());
    expect(toolsets.resolveToolset('*')).toEqual(registry.names());
  });

  test('every tool says itself which set of the file it belongs to', async () => {
    const { registry } = await shipped();
    const definitions = loadToolsets(file);
    for (const name of registry.names()) expect(definitions.get(registry.get(name)?.toolset ?? '')?.tools).toContain(name);
  });

  test('what each absent tool lacks is said', async () => {
    const { toolsets } = await shipped();
    const { absent } = toolsets.toolsForPlatform('telegram', { ...nothing, disabled: ['memory'], platformToolsets: { telegram: ['telegram', '!web'] } });
    expect(absent).toContainEqual({ name: 'terminal', toolset: 'terminal', reason: 'in no toolset of telegram' });
    expect(absent).toContainEqual({ name: 'memory', toolset: 'memory', reason: 'memory is in agent.disabled_toolsets' });
    expect(absent).toContainEqual({ name: 'web_extract', toolset: 'web', reason: 'left out by "!web" in platform_toolsets.telegram' });
    expect(absent.map(({ name }) => name)).toEqual([...forOwners, 'memory', 'web_extract', 'web_search'].sort());
  });

  test('A21 hermes-agent#33924 switching one platform\'s bundle off leaves the other platforms whole', async () => {
    const { toolsets } = await shipped();
    for (const bundle of ['slack', 'hermes-slack', 'cli', 'hermes-cli'])
      expect(toolsets.toolsForPlatform('telegram', { ...nothing, disabled: [bundle] }).names).toEqual(core);
    expect(toolsets.toolsForPlatform('cli', { ...nothing, disabled: ['cli'] }).names).toEqual(core);
  });

  test('disabled wins over an explicit list', async () => {
    const { toolsets } = await shipped();
    const choice = { ...nothing, platformToolsets: { telegram: ['telegram', 'terminal'] } };
    expect(toolsets.toolsForPlatform('telegram', choice).names).toContain('terminal');
    expect(toolsets.toolsForPlatform('telegram', { ...choice, disabled: ['terminal'] }).names).toEqual(core);
    expect(toolsets.toolsForPlatform('telegram', { ...nothing, disabled: ['core'] }).names).toEqual([]);
  });

  test('a list that only leaves out starts from the platform\'s own; an empty one gives nothing', async () => {
    const { toolsets } = await shipped();
    const of = (list: string[]) => toolsets.toolsForPlatform('http', { ...nothing, platformToolsets: { http: list } }).names;
    expect(of(['!web'])).toEqual(core.filter((name) => !name.startsWith('web_')));
    expect(of(['web'])).toEqual(['web_extract', 'web_search']);
    expect(of(['hermes-cli', '!terminal'])).toEqual([...core, 'patch', 'read_file', 'search_files', 'write_file'].sort());
    expect(of([])).toEqual([]);
  });

  test('an override is exactly what it names, and disabled still wins', async () => {
    const { toolsets } = await shipped();
    expect(toolsets.toolsForPlatform('cli', { ...nothing, override: ['web', 'todo'], disabled: ['web'] }).names).toEqual(['todo']);
  });
});

describe('the rules', () => {
  const yaml = `
core: {description: c, tools: [a]}
one: {description: c, tools: [b], includes: [two, core]}
two: {description: c, tools: [c], includes: [one]}
diamond: {description: c, includes: [one, two, core]}
constructor: {description: c, tools: [a]}
`;
  test('a cycle ends and a diamond is visited once', () => {
    const { toolsets } = small(yaml);
    expect(toolsets.resolveToolset('one')).toEqual(['a', 'b', 'c']);
    expect(toolsets.resolveToolset('two')).toEqual(['a', 'b', 'c']);
    expect(toolsets.resolveToolset('diamond')).toEqual(['a', 'b', 'c']);
  });

  test('names that every object has are no toolsets unless they are written down', () => {
    const { toolsets } = small(yaml);
    expect(toolsets.resolveToolset('toString')).toEqual([]);
    expect(toolsets.resolveToolset('constructor')).toEqual(['a']);
    expect(toolsets.toolsForPlatform('toString', nothing).names).toEqual([]);
  });

  test('an unknown toolset is a warning with the nearest name, once, and never a crash', () => {
    const { toolsets, said } = small(yaml);
    expect(toolsets.resolveToolset('dimond')).toEqual([]);
    toolsets.resolveToolset('dimond');
    expect(said('warn')).toEqual(['Unknown toolset "dimond" in the configuration gives no tools; the nearest name is diamond.']);
    expect(toolsets.problems(['one', '!dimond', 'all', 'hermes-one'])).toEqual(['Unknown toolset "dimond" in the configuration gives no tools; the nearest name is diamond.']);
  });

  test('a toolset that lives only in the registry is a toolset of its own', () => {
    const { toolsets } = small(yaml, [['roll', 'games']]);
    expect(toolsets.resolveToolset('games')).toEqual(['roll']);
    expect(toolsets.problems(['games'])).toEqual([]);
    expect(toolsets.toolsForPlatform('x', nothing).names).toEqual([]);
  });

  test('a plugin\'s toolset joins every platform, unless it is taken away', () => {
    const { toolsets } = small(yaml, [['a', 'core'], ['roll', 'games']]);
    const choice = { ...nothing, pluginToolsets: ['games'] };
    expect(toolsets.toolsForPlatform('x', choice).names).toEqual(['a', 'roll']);
    expect(toolsets.toolsForPlatform('y', { ...choice, platformToolsets: { y: ['core', '!games'] } }).names).toEqual(['a']);
    expect(toolsets.toolsForPlatform('y', { ...choice, disabled: ['games'] }).names).toEqual(['a']);
  });

  test('a plugin that adds to a toolset of the file brings its own tool and not the set', () => {
    const { toolsets } = small('core: {description: c}\nshell: {description: s, tools: [run]}', [['run', 'shell'], ['mine', 'shell']]);
    expect(toolsets.toolsForPlatform('chat', { ...nothing, pluginToolsets: ['shell'] }).names).toEqual(['mine']);
    expect(toolsets.resolveToolset('shell')).toEqual(['mine', 'run']);
  });

  test('a tool\'s own platforms are the last word', () => {
    const { toolsets } = small(yaml, [['a', 'core', ['desk']]]);
    expect(toolsets.toolsForPlatform('chat', nothing)).toEqual({ names: [], absent: [{ name: 'a', toolset: 'core', reason: 'made for desk only' }] });
    expect(toolsets.toolsForPlatform('desk', nothing).names).toEqual(['a']);
  });

  test('a tool of the file that nobody brought is absent by name', () => {
    const { toolsets } = small(yaml);
    expect(toolsets.toolsForPlatform('x', nothing)).toEqual({ names: [], absent: [{ name: 'a', toolset: '', reason: 'not installed' }] });
  });

  test('the refusal has one text', () => {
    expect(refusal('telegram', 'terminal')).toBe('{"error":"Tool not available on telegram: terminal"}');
  });
});

describe('reading the file', () => {
  test('all problems are said together', () => {
    const load = () => loadToolsets('a: {tools: [x]}\nb: {description: d, tools: x}\nc: {description: d, tool: [x]}\nd: {description: d}');
    expect(load).toThrow(HermesError);
    expect(load).toThrow(/a: needs a description[^]*b: needs[^]*c\.tool: unknown key/);
  });

  test.each(['', '- a', 'a: [', '3'])('%j is refused', (text) => {
    expect(() => loadToolsets(text)).toThrow(HermesError);
  });
});
