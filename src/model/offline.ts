/**
 * The stand-in that answers when no provider is configured: no key, no network, the same answer to the same conversation. It
 * says once what it is and what to configure, calls the tools that a message names, and answers from their results.
 */
import type { ModelMessage, ModelRequest, ToolCall } from '../contract/model.ts';
import { type Answer, type Attempt, type AttemptResult, noUsage, type Provider } from './attempt.ts';
import { toArguments } from './offline-arguments.ts';
import { findMentions } from './offline-tools.ts';
import type { ProviderSpec } from './presets.ts';

export function createOfflineProvider(spec: ProviderSpec): Provider {
  return {
    id: spec.id,
    account: spec.id,
    warm: async () => {},
    async attempt({ request, onText }: Attempt): Promise<AttemptResult> {
      const answer = toAnswer(request, spec.missing ?? '');
      for (const delta of answer.text.match(/\S+\s*|\s+/g) ?? []) {
        // Others get their turn between two words, as they would with a model.
        await new Promise(setImmediate);
        if (request.signal.aborted) return { ok: false, fault: { failure: 'aborted', detail: 'ended by the caller', tries: 1, fallback: false }, usage: noUsage };
        onText(delta);
      }
      return { ok: true, ...answer, usage: noUsage };
    },
  };
}

function toAnswer({ messages, tools }: Pick<ModelRequest, 'messages' | 'tools'>, missing: string): Answer {
  const begin = messages.findLastIndex(({ role }) => role === 'user');
  const asked = messages[begin]?.content ?? '';
  const steps = messages.slice(begin + 1);
  const results = steps.filter((message) => message.role === 'tool');
  const mention = findMentions(asked, tools)[results.length];
  if (mention) {
    // The place in the conversation makes the id unique, and the same at every repetition.
    const call: ToolCall = { id: `call_offline_${messages.length}`, name: mention.tool.name, args: toArguments(mention) };
    return { text: '', toolCalls: [call], finish: 'tool_calls' };
  }
  const isFirst = !messages.slice(0, Math.max(begin, 0)).some(({ role }) => role === 'assistant');
  const notice = isFirst ? `I am the offline stand-in, not a language model. To get real answers put ${missing}.\n\n` : '';
  const said = results.length > 0 ? results.map(toSentence).join('\n') : toEcho(asked, tools.map(({ name }) => name));
  return { text: notice + said, toolCalls: [], finish: 'stop' };
}

function toSentence({ name, content }: Extract<ModelMessage, { role: 'tool' }>): string {
  const result = parse(content);
  if (typeof result !== 'object' || result === null) return `The ${name} tool says: ${toText(result)}.`;
  const { error, result: main, ...others } = result as Record<string, unknown>;
  if (error !== undefined) return `The ${name} tool reported an error: ${toText(error)}`;
  if (main !== undefined && main !== null) return `The ${name} tool says: ${toText(main)}.`;
  return `The ${name} tool says: ${toText(others)}.`;
}

function toEcho(asked: string, names: string[]): string {
  const heard = asked.trim() === '' ? 'I can say nothing about this.' : `You said: ${shorten(asked.trim(), 300)}`;
  return names.length === 0 ? heard : `${heard}\n\nI can call a tool when a message names it, for example: ${names.slice(0, 5).join(', ')}.`;
}

/** Plain words for a value: "city: London, temperature: 18". */
function toText(value: unknown): string {
  if (typeof value === 'string') return shorten(value, 1000);
  if (typeof value !== 'object' || value === null) return String(value);
  const entries = Object.entries(value);
  const flat = !Array.isArray(value) && entries.length > 0 && entries.every(([, inner]) => typeof inner !== 'object' || inner === null);
  return shorten(flat ? entries.map(([key, inner]) => `${key}: ${String(inner)}`).join(', ') : JSON.stringify(value), 1000);
}

function shorten(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, limit)}...`;
}

function parse(content: string): unknown {
  try {
    return JSON.parse(content) as unknown;
  } catch {
    return content;
  }
}
