/** Looks into earlier conversations. The agent runs it on the transcripts; this is what the model is told. */
import type { Tool } from '../../contract/tool.ts';
import { ofAgent } from '../of-agent.ts';

export default {
  name: 'session_search',
  toolset: 'session_search',
  emoji: '🗂️',
  parallel: true,
  idempotent: true,
  ...ofAgent,
  schema: {
    name: 'session_search',
    description: 'Search earlier conversations by words, read one by session_id, or without arguments list recent ones.',
    parameters: {
      type: 'object',
      properties: {
        query: { type: 'string' },
        session_id: { type: 'string' },
        around_message_id: { type: 'integer', description: 'With session_id: the messages around this one' },
        limit: { type: 'integer', minimum: 1, maximum: 20 },
      },
    },
  },
} satisfies Tool;
