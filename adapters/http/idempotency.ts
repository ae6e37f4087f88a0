/**
 * Remembers which request an Idempotency-Key stood for, across restarts: the answer to one question must never be given to
 * another that reuses its key. The inbox makes the turn happen once; this only notices a key that is used for something else.
 */
import { createHash } from 'node:crypto';
import type { AdapterContext } from '../../src/contract/adapter.ts';

/** State cannot be deleted, so the memory is a fixed number of rows, each with its newest keys: about 8,000 in all. */
const rows = 256;
const keysPerRow = 32;

export interface KeyMemory {
  /** False when `key` stood for another request before. Resolves after the commit. `key` and `request` are hashes. */
  claim(key: string, request: string): Promise<boolean>;
}

export function createKeyMemory(state: AdapterContext['state']): KeyMemory {
  const loaded = new Map<string, Promise<Map<string, string>>>();
  const load = async (name: string) => new Map(toPairs(await state.get(name)));
  return {
    async claim(key, request) {
      const name = `idempotency:${Number.parseInt(key.slice(0, 8), 16) % rows}`;
      const loading = loaded.get(name) ?? load(name);
      loaded.set(name, loading);
      loading.catch(() => loaded.delete(name));
      const known = await loading;
      // No await from here to set(): of two requests with one key the second sees what the first wrote.
      const before = known.get(key);
      if (before !== undefined) return before === request;
      known.set(key, request);
      const oldest = known.keys().next().value;
      if (known.size > keysPerRow && oldest !== undefined) known.delete(oldest);
      await state.set(name, JSON.stringify([...known]));
      return true;
    },
  };
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function toPairs(text: string | undefined): [string, string][] {
  if (text === undefined) return [];
  try {
    const pairs: unknown = JSON.parse(text);
    return Array.isArray(pairs) ? pairs.filter(isPair) : [];
  } catch {
    return [];
  }
}

function isPair(pair: unknown): pair is [string, string] {
  return Array.isArray(pair) && pair.length === 2 && pair.every((half) => typeof half === 'string');
}
