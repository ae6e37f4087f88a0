/** Tools that need the agent's own state: only their schema lives in the registry, the agent runs them itself. */
import type { Tool } from '../contract/tool.ts';
import { toErrorResult } from './result-text.ts';

export const ofAgent: Pick<Tool, 'agentRun' | 'handler'> = {
  agentRun: true,
  handler: () => toErrorResult('This tool needs the agent\'s own state and cannot be dispatched directly.'),
};
