/**
 * Threads in which the bot is at home: it was called there or has written there, so it is meant without a further mention. The newest 500,
 * kept across a restart; in an older thread a mention calls it again.
 */
import { z } from 'zod';
import type { AdapterContext } from '../../src/contract/adapter.ts';

export interface Threads {
  /** Reads what a former process kept; the other methods know only this process before it. */
  load(): Promise<void>;
  has(channel: string, thread: string): boolean;
  /** What we said in the message that opened the thread, until somebody has answered it there. */
  saidIn(channel: string, thread: string): string | undefined;
  /** Somebody called us to this thread, or answered there. Resolves after the commit. */
  join(channel: string, thread: string): Promise<void>;
  /** We wrote this into the thread, or opened it with it. Never rejects. */
  wrote(channel: string, thread: string, text: string): Promise<void>;
}

const limit = 500;
/** Enough to know what a thread is about; the whole list is one row of the store. */
const quoteLimit = 400;
const stateKey = 'threads';
const saved = z.array(z.tuple([z.string(), z.string()]));

export function createThreads(state: AdapterContext['state']): Threads {
  /** `channel:thread` -> what we said at its head, or nothing; the least recently used first. */
  const known = new Map<string, string>();
  let loaded: Promise<void> | undefined;

  function load(): Promise<void> {
    loaded ??= read().catch((error: unknown) => {
      loaded = undefined;
      throw error;
    });
    return loaded;
  }

  async function read(): Promise<void> {
    const stored = saved.safeParse(parse((await state.get(stateKey)) ?? '[]'));
    const here = [...known];
    known.clear();
    for (const [key, said] of [...(stored.success ? stored.data : []), ...here]) known.set(key, said);
  }

  /** Writes only what is new, so that a thread costs one commit and not one for each of its messages. */
  async function put(key: string, said: string): Promise<void> {
    await load();
    const isNew = known.get(key) !== said;
    known.delete(key);
    known.set(key, said);
    if (!isNew) return;
    for (const oldest of known.keys()) if (known.size > limit) known.delete(oldest);
    try {
      await state.set(stateKey, JSON.stringify([...known]));
    } catch (error) {
      // The event comes again, and with it another try.
      known.delete(key);
      throw error;
    }
  }

  return {
    load,
    has: (channel, thread) => known.has(`${channel}:${thread}`),
    saidIn: (channel, thread) => known.get(`${channel}:${thread}`) || undefined,
    join: (channel, thread) => put(`${channel}:${thread}`, ''),
    async wrote(channel, thread, text) {
      // A thread that we only answer in needs no quote: its session knows what was said.
      const key = `${channel}:${thread}`;
      await put(key, known.get(key) ?? text.slice(0, quoteLimit).toWellFormed()).catch(() => undefined);
    },
  };
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return undefined;
  }
}
