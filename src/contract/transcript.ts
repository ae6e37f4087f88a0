/**
 * The transcript: what a session remembers, as entries in order. It is the journal too: a turn that died goes on from its
 * entries. The grammar (agent/history.ts asserts it): (user, (assistant with calls, one tool entry per call)*, assistant text)*.
 */
import type { ToolCall } from './model.ts';

export type Entry = UserEntry | AssistantEntry | ToolEntry;

export interface UserEntry {
  role: 'user';
  turnId: string;
  text: string;
  /** Files under the home folder's cache that belong to the message; images among them go to vision models. */
  media?: { path: string; mime: string; name: string; kind: string }[];
  /** A note from the gateway that belongs to this turn's beginning (a reply that did not arrive ...). */
  note?: string;
}

export interface AssistantEntry {
  role: 'assistant';
  turnId: string;
  text: string;
  toolCalls: ToolCall[];
}

export interface ToolEntry {
  role: 'tool';
  turnId: string;
  toolCallId: string;
  name: string;
  /** Null while the tool runs: it was started and has no result yet. */
  text: string | null;
}

/** What the plugin hooks get as conversation_history: a copy in the shape that OpenAI's API uses. */
export interface HistoryMessage {
  role: 'user' | 'assistant' | 'tool';
  content: string;
  tool_calls?: { id: string; type: 'function'; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
}

/** Where a running turn writes itself down. Each call resolves after its commit. */
export interface Journal {
  /** The user's entry and the context that pre_llm_call gave; called once, before the first step. Not urgent: it may wait for what is written next. */
  begin(entry: UserEntry, context: string, isUrgent: boolean): Promise<void>;
  /** An assistant step with tool calls, before any of them runs. */
  step(entry: AssistantEntry): Promise<void>;
  toolStarted(entry: ToolEntry): Promise<void>;
  toolResult(entry: ToolEntry): Promise<void>;
  /** A steering message that was added after a tool result. */
  steered(entry: UserEntry): Promise<void>;
  /** Entries before the turn `firstKeptTurnId` are replaced by `summary` for every later request; they stay searchable. */
  compacted(summary: string, firstKeptTurnId: string): Promise<void>;
}
