/** Pages through a result that was too long to be shown whole. */
import type { Tool } from '../../contract/tool.ts';
import { answer } from '../answer.ts';
import { readStoredResult } from '../stored-results.ts';

export default {
  name: 'read_result',
  toolset: 'core',
  emoji: '📄',
  parallel: true,
  idempotent: true,
  // A page may hold many escapes; it must never be stored again.
  maxResultChars: 130_000,
  schema: {
    name: 'read_result',
    description: 'Read more of a long tool result by its handle.',
    parameters: {
      type: 'object',
      properties: {
        handle: { type: 'string' },
        offset: { type: 'integer', minimum: 0, description: 'In bytes; continue at next_offset' },
        limit: { type: 'integer', minimum: 1, description: 'At most 20000' },
      },
      required: ['handle'],
    },
  },
  handler: (args, { home }) => {
    const { handle, offset, limit } = args as { handle: string; offset?: number; limit?: number };
    return answer(async () => {
      const page = await readStoredResult(home, handle, offset, limit);
      if (page === null) throw new Error(`No result ${handle.slice(0, 100)} is kept; run the tool again.`);
      return page;
    });
  },
} satisfies Tool;
