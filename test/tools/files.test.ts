import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, linkSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import * as fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { builtins } from './kit.ts';

async function place() {
  const tools = await builtins();
  const outside = mkdtempSync(join(tmpdir(), 'hermes-outside-'));
  onTestFinished(() => rmSync(outside, { recursive: true, force: true }));
  writeFileSync(join(outside, 'canary.txt'), 'CANARY');
  return { ...tools, outside };
}

const readsAs = (text: string) => ({ content: `1|${text}` });
const refusedAs = (pattern: RegExp) => ({ error: expect.stringMatching(pattern) as string });
const secret = refusedAs(/holds secrets/);

describe('the home\'s own files', () => {
  const names = ['state.db', 'state.db-wal', 'state.db-shm', 'lock.db', '.env', 'config.yaml'];

  test.each(names)('%s is refused by path, by symlink and by hard link, to read and to write', async (name) => {
    const { home, workspace, call } = await place();
    writeFileSync(join(home, name), 'SECRET');
    symlinkSync(join(home, name), join(workspace, 'soft'));
    linkSync(join(home, name), join(workspace, 'hard'));
    symlinkSync(home, join(workspace, 'folder'));
    for (const path of [join(home, name), 'soft', 'hard', `folder/${name}`, `${home}/memories/../${name}`]) {
      expect(await call('read_file', { path })).toEqual(secret);
      expect(await call('patch', { path, old_string: 'SECRET', new_string: 'x' })).toEqual(secret);
      expect(await call('write_file', { path, content: 'x' })).toMatchObject({ error: expect.stringMatching(/holds secrets|outside the workspace/) as string });
    }
    expect(JSON.stringify(await call('search_files', { pattern: 'SECRET', path: home }))).not.toContain('SECRET"');
    expect((await call('search_files', { pattern: 'SECRET' }))['matches']).toEqual([]);
    expect(readFileSync(join(home, name), 'utf8')).toBe('SECRET');
  });

  test('the refusal names no way around it', async () => {
    const { home, call } = await place();
    writeFileSync(join(home, 'state.db'), '');
    const { error } = await call('read_file', { path: join(home, 'state.db') });
    expect(error).not.toMatch(/allow|config|setting|option|--/i);
  });

  test('an attempt leaves SQLite\'s locks alone, so that no commit is lost', async () => {
    const { home, workspace, call } = await place();
    const path = join(home, 'state.db');
    const db = new Database(path);
    onTestFinished(() => void db.close());
    db.pragma('journal_mode = WAL');
    db.exec('CREATE TABLE t (n INTEGER)');
    symlinkSync(path, join(workspace, 'soft'));
    linkSync(path, join(workspace, 'hard'));
    const locks = () => readFileSync('/proc/locks', 'utf8').split('\n').filter((line) => line.includes(` ${process.pid} `) && [path, `${path}-shm`].some((file) => line.includes(`:${statSync(file).ino} `))).length;
    const before = locks();
    expect(before).toBeGreaterThan(0);
    for (const attempt of [path, `${path}-wal`, `${path}-shm`, 'soft', 'hard']) {
      expect(await call('read_file', { path: attempt })).toEqual(secret);
      await call('search_files', { pattern: 'x', path: attempt });
      await call('patch', { path: attempt, old_string: 'a', new_string: 'b' });
    }
    await call('search_files', { pattern: 'SQLite', path: home });
    expect(locks()).toBe(before);
  });

  test('plugins and tools can be read but not written', async () => {
    const { home, call, registry } = await builtins();
    for (const folder of ['plugins/p', 'tools']) mkdirSync(join(home, folder), { recursive: true });
    writeFileSync(join(home, 'plugins/p/index.js'), 'code');
    expect(registry.names()).toContain('write_file');
    const { call: inHome } = await builtins({ home, workspace: home });
    expect(await inHome('read_file', { path: 'plugins/p/index.js' })).toMatchObject(readsAs('code'));
    for (const path of ['plugins/p/index.js', 'plugins/new/index.js', 'tools/x.ts', 'tools']) expect(await inHome('write_file', { path, content: 'x' })).toEqual(refusedAs(/own code/));
    expect(await call('write_file', { path: join(home, 'plugins/p/index.js'), content: 'x' })).toEqual(refusedAs(/outside the workspace/));
  });
});

