/** The task list of a session. The agent keeps the list (../todo.ts); this is what the model is told. */
import type { Tool } from '../../contract/tool.ts';
import { ofAgent } from '../of-agent.ts';

export default {
  name: 'todo',
  toolset: 'todo',
  emoji: '📋',
  ...ofAgent,
  schema: {
    name: 'todo',
    description: 'Keep a task list for work of several steps. Without todos it is read; merge updates items by id instead of replacing the list.',
    parameters: {
      type: 'object',
      properties: {
        todos: {
          type: 'array',
          items: {
            type: 'object',
            properties: {
              id: { type: 'string' },
              content: { type: 'string' },
              status: { type: 'string', description: 'pending, in_progress, completed or cancelled' },
            },
          },
        },
        merge: { type: 'boolean' },
      },
    },
  },
} satisfies Tool;
