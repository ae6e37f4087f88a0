/** JSON from outside. Keys that reach prototypes are dropped, so no later copy or merge of the value can pollute one. */

const reaching = new Set(['__proto__', 'constructor', 'prototype']);

/** The parsed value, undefined when the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text, (key, value: unknown) => (reaching.has(key) ? undefined : value));
  } catch {
    return undefined;
  }
}

/** The value as an object, null when it is anything else. */
export function toRecord(value: unknown): Record<string, unknown> | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null;
}
