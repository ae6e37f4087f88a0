/** `hermes doctor` of the built program: a home that is well, and each way in which one is not. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runProgram, startDaemon } from '../support/daemon.ts';
import { tempHome } from '../support/temp-home.ts';

async function doctor(home: string): Promise<{ code: number | null; lines: string[] }> {
  const { code, stdout } = await runProgram(['doctor'], { home });
  return { code, lines: stdout.trimEnd().split('\n') };
}

const plugin = (home: string, name: string, manifest = '') => {
  const dir = join(home, 'plugins', name);
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'plugin.yaml'), `name: ${name}\nversion: 1.0.0\n${manifest}`);
  writeFileSync(join(dir, 'index.js'), 'exports.register = () => {};\n');
};

test('a home that runs is well', async () => {
  const home = tempHome();
  plugin(home, 'fine');
  await startDaemon({ home, config: {} });
  chmodSync(join(home, 'config.yaml'), 0o600);
  const { code, lines } = await doctor(home);
  expect(lines.filter((line) => line.startsWith('✗'))).toEqual([]);
  expect(code).toBe(0);
  expect(lines).toEqual(expect.arrayContaining([expect.stringMatching(/^✓ Node\.js /), '✓ the database can be used', '✓ plugin fine', expect.stringMatching(/^✓ the daemon runs: .*http up/), expect.stringMatching(/^· telegram is off/)]));
});

test('what is wrong is named with its cure', async () => {
  const home = tempHome();
  plugin(home, 'needy', 'requires_env: [NEEDY_KEY]\n');
  writeFileSync(join(home, '.env'), 'A=b\n');
  chmodSync(join(home, '.env'), 0o644);
  const { code, lines } = await doctor(home);
  expect(code).toBe(1);
  expect(lines).toEqual(expect.arrayContaining([expect.stringMatching(/^✗ others on this machine may read .*\.env: chmod go-rwx /), expect.stringMatching(/^✗ plugin needy is off: .*NEEDY_KEY/), expect.stringMatching(/^· No daemon is running/)]));

  writeFileSync(join(home, 'config.yaml'), 'gatway: {}\n');
  expect((await doctor(home)).lines.join('\n')).toMatch(/✗ .*config\.yaml:1:1 gatway .*gateway/);
  writeFileSync(join(home, 'config.yaml'), '{}\n');
  writeFileSync(join(home, 'state.db'), 'These are my notes. '.repeat(500));
  expect((await doctor(home)).lines.join('\n')).toMatch(/✗ .*state\.db is damaged/);
});

test('a home that is not there yet is no fault', async () => {
  const home = join(tempHome(), 'new');
  expect(await doctor(home)).toMatchObject({ code: 0, lines: expect.arrayContaining([expect.stringContaining('the first start makes it')]) });
});
