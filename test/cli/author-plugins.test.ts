/** What authors of plugins type; a created plugin passes its own test and the doctor, by the built program. */
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { PluginFacts } from '../../src/contract/plugin.ts';
import { writeFiles } from '../plugins/plugin-home.ts';
import { examples, runProgram } from '../support/daemon.ts';
import { tempHome } from '../support/temp-home.ts';
import { createTerminal } from './support.ts';

const facts = (dir: string): PluginFacts => ({ name: dir, version: '', description: '', state: 'loaded', reason: null, tools: [], hooks: [], commands: [], skills: [], dir });

it('doctor looks at the folder that is named, else at every plugin of the home, and fails when one is not sound', async () => {
  const terminal = createTerminal({ plugins: [facts('/p/a'), facts('/p/b')], examine: (dir) => ({ lines: [`about ${dir}`], isSound: dir !== '/p/a' }) });
  expect(await terminal.hermes('plugins doctor ./mine --no-call')).toMatchObject({ code: 0, out: 'about ./mine\n' });
  expect(terminal.asked).toEqual([{ examine: './mine', callTools: false }]);
  expect(await terminal.hermes('plugins doctor')).toMatchObject({ code: 1, out: 'about /p/a\nabout /p/b\n', opened: 0 });
  expect(terminal.asked.slice(1)).toEqual([{ examine: '/p/a', callTools: true }, { examine: '/p/b', callTools: true }]);
  expect((await createTerminal().hermes('plugins doctor')).out).toContain('no plugins');
});

it.each(['Dice', '../dice', '', 'a b', '-x'])('create refuses the name %j', async (name) => {
  expect((await createTerminal().hermes(['plugins', 'create', '--', name])).code).toBe(2);
});

it('create writes a plugin into the home that passes its own test, is loaded, and never over one that is there', async () => {
  const home = tempHome();
  const made = await runProgram(['plugins', 'create', 'my-dice'], { home });
  const folder = join(home, 'plugins', 'my-dice');
  expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining(`Made ${folder}.`) as string });
  expect(readdirSync(folder).sort()).toEqual(['index.mjs', 'index.test.mjs', 'plugin.yaml']);
  expect(execFileSync(process.execPath, ['--test', join(folder, 'index.test.mjs')], { encoding: 'utf8' })).toMatch(/pass 2\n[^]*fail 0/);
  expect(await runProgram(['plugins', 'doctor'], { home })).toMatchObject({ code: 0, stdout: 'my-dice v1.0.0 - loads\n  tools: my_dice_count_words\n  ✓ nothing to complain about\n' });
  expect(await runProgram(['plugins', 'create', 'my-dice'], { home })).toMatchObject({ code: 1, stderr: expect.stringContaining('is there already') as string });
});

it('create --dir makes it elsewhere', async () => {
  const dir = tempHome();
  expect((await createTerminal().hermes(['plugins', 'create', 'dice', '--dir', dir])).out).toContain(`hermes chat --plugin ${join(dir, 'dice')}`);
  expect(readdirSync(join(dir, 'dice'))).toHaveLength(3);
});

it('doctor says what is wrong with a real plugin, and knows the keys of the home', async () => {
  const home = tempHome();
  writeFiles(home, { 'bad/plugin.yaml': 'name: bad', 'bad/index.js': 'export const register = () => { throw new Error("no luck"); };', '.env': 'WEATHER_API_KEY=x\n' });
  expect(await runProgram(['plugins', 'doctor', join(home, 'bad')], { home })).toMatchObject({ code: 1, stdout: expect.stringContaining('✗ it does not load: no luck') as string });
  const weather = await runProgram(['plugins', 'doctor', join(examples, 'weather'), '--no-call'], { home });
  expect(weather).toMatchObject({ code: 0, stdout: 'weather v1.0.0 - loads\n  tools: get_weather\n  ✓ nothing to complain about\n' });
});
