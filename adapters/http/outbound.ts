/**
 * From a turn to the shapes of OpenAI's chat completions. What those shapes have no place for travels as named events whose
 * data is a chunk too, with fields of our own: clients that know only chunks read them as chunks with nothing new in them.
 */
import type { TurnEvent, TurnOutcome } from '../../src/contract/turn.ts';
import type { Usage } from '../../src/contract/model.ts';
import { toEvent } from './sse.ts';

/** What stays the same in one answer. */
export interface AnswerHead {
  id: string;
  /** Seconds since the epoch. */
  created: number;
  model: string;
}

/** Source: https://platform.openai.com/docs/api-reference/chat/object */
export function toCompletion(head: AnswerHead, outcome: TurnOutcome, text: string): Record<string, unknown> {
  return {
    id: head.id,
    object: 'chat.completion',
    created: head.created,
    model: outcome.model ?? head.model,
    choices: [{ index: 0, message: { role: 'assistant', content: text, refusal: null }, logprobs: null, finish_reason: 'stop' }],
    usage: toUsage(outcome.usage),
  };
}

export interface Delta {
  role?: 'assistant';
  content?: string;
}

/** One chunk as an event. `name` and `extra` are ours. Source: https://platform.openai.com/docs/api-reference/chat/streaming */
export function toChunk(head: AnswerHead, delta: Delta, finish: 'stop' | null = null, name: string | null = null, extra: Record<string, unknown> = {}): string {
  return toEvent(name, { ...toChunkHead(head), choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }], ...extra });
}

/** The chunk that `stream_options.include_usage` asks for. */
export function toUsageChunk(head: AnswerHead, usage: Usage | undefined): string {
  return toEvent(null, { ...toChunkHead(head), choices: [], usage: toUsage(usage) });
}

export const streamEnd = 'data: [DONE]\n\n';

/** A tool's beginning or end. */
export function toToolChunk(head: AnswerHead, event: Extract<TurnEvent, { type: 'tool_started' | 'tool_finished' }>): string {
  const fields =
    event.type === 'tool_started'
      ? { tool: event.name, emoji: event.emoji, label: toLabel(event.args), toolCallId: event.toolCallId, status: 'running' }
      : { tool: event.name, toolCallId: event.toolCallId, status: event.status === 'ok' ? 'completed' : event.status, durationMs: event.durationMs };
  return toChunk(head, {}, null, 'hermes.tool.progress', fields);
}

/** The first text among the arguments, on one line: enough to see what the tool is at. */
function toLabel(args: Record<string, unknown>): string {
  const value = Object.values(args).find((arg) => typeof arg === 'string' && arg.trim() !== '');
  const line = typeof value === 'string' ? value.replace(/\s+/g, ' ').trim() : '';
  return line.length > 80 ? `${line.slice(0, 79)}…` : line;
}

function toChunkHead({ id, created, model }: AnswerHead): Record<string, unknown> {
  return { id, object: 'chat.completion.chunk', created, model };
}

function toUsage(usage: Usage | undefined): Record<string, unknown> {
  const { input, output, cached } = usage ?? { input: 0, output: 0, cached: 0 };
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output, prompt_tokens_details: { cached_tokens: cached } };
}
