/** Looks for text in files, or for files by name. Bounded in files, time and results; links are not followed. */
import { opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as breathe } from 'node:timers/promises';
import picomatch from 'picomatch';
import type { Tool, ToolDeps } from '../../contract/tool.ts';
import { answer } from '../answer.ts';
import { openFiles, type Files } from '../files.ts';
import { createLineMatcher } from '../match-lines.ts';
import { readText } from '../read-text.ts';
import { cut } from '../result-text.ts';

const mostEntries = 20_000;
const mostMs = 15_000;
const mostMatches = 5_000;
const longestLine = 400;
const skippedFolders = new Set(['.git', 'node_modules', '.hg', '.svn']);

interface SearchArgs {
  pattern: string;
  target?: 'content' | 'files';
  path?: string;
  file_glob?: string;
  limit?: number;
  offset?: number;
  output_mode?: 'content' | 'files_only' | 'count';
  context?: number;
}

export default function searchFilesTool(deps: ToolDeps): Tool {
  return {
    name: 'search_files',
    toolset: 'file',
    emoji: '🔎',
    parallel: true,
    idempotent: true,
    schema: {
      name: 'search_files',
      description: 'Search file contents by regular expression (target "content"), or find files by glob (target "files").',
      parameters: {
        type: 'object',
        properties: {
          pattern: { type: 'string', minLength: 1 },
          target: { type: 'string', enum: ['content', 'files'] },
          path: { type: 'string', description: 'Folder or file, default the workspace' },
          file_glob: { type: 'string', description: 'e.g. *.ts' },
          limit: { type: 'integer', minimum: 1, maximum: 500, description: 'Default 50' },
          offset: { type: 'integer', minimum: 0 },
          output_mode: { type: 'string', enum: ['content', 'files_only', 'count'] },
          context: { type: 'integer', minimum: 0, maximum: 10, description: 'Lines around each match' },
        },
        required: ['pattern'],
      },
    },
    handler: (given, { platform, signal }) =>
      answer(async () => {
        const args = given as unknown as SearchArgs;
        const files = await openFiles(deps, platform);
        const walk = createWalk(files, args.path ?? '.', signal);
        return args.target === 'files' ? findFiles(walk, files, args) : searchContent(walk, files, args);
      }),
  };
}

interface Walk {
  /** Real paths of files with the path below the start, folder by folder in name order. */
  files(): AsyncGenerator<{ real: string; below: string }>;
  /** Why it ended before everything was seen. */
  cutShort(): string | null;
}

function createWalk(files: Files, start: string, signal: AbortSignal): Walk {
  const end = performance.now() + mostMs;
  let seen = 0;
  let short: string | null = null;

  async function* into(folder: string, below: string): AsyncGenerator<{ real: string; below: string }> {
    const entries = [];
    for await (const entry of await opendir(folder).catch(() => [])) entries.push(entry);
    entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const entry of entries) {
      if (signal.aborted) throw new Error('The search was ended.');
      if (++seen > mostEntries) short = `stopped after ${mostEntries} entries`;
      if (performance.now() > end) short = `stopped after ${mostMs / 1000} s`;
      if (short) return;
      const name = below === '' ? entry.name : `${below}/${entry.name}`;
      if (entry.isFile()) yield { real: join(folder, entry.name), below: name };
      else if (entry.isDirectory() && !skippedFolders.has(entry.name)) yield* into(join(folder, entry.name), name);
    }
  }

  async function* all(): AsyncGenerator<{ real: string; below: string }> {
    const opened = await files.open(start);
    await opened.handle.close();
    if (opened.stats.isFile()) yield { real: opened.real, below: files.show(opened.real) };
    else yield* into(opened.real, '');
  }

  return { files: all, cutShort: () => short };
}

/** A glob without a slash is about names alone. */
function toGlob(glob: string | undefined): (below: string) => boolean {
  if (glob === undefined) return () => true;
  const matches = picomatch(glob, { dot: true, basename: !glob.includes('/') });
  return (below) => matches(below);
}

async function findFiles(walk: Walk, files: Files, { pattern, file_glob, limit = 50, offset = 0 }: SearchArgs): Promise<Record<string, unknown>> {
  const byPattern = toGlob(pattern);
  const byGlob = toGlob(file_glob);
  const found: string[] = [];
  for await (const { real, below } of walk.files()) if (byPattern(below) && byGlob(below)) found.push(files.show(real));
  return { files: found.slice(offset, offset + limit), ...toTotals(found.length, offset, limit, walk) };
}

async function searchContent(walk: Walk, files: Files, args: SearchArgs): Promise<Record<string, unknown>> {
  const { pattern, file_glob, limit = 50, offset = 0, output_mode = 'content', context = 0 } = args;
  const match = createLineMatcher(pattern);
  const byGlob = toGlob(file_glob);
  const matches: { path: string; line: number; content: string }[] = [];
  const counts = new Map<string, number>();
  for await (const { real, below } of walk.files()) {
    if (!byGlob(below)) continue;
    const text = await readable(files, real);
    if (text === null) continue;
    const lines = text.split('\n');
    const found = match(lines);
    await breathe();
    if (found.length > 0) counts.set(files.show(real), found.length);
    for (const at of found) if (matches.length < mostMatches) matches.push({ path: files.show(real), line: at + 1, content: excerpt(lines, at, context) });
  }
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  if (output_mode === 'content') return { matches: matches.slice(offset, offset + limit), ...toTotals(total, offset, limit, walk) };
  const each = [...counts].slice(offset, offset + limit);
  const totals = toTotals(counts.size, offset, limit, walk);
  return output_mode === 'count' ? { counts: Object.fromEntries(each), ...totals } : { files: each.map(([path]) => path), ...totals };
}

/** Null for what cannot be searched: binary, too large, secret, gone meanwhile. */
async function readable(files: Files, real: string): Promise<string | null> {
  try {
    return await readText(await files.open(real), real);
  } catch {
    return null;
  }
}

function excerpt(lines: readonly string[], at: number, context: number): string {
  return lines
    .slice(Math.max(0, at - context), at + context + 1)
    .map((line) => cut(line.replace(/\r$/, ''), longestLine))
    .join('\n');
}

function toTotals(total: number, offset: number, limit: number, walk: Walk): Record<string, unknown> {
  const short = walk.cutShort();
  return { total_count: total, truncated: short !== null || total > offset + limit, ...(short ? { note: `The search ${short}.` } : {}) };
}