describe('where the tools reach', () => {
  test('the person at the terminal may read elsewhere, a chat may not; nobody writes there', async () => {
    const { outside, workspace, call } = await place();
    const path = join(outside, 'canary.txt');
    symlinkSync(path, join(workspace, 'link'));
    expect(await call('read_file', { path })).toMatchObject(readsAs('CANARY'));
    expect(await call('read_file', { path: 'link' })).toMatchObject(readsAs('CANARY'));
    for (const given of [path, 'link']) {
      expect(await call('read_file', { path: given }, { platform: 'telegram' })).toEqual(refusedAs(/outside the workspace/));
      expect(await call('write_file', { path: given, content: 'x' })).toEqual(refusedAs(/outside the workspace/));
      expect(await call('patch', { path: given, old_string: 'CANARY', new_string: 'x' })).toEqual(refusedAs(/outside the workspace/));
    }
    expect((await call('search_files', { pattern: 'CANARY', path: outside }, { platform: 'telegram' }))['error']).toMatch(/outside the workspace/);
    expect(readFileSync(path, 'utf8')).toBe('CANARY');
    expect(lstatSync(join(workspace, 'link')).isSymbolicLink()).toBe(true);
  });

  const evil = ['..', '../', '../x', 'a/../../x', './../x', '/', '/tmp', '/etc/x', '/etc/passwd', '~', '~/x', '~root/x', '~/../x', 'a\0b', '../\0', '\\\\server\\share', '//server/share', `${'a/'.repeat(3000)}x`, 'x'.repeat(300), '', '/proc/self/cwd/x', '/proc/self/root/tmp/x', '/dev/shm/x', '/dev/fd/1', 'link/x', 'link/../x', 'link/deep/x', 'dangling', 'loop'];
  test.each(evil)('%j is not written, and a chat cannot read it', async (path) => {
    const { workspace, outside, call } = await place();
    symlinkSync(outside, join(workspace, 'link'));
    symlinkSync('loop', join(workspace, 'loop'));
    symlinkSync(join(outside, 'new'), join(workspace, 'dangling'));
    const before = [readdirSync(outside), readdirSync(join(workspace, '..'))];
    const written = await call('write_file', { path, content: 'x' });
    expect([readdirSync(outside), readdirSync(join(workspace, '..'))]).toEqual(before);
    if (!['dangling', 'link/../x'].includes(path)) expect(written).toEqual(refusedAs(/./));
    if (!['link/../x', 'dangling', '..', '../'].includes(path)) expect(await call('read_file', { path }, { platform: 'telegram' })).toEqual(refusedAs(/./));
  });

  test.each(['%2e%2e/x', '..x', 'x..', '...', 'a b', 'ä', '-rf', '.hidden', 'sub/./x', 'sub//x', 'sub/../y', '\\x', '*', '😀'])('%j is an ordinary name in the workspace', async (path) => {
    const { call, workspace, outside } = await place();
    const before = [readdirSync(outside), readdirSync(join(workspace, '..'))];
    expect(await call('write_file', { path, content: 'hi' })).toMatchObject({ bytes: 2 });
    expect(await call('read_file', { path }, { platform: 'telegram' })).toMatchObject(readsAs('hi'));
    expect([readdirSync(outside), readdirSync(join(workspace, '..'))]).toEqual(before);
  });

  test('property: no path writes outside the workspace', async () => {
    const { call, workspace, outside } = await place();
    symlinkSync(outside, join(workspace, 'out'));
    symlinkSync('..', join(workspace, 'up'));
    const part = fc.constantFrom('..', '.', '', 'a', 'out', 'up', '~', '/', '\\', '\0', 'workspace', '%2e%2e');
    const above = join(workspace, '..');
    await fc.assert(
      fc.asyncProperty(fc.array(part, { minLength: 1, maxLength: 6 }), async (parts) => {
        await call('write_file', { path: parts.join('/'), content: 'x' });
        expect(readdirSync(outside)).toEqual(['canary.txt']);
        expect(readdirSync(above)).toEqual(['workspace']);
      }),
      { numRuns: 150 },
    );
  });

  test('a folder that turns into a link while it is used is never followed outside', async () => {
    const { call, workspace, outside } = await place();
    mkdirSync(join(workspace, 'real'));
    writeFileSync(join(workspace, 'real', 'canary.txt'), 'mine');
    symlinkSync(outside, join(workspace, 'evil'));
    const over = new AbortController();
    const at = (name: string) => join(workspace, name);
    const swap = (async () => {
      while (!over.signal.aborted) {
        renameSync(at('real'), at('kept'));
        // A write may have made the folder anew just now.
        if (!tryRename(at('evil'), at('real'))) rmSync(at('real'), { recursive: true });
        await new Promise(setImmediate);
        tryRename(at('real'), at('evil'));
        rmSync(at('real'), { recursive: true, force: true });
        renameSync(at('kept'), at('real'));
        await new Promise(setImmediate);
      }
    })();
    try {
      for (let round = 0; round < 150; round++) {
        expect(JSON.stringify(await call('read_file', { path: 'real/canary.txt' }, { platform: 'telegram' }))).not.toContain('CANARY');
        await call('write_file', { path: `real/${round}`, content: 'x' });
      }
    } finally {
      over.abort();
      await swap;
    }
    expect(readdirSync(outside)).toEqual(['canary.txt']);
    expect(readFileSync(join(outside, 'canary.txt'), 'utf8')).toBe('CANARY');
  });

  test('keys and the insides of the system are not read, even in the terminal', async () => {
    const { call, outside } = await place();
    for (const folder of ['.ssh', '.aws', '.gnupg']) mkdirSync(join(outside, folder));
    for (const name of ['.ssh/config', '.aws/credentials', '.gnupg/x', '.env', '.env.local', '.netrc', 'id_ed25519', '.git-credentials']) {
      writeFileSync(join(outside, name), 'KEY');
      expect(await call('read_file', { path: join(outside, name) })).toEqual(secret);
    }
    writeFileSync(join(outside, '.env.example'), 'NAME=');
    expect(await call('read_file', { path: join(outside, '.env.example') })).toMatchObject(readsAs('NAME='));
    for (const path of ['/proc/self/environ', '/proc/self/fd/0', '/dev/zero', '/sys/kernel/notes', '/etc/shadow']) expect(await call('read_file', { path })).toEqual(refusedAs(/holds secrets|does not exist/));
    expect(await call('write_file', { path: '.env', content: 'KEY=x' })).toEqual(secret);
  });

  test('pipes do not hang', async () => {
    const { call, workspace } = await place();
    execFileSync('mkfifo', [join(workspace, 'pipe')]);
    expect(await call('read_file', { path: 'pipe' })).toEqual(refusedAs(/no regular file/));
    expect(await call('write_file', { path: 'pipe', content: 'x' })).toEqual(refusedAs(/no regular file/));
    expect(await call('search_files', { pattern: 'x' })).toMatchObject({ matches: [] });
  });
});

