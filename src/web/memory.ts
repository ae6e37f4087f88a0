/** What this browser remembers: which chat it is in and what was said there. Lost memory costs nothing but the view of it. */
import type { Part } from './answer.ts';

const place = 'hermes.chat';
const maxTurns = 100;
const maxChars = 1_000_000;

export interface Turn {
  /** Idempotency-Key of the question. */
  key: string;
  text: string;
  parts: Part[];
  /** Absent while there is no end: then it is asked again after a reload. */
  end?: { status: 'answered' | 'stopped' } | { status: 'failed'; message: string };
}

export interface Memory {
  /** Sent as X-Hermes-Session-Id. */
  session: string;
  turns: Turn[];
}

export function loadMemory(storage: Storage): Memory {
  try {
    const memory = JSON.parse(storage.getItem(place) ?? '') as Memory;
    if (typeof memory.session === 'string' && Array.isArray(memory.turns)) return memory;
  } catch {
    // Nothing kept, or not by this version.
  }
  return freshMemory();
}

export function freshMemory(): Memory {
  return { session: `page-${randomId()}`, turns: [] };
}

export function saveMemory(storage: Storage, memory: Memory): void {
  for (let turns = memory.turns.slice(-maxTurns); ; turns = turns.slice(Math.ceil(turns.length / 2))) {
    const text = JSON.stringify({ ...memory, turns });
    if (text.length > maxChars && turns.length > 1) continue;
    try {
      storage.setItem(place, text);
    } catch {
      // Storage is full or forbidden: the chat goes on and is gone after a reload.
    }
    return;
  }
}

/** Works on plain http too, where crypto.randomUUID does not exist. */
export function randomId(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
