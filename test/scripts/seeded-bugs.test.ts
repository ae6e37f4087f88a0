/** The list of seeded bugs keeps up with the source, the tests and the page: a bug whose place has gone would prove nothing any more. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { mutants } from '../../scripts/seeded-bugs/list.ts';

const root = resolve(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');

test('the place of every seeded bug is there exactly once, and it changes something', () => {
  const edits = mutants.flatMap(({ name, file, find, replace, also = [] }) => [{ file, find, replace }, ...also].map((edit) => ({ name, ...edit })));
  expect(edits.filter(({ file, find, replace }) => read(file).split(find).length !== 2 || find === replace)).toEqual([]);
});

test('the test that has to see it is there', () => {
  expect(mutants.filter(({ test: file, called }) => !read(file).includes(called))).toEqual([]);
});

test('docs/testing.md has the same list', () => {
  const rows = read('docs/testing.md').split('\n').filter((line) => /^\| \d+ \|/.test(line));
  expect(rows).toEqual(mutants.map(({ name, test: file, called }, index) => `| ${index + 1} | ${name} | \`${file}\`: ${called} |`));
});