describe('reading', () => {
  test('lines are numbered and paged', async () => {
    const { call, workspace } = await place();
    writeFileSync(join(workspace, 'a.txt'), Array.from({ length: 3000 }, (_, index) => `line ${index + 1}\r\n`).join(''));
    expect(await call('read_file', { path: 'a.txt', offset: 2, limit: 2 })).toEqual({ path: 'a.txt', total_lines: 3000, next_offset: 4, content: '2|line 2\n3|line 3' });
    expect(await call('read_file', { path: 'a.txt', limit: 5000 })).toMatchObject({ next_offset: 2001 });
    expect(await call('read_file', { path: 'a.txt', offset: 3000 })).toEqual({ path: 'a.txt', total_lines: 3000, content: '3000|line 3000' });
    expect(await call('read_file', { path: 'a.txt', offset: 9999 })).toEqual({ path: 'a.txt', total_lines: 3000, content: '' });
  });

  test('a page never becomes a stored result, whatever the file holds', async () => {
    const { call, workspace, home } = await place();
    writeFileSync(join(workspace, 'long'), `${'x'.repeat(100_000)}\n`.repeat(50));
    writeFileSync(join(workspace, 'odd'), `${'\u0001'.repeat(1000)}\n`.repeat(200));
    expect((await call('read_file', { path: 'long' }))['content']).toMatch(/^1\|x{2000}… \[line of 100000 characters\]/);
    expect(await call('read_file', { path: 'odd' })).toHaveProperty('next_offset');
    expect(existsSync(join(home, 'cache'))).toBe(false);
  });

  test('binary files, other encodings, folders and what is not there are said', async () => {
    const { call, workspace } = await place();
    writeFileSync(join(workspace, 'bin'), Buffer.from([1, 0, 2]));
    writeFileSync(join(workspace, 'latin'), Buffer.from([0x63, 0xe9]));
    mkdirSync(join(workspace, 'dir'));
    expect(await call('read_file', { path: 'bin' })).toEqual(refusedAs(/binary/));
    expect(await call('read_file', { path: 'latin' })).toEqual(refusedAs(/not UTF-8/));
    expect(await call('read_file', { path: 'dir' })).toEqual(refusedAs(/is a folder.*search_files/));
    expect(await call('read_file', { path: 'none' })).toEqual({ error: 'none does not exist.' });
    expect(await call('read_file', { path: 'bin/x' })).toEqual({ error: 'bin/x leads through something that is no folder.' });
  });

  test('result handles are paged by read_file and read_result alike', async () => {
    const { call } = await place();
    const long = await call('terminal', { command: 'seq 1 20000' });
    const { handle } = long as { handle: string };
    const page = { offset: 100, limit: 50 };
    const byFile = await call('read_file', { path: handle, ...page });
    expect(byFile).toMatchObject({ handle, offset: 100, next_offset: 150 });
    expect(await call('read_result', { handle, ...page }, { platform: 'telegram' })).toEqual(byFile);
    expect(await call('read_result', { handle: '../../.env' })).toEqual(refusedAs(/No result/));
  });
});

