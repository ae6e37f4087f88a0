/** The lines of /plugins and `hermes plugins list`. */
import { expect, it } from 'vitest';
import { toPluginLines } from '../../src/lib/plugin-lines.ts';
import type { PluginFacts } from '../../src/contract/plugin.ts';

const plugin: PluginFacts = { name: 'p', version: '1.0.0', description: '', state: 'loaded', reason: null, tools: [], hooks: [], commands: [], skills: [], dir: '/p' };

it.each<[Partial<PluginFacts>, string]>([
  [{ tools: ['a', 'b'], hooks: ['h'] }, '  ✓ p v1.0.0 (2 tools, 1 hooks)'],
  [{ hooks: ['h'] }, '  ✓ p v1.0.0 (1 hooks)'],
  [{ tools: ['a'] }, '  ✓ p v1.0.0 (1 tools)'],
  [{ skills: ['s'] }, '  ✓ p v1.0.0'],
  [{ version: '' }, '  ✓ p'],
  [{ state: 'disabled', reason: 'missing: WEATHER_API_KEY', tools: ['a'] }, '  ✗ p v1.0.0 - disabled (missing: WEATHER_API_KEY)'],
  [{ state: 'failed', reason: 'register threw' }, '  ✗ p v1.0.0 - disabled (register threw)'],
  [{ state: 'disabled' }, '  ✗ p v1.0.0 - disabled'],
])('%o is one line', (facts, line) => {
  expect(toPluginLines([{ ...plugin, ...facts }])).toEqual(['Plugins (1):', line]);
});

it('no plugins are told too', () => {
  expect(toPluginLines([])).toEqual(['Plugins (0):']);
});
