/** Pages that must say what the code does: the table of errors, the two commands, and links that lead somewhere. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { errorCodes } from '../src/contract/errors.ts';

const root = resolve(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

test('docs/errors.md is the table of error codes', () => {
  const rows = [...read('docs/errors.md').matchAll(/^\| `([A-Z_]+)` \| (.+) \|$/gm)].map(([, code, meaning]) => [code, meaning]);
  expect(rows).toEqual(Object.entries(errorCodes));
});

test('the README begins with the two commands', () => {
  const commands = read('README.md').split('```')[1]?.split('\n').filter((line) => line.startsWith('npm')) ?? [];
  expect(commands).toEqual(['npm ci && npm start', 'npm ci && npm test']);
});

test('every link between pages leads to a file', () => {
  const pages = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`)];
  const broken = pages.flatMap((page) =>
    [...read(page).matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)]
      .map(([, target]) => target ?? '')
      .filter((target) => !/^[a-z]+:/.test(target) && !existsSync(join(root, dirname(page), target)))
      .map((target) => `${page} -> ${target}`),
  );
  expect(pages.length).toBeGreaterThan(8);
  expect(broken).toEqual([]);
});