describe('writing and patching', () => {
  test('folders are created, the mode is kept, no temporary file stays', async () => {
    const { call, workspace } = await place();
    expect(await call('write_file', { path: 'a/b/c.sh', content: 'one' })).toEqual({ path: 'a/b/c.sh', bytes: 3 });
    chmodSync(join(workspace, 'a/b/c.sh'), 0o755);
    await call('write_file', { path: 'a/b/c.sh', content: 'two' });
    expect(statSync(join(workspace, 'a/b/c.sh')).mode & 0o777).toBe(0o755);
    expect(readdirSync(join(workspace, 'a/b'))).toEqual(['c.sh']);
    expect(await call('write_file', { path: 'a', content: '' })).toEqual(refusedAs(/no regular file/));
  });

  test('a link inside the workspace is written through', async () => {
    const { call, workspace } = await place();
    writeFileSync(join(workspace, 'real'), 'old');
    symlinkSync('real', join(workspace, 'soft'));
    await call('write_file', { path: 'soft', content: 'new' });
    expect(readFileSync(join(workspace, 'real'), 'utf8')).toBe('new');
    expect(lstatSync(join(workspace, 'soft')).isSymbolicLink()).toBe(true);
  });

  const before = 'function a() {\n    return 1;\n}\n\nfunction b() {\n    return 1;\n}\n';
  async function patched(text: string, args: Record<string, unknown>) {
    const { call, workspace } = await place();
    const path = join(workspace, 'f.ts');
    writeFileSync(path, text);
    const result = await call('patch', { path: 'f.ts', ...args });
    return { result, text: readFileSync(path, 'utf8') };
  }

  test('one place, exactly, with the difference', async () => {
    const { result, text } = await patched(before, { old_string: 'b() {\n    return 1;', new_string: 'b() {\n    return 2;' });
    expect(text).toBe(before.replace(/1;\n}\n$/, '2;\n}\n'));
    expect(result).toMatchObject({ replaced: 1 });
    expect(result['diff']).toBe('--- f.ts\n+++ f.ts\n@@ -2,7 +2,7 @@\n     return 1;\n }\n \n-function b() {\n-    return 1;\n+function b() {\n+    return 2;\n }\n ');
  });

  test('several places need replace_all', async () => {
    expect((await patched(before, { old_string: 'return 1', new_string: 'return 2' })).result).toEqual(refusedAs(/found 2 times/));
    const { result, text } = await patched(before, { old_string: 'return 1', new_string: 'return 2', replace_all: true });
    expect(result).toMatchObject({ replaced: 2 });
    expect(text).toBe(before.replaceAll('1', '2'));
  });

  test('white space may differ; the file\'s indentation is kept', async () => {
    const { text } = await patched(before, { old_string: 'function a() {\n  return   1;\n}', new_string: 'function a() {\n  return 7;\n}' });
    expect(text).toBe(before.replace('function a() {\n    return 1;\n}', 'function a() {\n  return 7;\n}'));
    const inner = await patched('if (x) {\n\tone();\n\ttwo();\n}\n', { old_string: '  one();\n  two();', new_string: '  one();\n  three();' });
    expect(inner.text).toBe('if (x) {\n\tone();\n\tthree();\n}\n');
  });

  test('line ends and byte order marks stay', async () => {
    expect((await patched('\ufeffa\r\nb\r\n', { old_string: 'a\nb', new_string: 'a\nc\nd' })).text).toBe('\ufeffa\r\nc\r\nd\r\n');
  });

  test('what is not there, empty or unchanged is said', async () => {
    expect((await patched(before, { old_string: 'zzz', new_string: 'y' })).result).toEqual(refusedAs(/not found/));
    expect((await patched(before, { old_string: '', new_string: 'y' })).result).toEqual(refusedAs(/empty/));
    expect((await patched(before, { old_string: 'a', new_string: 'a' })).result).toEqual(refusedAs(/equal/));
  });

  test('property: the difference, applied, gives the file', async () => {
    const { call, workspace } = await place();
    const line = fc.constantFrom('a', 'b', 'x', '', 'xx');
    await fc.assert(
      fc.asyncProperty(fc.array(line, { minLength: 1, maxLength: 30 }), fc.constantFrom('y', 'y\nz', '', '\n'), async (lines, to) => {
        const old = `${lines.join('\n')}\nend\n`;
        writeFileSync(join(workspace, 'f'), old);
        const { diff } = await call('patch', { path: 'f', old_string: 'x', new_string: to, replace_all: true });
        if (typeof diff !== 'string') return;
        expect(applied(old, diff)).toBe(readFileSync(join(workspace, 'f'), 'utf8'));
      }),
      { numRuns: 60 },
    );
  });
});

