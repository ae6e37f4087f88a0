/**
 * The text that a model gave as a tool's arguments -> an object that is safe to hand on, or the reason why there is none.
 * A call without an object never runs: guessing `{}` would run a tool with arguments that nobody chose.
 */
const maxBytes = 256 * 1024;
const maxDepth = 64;
/** Keys that reach an object's prototype when somebody copies the arguments carelessly. */
const dangerousKeys = new Set(['__proto__', 'constructor', 'prototype']);

export type ParsedArguments = { args: Record<string, unknown>; invalid?: undefined } | { args: Record<string, never>; invalid: string };

/** `text` is the concatenation of all deltas. Blank text is how many servers write a call that has no arguments. */
export function parseArguments(text: string): ParsedArguments {
  if (Buffer.byteLength(text) > maxBytes) return refuse('the arguments are larger than 256 KiB');
  if (text.trim() === '') return { args: {} };
  if (isDeeperThan(text, maxDepth)) return refuse(`the arguments are nested deeper than ${maxDepth} levels`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (thrown) {
    return refuse(`the arguments are not valid JSON (${(thrown as SyntaxError).message}); send one JSON object`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return refuse('the arguments are not a JSON object; send one JSON object');
  try {
    return { args: withoutDangerousKeys(value) as Record<string, unknown> };
  } catch (thrown) {
    return refuse((thrown as RangeError).message);
  }
}

function refuse(invalid: string): ParsedArguments {
  return { args: {}, invalid };
}

/** Counts brackets outside strings, before anything recursive sees the text. */
function isDeeperThan(text: string, limit: number): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (inString) {
      if (char === '\\') at++;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === '{' || char === '[') {
      if (++depth > limit) return true;
    } else if (char === '}' || char === ']') depth--;
  }
  return false;
}

function withoutDangerousKeys(value: unknown): unknown {
  // JSON.parse reads 1e999 as Infinity, which JSON cannot write again.
  if (typeof value === 'number' && !Number.isFinite(value)) throw new RangeError('the arguments hold a number that is too large');
  if (Array.isArray(value)) return value.map(withoutDangerousKeys);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([key]) => !dangerousKeys.has(key));
  return Object.fromEntries(entries.map(([key, inner]) => [key, withoutDangerousKeys(inner)]));
}
