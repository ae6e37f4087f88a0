/** `hermes skills ...` and `hermes memory ...` of the built program. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runProgram } from '../support/daemon.ts';
import { tempHome } from '../support/temp-home.ts';

test('skills are listed and shown; one that is not there is said', async () => {
  const home = tempHome();
  const hermes = (...args: string[]) => runProgram(['skills', ...args], { home });
  expect((await hermes('list')).stdout).toMatch(/^No skills yet/);
  mkdirSync(join(home, 'skills', 'tea'), { recursive: true });
  writeFileSync(join(home, 'skills', 'tea', 'SKILL.md'), '---\nname: tea\ndescription: How tea is made\n---\nBoil water first.\n');
  expect((await hermes('list')).stdout).toMatch(/^tea +home +How tea is made$/m);
  expect((await hermes('show', 'tea')).stdout.trim()).toBe('Boil water first.');
  const { code, stderr } = await hermes('show', 'coffee');
  expect([code, stderr.trim()]).toEqual([1, expect.stringContaining('There is no skill coffee')]);
});

test('memory is shown, and edited by the editor that is set', async () => {
  const home = tempHome();
  const hermes = (args: string[], env = {}) => runProgram(['memory', ...args], { home, env });
  expect((await hermes(['show'])).stdout).toBe('Nothing is kept yet.\n');
  const editor = join(home, 'editor.sh');
  writeFileSync(editor, '#!/bin/sh\necho "likes $1" > "$2"\n', { mode: 0o755 });
  expect(await hermes(['edit'], { EDITOR: `${editor} tea` })).toMatchObject({ code: 0 });
  expect(await hermes(['edit', 'user'], { EDITOR: `${editor} rain` })).toMatchObject({ code: 0 });
  const { stdout } = await hermes(['show']);
  expect(stdout).toContain('likes tea');
  expect(stdout).toContain('likes rain');
  expect((await hermes(['edit', 'elsewhere'])).code).toBe(2);
  expect((await hermes(['edit'], { EDITOR: 'false' })).stderr).toContain('Set EDITOR');
});
