/** The tarball that `npm pack` makes holds everything that the program needs to run somewhere else. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { tempHome } from './support/temp-home.ts';

const root = resolve(import.meta.dirname, '..');

test('the packed program answers from an empty folder', () => {
  const folder = tempHome();
  const home = tempHome();
  const packed = JSON.parse(execFileSync('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder], { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })) as { filename: string; files: { path: string }[] }[];
  const [tarball] = packed;
  expect(tarball?.files.map(({ path }) => path).filter((path) => /^(test|node_modules|\.env)/.test(path))).toEqual([]);
  execFileSync('tar', ['-xzf', join(folder, tarball?.filename ?? ''), '-C', folder]);
  // The dependencies that npm would install; installing them anew compiles for minutes.
  symlinkSync(join(root, 'node_modules'), join(folder, 'package', 'node_modules'));
  mkdirSync(join(folder, 'elsewhere'));
  const { status, stdout } = spawnSync(process.execPath, [join(folder, 'package', 'dist', 'hermes.js'), 'chat', '-q', 'calculate 6*7', '--plugin', join(folder, 'package', 'examples', 'plugins', 'calculator')], {
    cwd: join(folder, 'elsewhere'),
    env: { PATH: process.env['PATH'] ?? '', HOME: home, HERMES_HOME: home },
    encoding: 'utf8',
  });
  expect(status).toBe(0);
  expect(stdout).toContain('42');
}, 60_000);
