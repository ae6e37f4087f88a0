/**
 * Who is running: every call into a plugin's code passes through `runAs`, so that whatever it starts (a timer, a promise nobody
 * waits for, process.exit) can be laid at its door, and so that an answer can find the chat at hand.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

/** Where a call into a plugin belongs; as much of it as is known. */
export interface Place {
  platform?: string;
  sessionId?: string;
  chat?: string;
  thread?: string;
}

interface Frame {
  plugin: string;
  place: Place;
}

/** One per process, because unhandled rejections are the process's own. */
const frames = new AsyncLocalStorage<Frame>();

/** Calls `run` in the plugin's name; everything that it starts is its own too. */
export function runAs<T>(plugin: string, place: Place, run: () => T): T {
  return frames.run({ plugin, place }, run);
}

/** The plugin whose code is running, or started what is running; undefined in the core's own code. */
export function currentPlugin(): string | undefined {
  return frames.getStore()?.plugin;
}

/** The chat at hand for the plugin that is running; empty when there is none. */
export function currentPlace(): Place {
  return frames.getStore()?.place ?? {};
}

/** Reads a place from a hook's payload. `chat` is an id in some payloads and `{id, type, thread}` in others. */
export function placeOf(payload: Record<string, unknown>): Place {
  const chat: unknown = payload.chat;
  const parts = typeof chat === 'object' && chat !== null ? (chat as Record<string, unknown>) : { id: chat };
  const place: Place = {};
  if (typeof payload.platform === 'string') place.platform = payload.platform;
  if (typeof payload.session_id === 'string') place.sessionId = payload.session_id;
  if (typeof parts.id === 'string') place.chat = parts.id;
  if (typeof parts.thread === 'string') place.thread = parts.thread;
  return place;
}
