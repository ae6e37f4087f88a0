/** Asks the person and waits for the answer. The agent runs it; this is what the model is told. */
import type { Tool } from '../../contract/tool.ts';
import { ofAgent } from '../of-agent.ts';

export default {
  name: 'clarify',
  toolset: 'clarify',
  emoji: '❓',
  ...ofAgent,
  schema: {
    name: 'clarify',
    description: 'Ask the person one question when the work cannot go on without the answer.',
    parameters: {
      type: 'object',
      properties: {
        question: { type: 'string', minLength: 1 },
        choices: { type: 'array', items: { type: 'string' }, maxItems: 4 },
      },
      required: ['question'],
    },
  },
} satisfies Tool;
