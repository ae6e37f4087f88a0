/** MEDIA lines: what may go out does, as it was when the answer was committed; everything else is refused where the person sees it. */
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createOutgoingFiles } from '../../src/gateway/outgoing-files.ts';
import { tempHome } from '../support/temp-home.ts';

function openHouse() {
  const home = tempHome();
  const workspace = join(home, 'workspace');
  mkdirSync(join(home, 'cache', 'media'), { recursive: true });
  mkdirSync(workspace);
  writeFileSync(join(workspace, 'a report.pdf'), 'PDF');
  writeFileSync(join(home, 'cache', 'media', 'photo.png'), 'PNG');
  writeFileSync(join(home, 'cache', 'chart.txt'), 'CHART');
  writeFileSync(join(home, '.env'), 'TOKEN=secret');
  writeFileSync(join(home, 'state.db'), 'database');
  return { home, workspace, outgoing: createOutgoingFiles({ home, workspace }) };
}

test('files of the workspace and of the cache go out, and their lines leave the text', async () => {
  const { home, workspace, outgoing } = openHouse();
  const answer = `Here you are.\n\nMEDIA:${join(workspace, 'a report.pdf')}\nMEDIA: "${join(home, 'cache', 'media', 'photo.png')}"\nMEDIA:${join(home, 'cache', 'chart.txt')}\n\nAnything else?`;
  const { text, files } = await outgoing.take(answer);
  expect(text).toBe('Here you are.\n\nAnything else?');
  expect(files.map(({ name, mime, kind }) => ({ name, mime, kind }))).toEqual([
    { name: 'a report.pdf', mime: 'application/pdf', kind: 'file' },
    { name: 'photo.png', mime: 'image/png', kind: 'image' },
    { name: 'chart.txt', mime: 'text/plain', kind: 'file' },
  ]);
  writeFileSync(join(workspace, 'a report.pdf'), 'changed since');
  expect(files.map(({ path }) => readFileSync(path, 'utf8'))).toEqual(['PDF', 'PNG', 'CHART']);
});

test.each([
  ['a system file', () => '/etc/passwd'],
  ['a relative path', () => 'workspace/a.txt'],
  ['the home\'s secrets', (home: string) => join(home, '.env')],
  ['the database', (home: string) => join(home, 'state.db')],
  ['a way out of the workspace', (home: string) => join(home, 'workspace', '..', 'state.db')],
  ['a link out of the workspace', (home: string) => join(home, 'workspace', 'link')],
  ['a file that is not there', (home: string) => join(home, 'workspace', 'missing.txt')],
  ['a folder', (home: string) => join(home, 'workspace')],
])('%s is refused, and the person sees that', async (_, pathIn) => {
  const { home, workspace, outgoing } = openHouse();
  symlinkSync('/etc/passwd', join(workspace, 'link'));
  const { text, files } = await outgoing.take(`Look:\nMEDIA:${pathIn(home)}`);
  expect(files).toEqual([]);
  expect(text).toMatch(/^Look:\n\(.+ was not sent: .+\)$/);
  expect(text).not.toContain('root:');
});

test('text about MEDIA in the middle of a sentence is text', async () => {
  const { outgoing } = openHouse();
  const text = 'Write MEDIA:/path on a line of its own.';
  expect(await outgoing.take(text)).toEqual({ text, files: [] });
});
