/** Shows a text file with line numbers, a page at a time; result handles of other tools are paged by bytes. */
import type { Tool, ToolDeps } from '../../contract/tool.ts';
import { answer } from '../answer.ts';
import { openFiles } from '../files.ts';
import { readText } from '../read-text.ts';
import { cut } from '../result-text.ts';
import { isResultHandle, readStoredResult } from '../stored-results.ts';

const mostLines = 2_000;
const longestLine = 2_000;
/** Below the size from which results are stored: a page must never become a handle again. */
const mostChars = 40_000;

export default function readFileTool(deps: ToolDeps): Tool {
  return {
    name: 'read_file',
    toolset: 'file',
    emoji: '📖',
    parallel: true,
    idempotent: true,
    // A page of a stored result may hold many escapes; it must never be stored again.
    maxResultChars: 130_000,
    schema: {
      name: 'read_file',
      description: 'Read a text file as LINE|CONTENT, or page through a result handle (offset and limit then count bytes).',
      parameters: {
        type: 'object',
        properties: {
          path: { type: 'string', description: 'File in the workspace, absolute path, or result handle' },
          offset: { type: 'integer', minimum: 0, description: 'First line, from 1' },
          limit: { type: 'integer', minimum: 1, description: `Lines, at most ${mostLines} (default 500)` },
        },
        required: ['path'],
      },
    },
    handler: (args, { platform, home }) => {
      const { path, offset, limit } = args as { path: string; offset?: number; limit?: number };
      return answer(async () => {
        if (isResultHandle(path)) {
          const page = await readStoredResult(home, path, offset, limit);
          if (page === null) throw new Error(`${path} is not kept any more; run the tool again.`);
          return page;
        }
        const files = await openFiles(deps, platform);
        const file = await files.open(path);
        return toPage(await readText(file, path), files.show(file.real), offset ?? 1, limit ?? 500);
      });
    },
  };
}

function toPage(text: string, path: string, offset: number, limit: number): Record<string, unknown> {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  const first = Math.max(1, offset);
  const shown: string[] = [];
  let chars = 0;
  for (const line of lines.slice(first - 1, first - 1 + Math.min(limit, mostLines))) {
    const whole = line.replace(/\r$/, '');
    const numbered = `${first + shown.length}|${whole.length > longestLine ? `${cut(whole, longestLine)}… [line of ${whole.length} characters]` : whole}`;
    chars += JSON.stringify(numbered).length;
    if (chars > mostChars && shown.length > 0) break;
    shown.push(numbered);
  }
  const next = first + shown.length;
  return { path, total_lines: lines.length, ...(next <= lines.length && shown.length > 0 ? { next_offset: next } : {}), content: shown.join('\n') };
}
