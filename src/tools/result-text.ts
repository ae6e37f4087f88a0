/**
 * What the model reads as a tool's result: always one string. Errors have one shape, `{"error": "..."}`, and a cap, because
 * an error text may hold anything, a whole page or a stack of frames among it.
 */
import { parseJson } from './safe-json.ts';

/** Characters of an error text that the model gets. */
const errorChars = 2048;

/** A result of the shape `{"error": message, ...more}`. */
export function toErrorResult(message: string, more: Record<string, unknown> = {}): string {
  return JSON.stringify({ error: capError(message), ...more });
}

/** The text of anything that was thrown, with its type: `TypeError: x is not a function`, `null`. Never throws itself. */
export function toThrownText(thrown: unknown): string {
  try {
    return thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
  } catch {
    return 'a value that cannot be shown';
  }
}

export type HandlerValue =
  | { kind: 'text'; text: string }
  /** The rule is a string; the author is told once. */
  | { kind: 'object'; text: string }
  | { kind: 'failure'; message: string }
  | { kind: 'unsupported'; type: string };

/** Sorts what a handler returned into text, an object that became JSON, a failure, or something no rule covers. */
export function toHandlerValue(value: unknown): HandlerValue {
  if (typeof value === 'string') return { kind: 'text', text: value };
  if (typeof value !== 'object') return { kind: 'unsupported', type: typeof value };
  if (value === null) return { kind: 'unsupported', type: 'null' };
  try {
    if (value instanceof Error) return { kind: 'failure', message: toThrownText(value) };
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return { kind: 'unsupported', type: 'bytes' };
    const text: unknown = JSON.stringify(value);
    return typeof text === 'string' ? { kind: 'object', text } : { kind: 'unsupported', type: 'object without JSON' };
  } catch (thrown) {
    return { kind: 'unsupported', type: `object that cannot be JSON (${cut(toThrownText(thrown), 200)})` };
  }
}

/** An error result whose text is over the cap comes back with the text cut; every other result unchanged. */
export function capErrorResult(text: string): string {
  if (text.length <= errorChars || !/^\s*\{\s*"error"\s*:/.test(text)) return text;
  const result = parseJson(text);
  if (typeof result !== 'object' || result === null || !('error' in result)) return text;
  const { error } = result;
  if (typeof error !== 'string' || error.length <= errorChars) return text;
  return JSON.stringify({ ...result, error: capError(error) });
}

function capError(message: string): string {
  return message.length > errorChars ? `${cut(message, errorChars)}… [truncated]` : message;
}

/** The first `length` UTF-16 units, one fewer where a surrogate pair would be torn. */
export function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  return text.slice(0, isHighSurrogate(text, length - 1) ? length - 1 : length);
}

/** The last `length` UTF-16 units, one fewer where a surrogate pair would be torn. */
export function cutStart(text: string, length: number): string {
  const start = Math.max(0, text.length - length);
  return text.slice(isHighSurrogate(text, start - 1) ? start + 1 : start);
}

function isHighSurrogate(text: string, index: number): boolean {
  const unit = text.charCodeAt(index);
  return unit >= 0xd800 && unit <= 0xdbff;
}
