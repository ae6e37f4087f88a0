/** Skills: found under the home folder, in configured folders and in plugins; read when they are asked for. */
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { silentLog } from '../../src/lib/log.ts';
import { readFrontMatter } from '../../src/skills/front-matter.ts';
import { installSkill } from '../../src/skills/install-skill.ts';
import { createSkills, type PluginSkillRef } from '../../src/skills/skills.ts';
import { createSkillTools } from '../../src/skills/tools.ts';
import { createRegistry } from '../../src/tools/registry.ts';
import { writeFiles, type Files } from '../plugins/plugin-home.ts';
import { tempHome } from '../support/temp-home.ts';

function start(files: Files, paths: string[] = [], plugin: PluginSkillRef[] = []) {
  const home = tempHome();
  writeFiles(home, files);
  const skills = createSkills({ home, paths, pluginSkills: () => plugin, log: silentLog });
  const registry = createRegistry({ log: silentLog, home });
  for (const tool of createSkillTools(skills)) registry.register(tool, 'skills');
  const context = { task_id: 's', session_id: 's', turn_id: 't', tool_call_id: 'c', platform: 'cli', signal: new AbortController().signal, log: silentLog, home };
  return { home, skills, run: async (name: string, args: Record<string, unknown>) => JSON.parse(await registry.dispatch(name, args, context)) as Record<string, unknown> };
}

const greet = '---\nname: greet\ndescription: How to greet\n  people\n---\n\n# Greeting\n\nSay hello.';

describe('the index', () => {
  test('has name and description, sorted, from every place; the home folder wins', () => {
    const elsewhere = writeFiles(tempHome(), { 'greet/SKILL.md': 'of elsewhere', 'zoo/SKILL.md': '# Animals\nText' });
    const { home, skills } = start({ 'skills/any-folder/SKILL.md': greet, 'skills/work/mail/SKILL.md': '\n## Write mail\n', 'skills/notes.txt': 'x' }, [elsewhere]);
    writeFiles(home, { 'p/units.md': 'Compute.' });
    expect(skills.indexText()).toBe('- greet: How to greet people\n- mail: Write mail\n- zoo: Animals');
    const withPlugin = createSkills({ home, paths: [], pluginSkills: () => [{ plugin: 'calc', name: 'units', path: join(home, 'p/units.md') }], log: silentLog });
    expect(withPlugin.list().map(({ name, description, category }) => [name, description, category])).toEqual([
      ['calc:units', 'Compute.', 'calc'], ['greet', 'How to greet people', null], ['mail', 'Write mail', 'work'],
    ]);
  });

  test('shows a skill as soon as its file is there, and no longer when it is gone', () => {
    const { home, skills } = start({});
    expect(skills.indexText()).toBe('');
    writeFiles(home, { 'skills/new/SKILL.md': 'New one' });
    expect(skills.list()).toHaveLength(1);
    rmSync(join(home, 'skills/new'), { recursive: true });
    expect(skills.list()).toEqual([]);
  });

  test('a skill that cannot be read is left out', () => {
    const { home, skills } = start({ 'skills/good/SKILL.md': 'Good' });
    mkdirSync(join(home, 'skills/bad/SKILL.md'), { recursive: true });
    expect(skills.list().map(({ name }) => name)).toEqual(['good']);
  });
});

test.each([
  ['---\nname: a\n---\nbody', { name: 'a', description: 'body', body: 'body' }],
  ['\uFEFF---\r\nname: a\r\ndescription: d\r\n---\r\nbody', { name: 'a', description: 'd', body: 'body' }],
  ['---\nname: [\n---\n# Title', { name: null, description: 'Title', body: '# Title' }],
  ['no head at all', { name: null, description: 'no head at all', body: 'no head at all' }],
  ['', { name: null, description: '', body: '' }],
  ['text\n---\nname: a\n---', { name: null, description: 'text', body: 'text\n---\nname: a\n---' }],
])('front matter of %j', (source, expected) => {
  expect(readFrontMatter(source)).toEqual(expected);
});

test('a long description is cut for the index', () => {
  const { description } = readFrontMatter(`---\ndescription: ${'word '.repeat(100)}\n---`);
  expect(description).toHaveLength(200);
  expect(description.endsWith('…')).toBe(true);
});

describe('the tools', () => {
  const files = { 'skills/greet/SKILL.md': greet, 'skills/greet/more/words.md': 'Hello, hi', 'skills/greet/.hidden': 'x', 'skills/work/mail/SKILL.md': 'Mail', 'secret.md': 'secret' };

  test('list and view', async () => {
    const { run } = start(files);
    expect(await run('skills_list', {})).toEqual({ skills: [{ name: 'greet', description: 'How to greet people' }, { name: 'mail', description: 'Mail', category: 'work' }] });
    expect(await run('skills_list', { category: 'work' })).toMatchObject({ skills: [{ name: 'mail' }] });
    expect(await run('skill_view', { name: 'Greet' })).toEqual({ name: 'greet', content: '# Greeting\n\nSay hello.', files: ['more/words.md'] });
    expect(await run('skill_view', { name: 'greet', file_path: 'more/words.md' })).toEqual({ name: 'greet', file: 'more/words.md', content: 'Hello, hi' });
    expect(await run('skill_view', { name: 'nope' })).toEqual({ error: 'There is no skill "nope"; skills_list shows all' });
  });

  test('nothing outside the skill can be read', async () => {
    const { home, run } = start(files);
    symlinkSync(join(home, 'secret.md'), join(home, 'skills/greet/link.md'));
    for (const file_path of ['../../secret.md', join(home, 'secret.md'), 'link.md', 'more', '../work/mail/SKILL.md', ''])
      expect(await run('skill_view', { name: 'greet', file_path }), file_path).toEqual({ error: expect.stringContaining('has no file') as string });
  });
});

describe('installing a skill', () => {
  test('copies, updates what is still ours, and keeps what a person changed', () => {
    const { home } = start({ 'from.md': 'one' });
    const file = join(home, 'from.md');
    const target = join(home, 'skills/p/SKILL.md');
    const install = () => installSkill({ home, plugin: 'p', file });
    expect([install(), install()]).toEqual(['copied', 'current']);
    writeFileSync(file, 'two');
    expect([install(), readFileSync(target, 'utf8')]).toEqual(['copied', 'two']);
    writeFileSync(target, 'mine');
    expect([install(), readFileSync(target, 'utf8')]).toEqual(['kept', 'mine']);
  });

  test('a file that was there before is kept', () => {
    const { home } = start({ 'from.md': 'one', 'skills/p/SKILL.md': 'older than the plugin' });
    expect(installSkill({ home, plugin: 'p', file: join(home, 'from.md') })).toBe('kept');
  });
});
