/**
 * Lasting notes in two files that a person can read and edit: MEMORY.md for what the agent learned, USER.md for the person.
 * Entries are separated by a line with `§`. A session's prompt has the state of its first turn; writes are on disk at once.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, open, readFile, rename, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { sleep } from '../lib/retry.ts';
import { refusalOf } from './scan.ts';

export interface Memory {
  /** Where it is kept. */
  files: { memory: string; user: string };
  /** Text for the system prompt of a new session; empty when nothing is kept. */
  snapshot(): Promise<string>;
  /** The memory tool: `{action, target, content?, old_text?}`. Resolves with its JSON result, errors as `{error}`. */
  run(args: Record<string, unknown>): Promise<string>;
}

type Target = 'memory' | 'user';

const kinds = {
  memory: { file: 'MEMORY.md', limit: 2_200, title: 'MEMORY (your notes)' },
  user: { file: 'USER.md', limit: 1_375, title: 'USER (about the person)' },
} as const;

const separator = '\n§\n';

export function createMemory({ home }: { home: string }): Memory {
  const folder = join(home, 'memories');
  let queue: Promise<unknown> = Promise.resolve();

  /** One writer at a time: in this process by the queue, between processes by the lock file. */
  function alone<T>(work: () => Promise<T>): Promise<T> {
    const turn = queue.then(() => withLock(folder, work));
    queue = turn.catch(() => undefined);
    return turn;
  }

  async function snapshot(): Promise<string> {
    const blocks = await Promise.all(
      (['memory', 'user'] as const).map(async (target) => {
        const entries = await readEntries(folder, target);
        // The file may have been written by hand or by another program.
        const shown = entries.map((entry) => (refusalOf(entry) ? '[an entry was left out: see hermes memory show]' : entry));
        return shown.length === 0 ? '' : `${kinds[target].title} [${usage(entries, target)}]\n${shown.join(separator)}`;
      }),
    );
    return blocks.filter((block) => block !== '').join('\n\n');
  }

  async function run(args: Record<string, unknown>): Promise<string> {
    const target: Target = args['target'] === 'user' ? 'user' : 'memory';
    try {
      return await alone(async () => {
        const entries = await readEntries(folder, target);
        const change = apply(args, target, entries);
        if ('error' in change) return JSON.stringify(change);
        if (change.entries !== entries) await writeEntries(folder, target, change.entries);
        return JSON.stringify({ success: true, target, message: change.message, usage: usage(change.entries, target), entries: change.entries });
      });
    } catch (thrown) {
      return JSON.stringify({ error: `The notes cannot be changed now: ${thrown instanceof Error ? thrown.message : String(thrown)}` });
    }
  }

  return { files: { memory: join(folder, kinds.memory.file), user: join(folder, kinds.user.file) }, snapshot, run };
}

type Change = { entries: readonly string[]; message: string } | { error: string; [key: string]: unknown };

/** Pure: what the call makes of the entries; the same array when nothing changes. */
function apply(args: Record<string, unknown>, target: Target, entries: readonly string[]): Change {
  const content = toText(args['content']);
  const action = args['action'];
  if (action === 'remove') {
    const found = find(entries, toText(args['old_text']));
    return typeof found === 'number' ? { entries: entries.filter((_, index) => index !== found), message: 'Entry removed.' } : found;
  }
  if (action !== 'add' && action !== 'replace') return { error: 'action must be add, replace or remove.' };
  if (content === '') return { error: 'content is empty.' };
  if (content.split('\n').some((line) => line.trim() === '§')) return { error: 'content may not hold a line with § alone; add several entries one by one.' };
  const refused = refusalOf(content);
  if (refused) return { error: `The entry is not kept: ${refused}.` };

  if (action === 'add') {
    if (entries.includes(content)) return { entries, message: 'The entry is there already; no duplicate was added.' };
    return within([...entries, content], target, entries, 'Entry added.');
  }
  const found = find(entries, toText(args['old_text']));
  if (typeof found !== 'number') return found;
  return within([...new Set(entries.map((entry, index) => (index === found ? content : entry)))], target, entries, 'Entry replaced.');
}

/** Index of the entry that equals `part`, else of the only one that holds it. */
function find(entries: readonly string[], part: string): number | { error: string; [key: string]: unknown } {
  if (part === '') return { error: 'old_text is missing; give a part of the entry that no other entry has.' };
  const equal = entries.indexOf(part);
  if (equal !== -1) return equal;
  const holding = entries.flatMap((entry, index) => (entry.includes(part) ? [index] : []));
  if (holding.length === 1 && holding[0] !== undefined) return holding[0];
  if (holding.length === 0) return { error: 'No entry holds old_text.', entries };
  return { error: 'Several entries hold old_text; be more specific.', entries: entries.filter((entry) => entry.includes(part)) };
}

function within(next: readonly string[], target: Target, before: readonly string[], message: string): Change {
  const size = next.join(separator).length;
  const { limit } = kinds[target];
  if (size <= limit) return { entries: next, message };
  return { error: `That would be ${size} of ${limit} characters. Shorten, merge or remove entries first.`, usage: usage(before, target), entries: before };
}

function usage(entries: readonly string[], target: Target): string {
  const { limit } = kinds[target];
  const size = entries.join(separator).length;
  return `${Math.round((size / limit) * 100)}%, ${size}/${limit} characters`;
}

async function readEntries(folder: string, target: Target): Promise<string[]> {
  const text = await readFile(join(folder, kinds[target].file), 'utf8').catch((thrown: unknown) => {
    if (hasCode(thrown, 'ENOENT')) return '';
    throw thrown;
  });
  return text
    .replace(/^\ufeff/, '')
    .split(/^[ \t]*§[ \t]*\r?$/m)
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}

/** A reader sees the old file or the new one; a power cut leaves one of the two. */
async function writeEntries(folder: string, target: Target, entries: readonly string[]): Promise<void> {
  const temporary = join(folder, `.${randomBytes(6).toString('hex')}.tmp`);
  try {
    const file = await open(temporary, 'wx', 0o600);
    try {
      await file.writeFile(entries.length > 0 ? `${entries.join(separator)}\n` : '');
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, join(folder, kinds[target].file));
  } catch (thrown) {
    await unlink(temporary).catch(() => undefined);
    throw thrown;
  }
}

const lockWaitMs = 5_000;
/** A write takes milliseconds: a lock of this age was left by a process that died. */
const lockStaleMs = 10_000;

async function withLock<T>(folder: string, work: () => Promise<T>): Promise<T> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const lock = join(folder, '.lock');
  const start = performance.now();
  for (;;) {
    try {
      await (await open(lock, 'wx', 0o600)).close();
      break;
    } catch (thrown) {
      if (!hasCode(thrown, 'EEXIST')) throw thrown;
    }
    const age = await stat(lock).then((found) => Date.now() - found.mtimeMs, () => 0);
    if (age > lockStaleMs) await unlink(lock).catch(() => undefined);
    else if (performance.now() - start > lockWaitMs) throw new Error('another program is writing them; try again');
    else await sleep(20);
  }
  try {
    return await work();
  } finally {
    await unlink(lock).catch(() => undefined);
  }
}

function hasCode(thrown: unknown, code: string): boolean {
  return thrown instanceof Error && 'code' in thrown && thrown.code === code;
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value.trim() : '';
}
