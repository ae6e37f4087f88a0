/** Both manifest forms, read into one type. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { blankComments, readManifest, type Manifest } from '../../src/plugins/manifest.ts';
import { tempHome } from '../support/temp-home.ts';
import { writeFiles } from './plugin-home.ts';

function read(file: 'plugin.yaml' | 'plugin.yml' | 'plugin.json', text: string): Manifest {
  return readManifest(writeFiles(tempHome(), { [file]: text }), file);
}

describe('plugin.yaml', () => {
  test('with everything in it', () => {
    const manifest = read('plugin.yaml', `
name: weather
version: 1.10
description: Says the weather
author: Ann
provides_tools: [get_weather]
provides_hooks: [post_tool_call]
platforms: [telegram]
requires_env:
  - HOME_CITY
  - name: WEATHER_API_KEY
    description: key
    url: https://example.org
    secret: true
config_schema:
  units: {type: string, default: metric, description: which units}
  city: {type: string, required: true}
something_of_the_future: {a: [1]}
`);
    expect(manifest).toMatchObject({
      form: 'code', name: 'weather', version: '1.10', description: 'Says the weather', author: 'Ann', platforms: ['telegram'],
      provides: { tools: ['get_weather'], hooks: ['post_tool_call'] },
      requiresEnv: [{ name: 'HOME_CITY', secret: false }, { name: 'WEATHER_API_KEY', description: 'key', url: 'https://example.org', secret: true }],
      configSchema: { units: { default: 'metric', required: false, description: 'which units' }, city: { required: true } },
    });
  });

  test('with a name alone', () => {
    expect(read('plugin.yml', 'name: tiny')).toMatchObject({ name: 'tiny', version: '0.0.0', requiresEnv: [], platforms: null, provides: { tools: null, hooks: null } });
  });

  test('a list of operating systems is no list of chat platforms', () => {
    expect(read('plugin.yaml', 'name: p\nplatforms: [linux, macos]').platforms).toBeNull();
  });

  test.each([
    ['', 'holds no keys'],
    ['- a\n- b', 'holds no keys'],
    ['version: 1.0.0', 'name'],
    ['name: ../escape', 'name "../escape" must be'],
    ['name: [a]', 'must be'],
    ['name: a\nb: [', 'line 2, column 5'],
  ])('%j is refused with a reason', (text, reason) => {
    expect(() => read('plugin.yaml', text)).toThrow(reason);
  });

  test('wrong types of known keys, and unknown keys, never break it', () => {
    const key = fc.constantFrom('version', 'description', 'author', 'provides_tools', 'provides_hooks', 'requires_env', 'platforms', 'config_schema', 'dependencies', 'main', 'tools', 'x');
    fc.assert(
      fc.property(fc.dictionary(key, fc.jsonValue({ maxDepth: 3 })), (rest) => {
        expect(read('plugin.json', JSON.stringify({ ...rest, name: 'p' })).name).toBe('p');
      }),
      { numRuns: 60 },
    );
  });
});

describe('plugin.json', () => {
  test('with comments, tabs and trailing commas', () => {
    const manifest = read('plugin.json', `\uFEFF// a plugin
{
\t"name": "notes", /* its
\tname */
\t"version": "2.0.0",
\t"description": "see https://example.org // not a comment",
\t"dependencies": {"left-pad": "^1.0.0"},
\t"main": "./main.js",
\t"tools": ["tools/a.js"], "hooks": ["hooks/on_user_joined.js"], "skills": ["skills/a.md"], "data": ["data/a.csv"],
}`);
    expect(manifest).toMatchObject({
      form: 'declared', name: 'notes', version: '2.0.0', description: 'see https://example.org // not a comment', dependencies: { 'left-pad': '^1.0.0' }, main: './main.js',
      tools: ['tools/a.js'], hooks: ['hooks/on_user_joined.js'], skills: ['skills/a.md'], data: ['data/a.csv'],
    });
  });

  test('a fault is named with its line', () => {
    expect(() => read('plugin.json', '{\n"name": "p",\n"tools": [}\n')).toThrow(/plugin\.json: .*line 3/);
  });

  test('blanking comments keeps every JSON text as it is', () => {
    fc.assert(fc.property(fc.json(), (json) => blankComments(json) === json));
  });
});
