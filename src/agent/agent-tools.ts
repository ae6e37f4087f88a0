/**
 * The tools that need what the agent has and the registry has not: the session's todo list, memory, other sessions, the person at
 * the other end. Their schemas stand in the registry; they run through the same hooks as every tool.
 */
import type { AgentTool, ToolArgs, ToolContext } from '../contract/tool.ts';
import type { Entry } from '../contract/transcript.ts';
import { createClarify, type Ask } from './clarify.ts';

export interface AgentToolDeps {
  /** The list of this session; `restore` takes an earlier result of `run`. */
  todo: { run(args: ToolArgs): string | Promise<string>; restore(result: string): void };
  /** Earlier entries of the session; the last todo result among them is the list to go on with. */
  history: readonly Entry[];
  /** Absent where this turn may not use it. */
  memory?: { run(args: ToolArgs, context: ToolContext): string | Promise<string> };
  sessionSearch?(args: ToolArgs, context: ToolContext): string | Promise<string>;
  /** Absent where nobody can answer during the turn. */
  ask?: Ask;
}

export function createAgentTools({ todo, history, memory, sessionSearch, ask }: AgentToolDeps): Map<string, AgentTool> {
  const last = findLastTodo(history);
  if (last !== null) todo.restore(last);
  return new Map<string, AgentTool>([
    ['todo', async (args) => todo.run(args)],
    ['memory', memory ? async (args, context) => memory.run(args, context) : unavailable('memory')],
    ['session_search', sessionSearch ? async (args, context) => sessionSearch(args, context) : unavailable('session_search')],
    ['clarify', createClarify(ask)],
  ]);
}

/** Results that were shortened, refused or commented on are no list; the one before them is. */
function findLastTodo(history: readonly Entry[]): string | null {
  for (const entry of history.toReversed()) {
    if (entry.role !== 'tool' || entry.name !== 'todo' || !entry.text) continue;
    try {
      const result: unknown = JSON.parse(entry.text);
      if (typeof result === 'object' && result !== null && 'todos' in result) return entry.text;
    } catch {
      // A loop warning stands behind the JSON: the result before it was the same.
    }
  }
  return null;
}

function unavailable(name: string): AgentTool {
  return async () => JSON.stringify({ error: `${name} is not available in this execution context` });
}
