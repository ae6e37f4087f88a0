/** The doctor: what would load, and every common mistake with its cure. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { inspectPlugin, toDoctorLines } from '../../src/plugins/doctor.ts';
import { tempHome } from '../support/temp-home.ts';
import { examples, projectRoot, writeFiles, type Files } from './plugin-home.ts';

const options = { gatewayRoot: projectRoot, env: {} };

async function examine(files: Files): Promise<string> {
  const dir = join(writeFiles(tempHome(), Object.fromEntries(Object.entries(files).map(([path, text]) => [`sick/${path}`, text]))), 'sick');
  return toDoctorLines(await inspectPlugin(dir, options)).join('\n');
}

test.each(['calculator', 'memory-recall', 'guardrails'])('has nothing to complain about in %s', async (name) => {
  const report = await inspectPlugin(join(examples, name), options);
  expect(report.findings).toEqual([]);
  expect(toDoctorLines(report).at(-1)).toBe('  ✓ nothing to complain about');
});

test('shows what a plugin without its key would bring', async () => {
  const report = await inspectPlugin(join(examples, 'weather'), { ...options, callTools: false });
  expect(toDoctorLines(report)).toEqual(['weather v1.0.0 - loads', '  tools: get_weather', '  · not set here, so the plugin would be disabled: WEATHER_API_KEY', '  ✓ nothing to complain about']);
});

test('names the mistakes of tools', async () => {
  const tool = (name: string, handler: string, schema = `{description: 'Does a useful thing', parameters: {type: 'object', properties: {n: {type: 'integer'}}, required: ['n']}}`) =>
    `ctx.registerTool({name: '${name}', schema: ${schema}, handler: ${handler}});`;
  const said = await examine({
    'plugin.yaml': 'name: sick\nversion: 1.0.0\ndescription: d\nprovides_tools: [absent, object]\nprovides_hooks: []',
    'index.js': `
export function register(ctx) {
  ${tool('object', '() => ({ a: 1 })')}
  ${tool('thrower', '({ n }) => { throw new Error("bad " + n) }')}
  ${tool('text', '() => "hello"')}
  ${tool('nothing', 'async () => {}')}
  ${tool('vague', '() => "{}"', `{description: 'Tool', parameters: {type: 'object', properties: {}, required: ['x']}}`)}
  ${tool('danger', '() => { throw new Error("was called") }').replace('handler:', 'needsApproval: () => "asks", handler:')}
  ctx.registerTool({name: 'lazy', schema: {description: 'Pads on the left'}, handler: async () => (await import('left-pad')).default('x')});
  ctx.registerHook('pre_tool_cal', () => {});
  ctx.registerHook('post_tool_call', () => {});
}`,
  });
  for (const line of [
    'sick v1.0.0 - loads',
    '! plugin.yaml declares absent in provides_tools, but it is not registered; register it or take it out',
    '! text is registered, but provides_tools of plugin.yaml lacks it; add it',
    '! post_tool_call is registered, but provides_hooks of plugin.yaml lacks it; add it',
    'did you mean pre_tool_call?',
    '! tool object: the handler, called with {"n":1}, returns object and no string; return JSON.stringify(...)',
    '! tool thrower: the handler, called with {"n":1}, throws "bad 1"; catch it and return JSON.stringify({error: "..."})',
    '! tool text: the handler, called with {"n":1}, returns a text that is no JSON',
    '! tool nothing: the handler, called with {"n":1}, returns undefined and no string',
    '! tool vague: the description "Tool" is too vague',
    '! tool vague: the required argument x is not described; add it to properties',
    '· tool danger asks for approval and was not called',
    '✗ npm packages are missing: left-pad; install them with: npm install --prefix',
  ])
    expect(said).toContain(line);
});

test.each<[string, Files, string]>([
  ['no manifest', { 'index.js': '' }, 'no plugin.yaml or plugin.json in'],
  ['a manifest that is no YAML', { 'plugin.yaml': 'name: [' }, 'plugin.yaml: '],
  ['a Python plugin', { 'plugin.yaml': 'name: sick', '__init__.py': '' }, 'it is a Python plugin'],
  ['no schema', { 'plugin.yaml': 'name: sick', 'index.js': `export const register = (ctx) => ctx.registerTool({name: 'x', handler: () => ''});` }, 'it does not load: tool x has no schema; give {name, description, parameters}'],
  ['a missing package', { 'plugin.yaml': 'name: sick', 'index.js': `import 'left-pad'; export const register = () => {};` }, 'it does not load: needs the npm package left-pad; install it with'],
  ['no version', { 'plugin.yaml': 'name: sick', 'index.js': 'export const register = () => {};' }, 'plugin.yaml has no version'],
  ['a bare plugin.json', { 'plugin.json': '{"name": "sick"}' }, 'plugin.json lists no skills'],
  ['a file that is not there', { 'plugin.json': '{"name": "sick", "tools": ["tools/x.js"]}' }, 'tools/x.js is left out: tools/x.js is not in the plugin folder'],
])('says what to do about %s', async (_, files, line) => {
  expect(await examine(files)).toContain(line);
});

test('a folder that is not there is a finding, not a crash', async () => {
  const { findings } = await inspectPlugin('/no/such/folder', options);
  expect(findings).toEqual([{ level: 'error', text: expect.stringContaining('/no/such/folder cannot be read') as string }]);
});