function tryRename(from: string, to: string): boolean {
  try {
    if (lstatSync(from).isSymbolicLink()) renameSync(from, to);
    return true;
  } catch {
    return false;
  }
}

/** Applies a unified diff as its format says, checking every line of context and every count. */
function applied(text: string, diff: string): string {
  const lines = text.split('\n');
  const out: string[] = [];
  let at = 0;
  let [oldLeft, newLeft] = [0, 0];
  for (const line of diff.split('\n').slice(2)) {
    const head = /^@@ -(\d+),(\d+) \+(\d+),(\d+) @@$/.exec(line);
    if (head) {
      expect([oldLeft, newLeft]).toEqual([0, 0]);
      [oldLeft, newLeft] = [Number(head[2]), Number(head[4])];
      out.push(...lines.slice(at, Number(head[1]) - 1));
      at = Number(head[1]) - 1;
      expect(out.length).toBe(Number(head[3]) - 1);
      continue;
    }
    if (line[0] !== '+') {
      expect(lines[at++]).toBe(line.slice(1));
      oldLeft--;
    }
    if (line[0] !== '-') {
      out.push(line.slice(1));
      newLeft--;
    }
  }
  expect([oldLeft, newLeft]).toEqual([0, 0]);
  return [...out, ...lines.slice(at)].join('\n');
}

