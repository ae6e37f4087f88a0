/**
 * The chunks of one answer -> the answer. Every provider's own way of writing a chat completion passes through here: text as
 * a string or as parts, tool calls with and without index, thoughts, refusals, a whole message in place of deltas.
 */
import { randomUUID } from 'node:crypto';
import type { ToolCall, Usage } from '../contract/model.ts';
import { type Answer, FaultError, noUsage } from './attempt.ts';
import { toBadAnswer, toErrorFault } from './classify.ts';
import { createThinkingFilter } from './hide-thinking.ts';
import { parseArguments } from './parse-arguments.ts';
import { isToolName, toToolName } from './to-openai-messages.ts';

/** Characters of text, thoughts and arguments together that one answer may have. */
const outputLimit = 1024 * 1024;

interface Slot {
  index: number;
  id: string;
  name: string;
  text: string;
}

export interface Assembler {
  /** Takes one chunk as parsed; true when it carried something new. Throws a FaultError on an error object and past 1 Mi characters. */
  add(chunk: unknown): boolean;
  /** True once any part of an answer has come. */
  readonly started: boolean;
  /** True once the provider has said why the answer ends. */
  readonly finished: boolean;
  readonly usage: Usage;
  /** The answer after its last chunk. Throws a FaultError when there was none. */
  finish(): Answer;
}

export function createAssembler(onText: (delta: string) => void): Assembler {
  const slots: Slot[] = [];
  const filter = createThinkingFilter();
  let text = '';
  let size = 0;
  let refused = false;
  let sawChoice = false;
  let reason: string | null = null;
  let usage = noUsage;

  return {
    add(chunk) {
      const record = toRecord(chunk);
      if (!record) return false;
      if (record['error']) throw new FaultError(toErrorFault(record['error']));
      if (toRecord(record['usage'])) usage = toUsage(record['usage']);
      const choices = Array.isArray(record['choices']) ? record['choices'].map(toRecord) : [];
      // We ask for one choice; of a server that sends more, the first counts.
      const choice = choices.find((choice) => choice && (choice['index'] ?? 0) === 0);
      if (!choice) return false;
      sawChoice = true;
      const message = toRecord(choice['message']);
      const delta = toRecord(choice['delta']) ?? message ?? {};
      const before = size;
      const calls = Array.isArray(delta['tool_calls']) ? delta['tool_calls'].map((call) => toRecord(call) ?? {}) : [];
      // The calls of a whole message are told apart by their places; only deltas carry an index.
      calls.forEach((call, place) => addCall(delta === message ? { ...call, index: place } : call));
      size += toText(delta['reasoning_content']).length + toText(delta['reasoning']).length;
      show(filter.push(toText(delta['content'])), toText(delta['content']).length);
      const refusal = toText(delta['refusal']);
      if (refusal) refused = true;
      show(refusal, refusal.length);
      if (typeof choice['finish_reason'] === 'string' && choice['finish_reason'] !== '') reason = choice['finish_reason'].toLowerCase();
      if (reason === 'error') throw new FaultError(toErrorFault(choice['error'] ?? 'finish_reason "error"'));
      if (size > outputLimit)
        throw new FaultError({ failure: 'cut', detail: 'the answer is larger than 1 MiB; reading was stopped', status: 200, tries: 1, fallback: false });
      return size > before || reason !== null;
    },
    get started() {
      return sawChoice;
    },
    get finished() {
      return reason !== null;
    },
    get usage() {
      return usage;
    },
    finish() {
      if (!sawChoice) throw new FaultError(toBadAnswer('the answer has no choices'));
      show(filter.end(), 0);
      const toolCalls = toToolCalls(slots);
      return { text, toolCalls, finish: refused ? 'content_filter' : toFinish(reason, toolCalls.length > 0) };
    },
  };

  function show(visible: string, received: number): void {
    size += received;
    if (visible === '') return;
    text += visible;
    onText(visible);
  }

  function addCall(call: Record<string, unknown>): void {
    const fn = toRecord(call['function']) ?? {};
    const id = toText(call['id']);
    const name = toText(fn['name']);
    const slot = findSlot(call['index'], id, name);
    slot.id ||= id;
    // Some servers repeat the whole name in every delta.
    if (name !== slot.name) slot.name += name;
    const args = typeof fn['arguments'] === 'object' && fn['arguments'] !== null ? JSON.stringify(fn['arguments']) : toText(fn['arguments']);
    slot.text += args;
    size += args.length + name.length;
  }

  /** By index; where it is missing, or the same for every call, a new id with a name begins a new call. */
  function findSlot(index: unknown, id: string, name: string): Slot {
    const known = typeof index === 'number' ? slots.findLast((slot) => slot.index === index) : slots.at(-1);
    const another = id !== '' && name !== '' && known !== undefined && known.id !== '' && known.id !== id;
    const whole = typeof index !== 'number' && id === '' && name !== '';
    if (known && !another && !whole) return known;
    const slot = { index: typeof index === 'number' ? index : slots.length, id: '', name: '', text: '' };
    slots.push(slot);
    return slot;
  }
}

/** In order of index, with ids that are there and unique within the step, whatever the server sent. */
function toToolCalls(slots: Slot[]): ToolCall[] {
  const taken = new Set<string>();
  return slots.toSorted((a, b) => a.index - b.index).map(({ id, name, text }) => {
    const unique = id !== '' && id.length <= 256 && !taken.has(id) ? id : `call_${randomUUID().replaceAll('-', '').slice(0, 24)}`;
    taken.add(unique);
    // A name that cannot exist is made harmless for later requests, and the call never runs: no other tool is meant by it.
    if (!isToolName(name)) return { id: unique, name: toToolName(name), args: {}, invalid: `Unknown tool: ${name.slice(0, 100)}` };
    const parsed = parseArguments(text);
    return parsed.invalid === undefined ? { id: unique, name, args: parsed.args } : { id: unique, name, ...parsed };
  });
}

function toFinish(reason: string | null, hasCalls: boolean): Answer['finish'] {
  if (reason === 'length' || reason === 'max_tokens') return 'length';
  if (reason === 'content_filter' || reason === 'safety') return 'content_filter';
  return hasCalls ? 'tool_calls' : 'stop';
}

function toUsage(value: unknown): Usage {
  const usage = toRecord(value) ?? {};
  return {
    input: toCount(usage['prompt_tokens']),
    output: toCount(usage['completion_tokens']),
    cached: Math.min(toCount(usage['prompt_tokens']), toCount(toRecord(usage['prompt_tokens_details'])?.['cached_tokens'])),
    requests: 0,
  };
}

function toCount(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.round(value) : 0;
}

/** A string, or the text parts of a list of parts. */
function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return '';
  return value.map((part) => toRecord(part)?.['text']).filter((text) => typeof text === 'string').join('');
}

function toRecord(value: unknown): Record<string, unknown> | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null;
}
