/** Lasting notes. The agent runs it on the files of the memory room; this is what the model is told. */
import type { Tool } from '../../contract/tool.ts';
import { ofAgent } from '../of-agent.ts';

export default {
  name: 'memory',
  toolset: 'memory',
  emoji: '🧠',
  ...ofAgent,
  schema: {
    name: 'memory',
    description: 'Keep facts for later conversations: target user for the person (preferences, names), memory for the rest. replace and remove find an entry by old_text, a unique part of it.',
    parameters: {
      type: 'object',
      properties: {
        action: { type: 'string', enum: ['add', 'replace', 'remove'] },
        target: { type: 'string', enum: ['memory', 'user'] },
        content: { type: 'string' },
        old_text: { type: 'string' },
      },
      required: ['action', 'target'],
    },
  },
} satisfies Tool;