describe('searching', () => {
  async function tree() {
    const tools = await place();
    for (const folder of ['src/deep', 'node_modules/x', '.git']) mkdirSync(join(tools.workspace, folder), { recursive: true });
    const files = { 'a.ts': 'one\ntwo\nthree', 'src/b.ts': 'two two', 'src/deep/c.md': 'none\nTWO', 'node_modules/x/d.ts': 'two', '.git/e': 'two', 'bin.ts': 'two\0' };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(tools.workspace, name), text);
    symlinkSync(tools.outside, join(tools.workspace, 'out'));
    return tools;
  }

  test('contents by regular expression', async () => {
    const { call } = await tree();
    expect(await call('search_files', { pattern: 't[w]o' })).toEqual({
      matches: [{ path: 'a.ts', line: 2, content: 'two' }, { path: 'src/b.ts', line: 1, content: 'two two' }],
      total_count: 2,
      truncated: false,
    });
    expect(await call('search_files', { pattern: 'two', file_glob: '*.md' })).toMatchObject({ total_count: 0 });
    expect(await call('search_files', { pattern: 'two', path: 'src' })).toMatchObject({ total_count: 1 });
    expect(await call('search_files', { pattern: 'two', path: 'a.ts', context: 1 })).toMatchObject({ matches: [{ content: 'one\ntwo\nthree' }] });
    expect(await call('search_files', { pattern: 'two', output_mode: 'files_only' })).toMatchObject({ files: ['a.ts', 'src/b.ts'] });
    expect(await call('search_files', { pattern: 'o', output_mode: 'count' })).toMatchObject({ counts: { 'a.ts': 2, 'src/b.ts': 1, 'src/deep/c.md': 1 } });
    expect(await call('search_files', { pattern: 'o', limit: 1, offset: 1 })).toMatchObject({ matches: [{ path: 'a.ts', line: 2 }], total_count: 4, truncated: true });
  });

  test('names by glob; links lead nowhere', async () => {
    const { call } = await tree();
    expect(await call('search_files', { target: 'files', pattern: '*.ts' })).toMatchObject({ files: ['a.ts', 'bin.ts', 'src/b.ts'] });
    expect(await call('search_files', { target: 'files', pattern: 'src/**' })).toMatchObject({ files: ['src/b.ts', 'src/deep/c.md'] });
    expect(await call('search_files', { target: 'files', pattern: 'canary*' })).toMatchObject({ files: [] });
  });

  test('a pattern that takes for ever is ended, and a broken one is said', async () => {
    const { call, workspace } = await place();
    writeFileSync(join(workspace, 'a'), `${'a'.repeat(60)}b`);
    expect(await call('search_files', { pattern: '^(a+)+$' })).toEqual(refusedAs(/takes too long/));
    expect(await call('search_files', { pattern: '(' })).toEqual(refusedAs(/no regular expression/));
  });
});
