/** The doors of the house: who may import whom, which package has which door, how long a file may be. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '..');

/** Room -> rooms it may import; every room may import itself. */
const doors: Record<string, string[]> = {
  'src/contract': [],
  'src/lib': ['src/contract'],
  config: ['src/contract', 'src/lib'],
  'src/store': ['src/contract', 'src/lib'],
  'src/model': ['src/contract', 'src/lib'],
  'src/tools': ['src/contract', 'src/lib'],
  'src/plugins': ['src/contract', 'src/lib'],
  'src/skills': ['src/contract', 'src/lib'],
  'src/memory': ['src/contract', 'src/lib'],
  'src/agent': ['src/contract', 'src/lib', 'src/model', 'src/tools', 'src/plugins'],
  'src/gateway': ['src/contract', 'src/lib', 'src/store', 'src/agent', 'src/plugins', 'src/tools'],
  'src/cli': ['src/contract', 'src/lib', 'config'],
  'src/web': ['src/contract', 'src/lib'],
  'adapters/telegram': ['src/contract', 'src/lib'],
  'adapters/discord': ['src/contract', 'src/lib'],
  'adapters/slack': ['src/contract', 'src/lib'],
  'adapters/http': ['src/contract', 'src/lib'],
  'adapters/cli': ['src/contract', 'src/lib'],
  adapters: ['src/contract', 'adapters/telegram', 'adapters/discord', 'adapters/slack', 'adapters/http', 'adapters/cli'],
  'src/main': ['*'],
};

/** Package -> the only room that imports it. */
const packageDoors: Record<string, string> = {
  'better-sqlite3': 'src/store',
  pino: 'src/lib',
  openai: 'src/model',
  grammy: 'adapters/telegram',
  'discord.js': 'adapters/discord',
  '@discordjs/rest': 'adapters/discord',
  '@discordjs/ws': 'adapters/discord',
  '@slack/bolt': 'adapters/slack',
  fastify: 'adapters/http',
  commander: 'src/cli',
  jiti: 'src/plugins',
};

const maxLines = 500;
const platformNames = ['telegram', 'discord', 'slack'];

interface SourceFile {
  path: string;
  room: string;
  text: string;
  imports: string[];
}

function sourceFiles(): SourceFile[] {
  return ['src', 'adapters', 'config'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.tsx?$/.test(name))
      .map((name) => {
        const path = [folder, ...name.split(sep)].join('/');
        const text = readFileSync(join(root, path), 'utf8');
        const imports = [...text.matchAll(/(?:from|import\()\s*'([^']+)'/g)].map(([, target]) => target ?? '');
        return { path, room: toRoom(path), text, imports };
      }),
  );
}

function toRoom(path: string): string {
  const parts = path.split('/');
  if (parts[0] === 'config') return 'config';
  if (path === 'src/main.ts') return 'src/main';
  return parts.length > 2 ? parts.slice(0, 2).join('/') : (parts[0] ?? '');
}

const files = sourceFiles();

test('every file stands in a room', () => {
  expect(files.length).toBeGreaterThan(100);
  expect(files.filter(({ room }) => !(room in doors)).map(({ path }) => path)).toEqual([]);
});

test('rooms import only through their doors', () => {
  const breaches = files.flatMap(({ path, room, imports }) =>
    imports.filter((target) => target.startsWith('.')).flatMap((target) => {
      const reached = relative(root, resolve(root, dirname(path), target)).split(sep).join('/');
      const other = toRoom(reached);
      const allowed = doors[room] ?? [];
      return other === room || allowed.includes(other) || allowed.includes('*') ? [] : [`${path} -> ${reached}`];
    }),
  );
  expect(breaches).toEqual([]);
});

test('nobody imports main', () => {
  const guilty = files.filter(({ room, imports }) => room !== 'src/main' && imports.some((target) => /(^|\/)main(\.ts|\/)/.test(target)));
  expect(guilty.map(({ path }) => path)).toEqual([]);
});

test('each package has one door', () => {
  const breaches = files.flatMap(({ path, room, imports }) =>
    imports.flatMap((target) => {
      const door = Object.entries(packageDoors).find(([name]) => target === name || target.startsWith(`${name}/`))?.[1];
      return door === undefined || door === room ? [] : [`${path} imports ${target}`];
    }),
  );
  expect(breaches).toEqual([]);
});

test('process.env is read in config and main alone', () => {
  const guilty = files.filter(({ room, text }) => room !== 'config' && room !== 'src/main' && /process\.env\b/.test(text));
  expect(guilty.map(({ path }) => path)).toEqual([]);
});

test('no platform is named in code outside adapters', () => {
  const pattern = new RegExp(`['"\`](${platformNames.join('|')})['"\`]`);
  const guilty = files.filter(({ path, text }) => !path.startsWith('adapters/') && pattern.test(withoutComments(text)));
  expect(guilty.map(({ path }) => path)).toEqual([]);
});

test(`no file is longer than ${maxLines} lines, and the middle one is short`, () => {
  const lengths = files.map(({ path, text }) => ({ path, lines: text.split('\n').length }));
  expect(lengths.filter(({ lines }) => lines > maxLines)).toEqual([]);
  const sorted = lengths.map(({ lines }) => lines).sort((a, b) => a - b);
  expect(sorted[Math.floor(sorted.length / 2)]).toBeLessThan(150);
});

test('every file says in its header what passes through it', () => {
  const bare = files.filter(({ path, text }) => !path.endsWith('.d.ts') && !text.startsWith('/**') && !text.startsWith('#!'));
  expect(bare.map(({ path }) => path)).toEqual([]);
});

test('the word any is no type here', () => {
  const guilty = files.filter(({ text }) => /(:\s*any\b|\bas any\b|<any>)/.test(withoutComments(text)));
  expect(guilty.map(({ path }) => path)).toEqual([]);
});

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
}
