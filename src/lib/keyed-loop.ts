/**
 * Runs one loop per key: a lane per session, a drain per chat. wake(key) starts the key's loop unless it runs; the loop calls
 * step(key) until there is nothing to do. A wake that comes while a step is on its way is never lost: there is no await between
 * the look at it and the end of the loop.
 */
import { toMessage } from '../contract/errors.ts';
import type { Log } from '../contract/log.ts';

/** `again`: there may be more. `idle`: nothing now. `at`: nothing before this moment (ms since the epoch). */
export type Step = 'again' | 'idle' | { at: number };

export interface KeyedLoop {
  /** Safe to call at any time and as often as wanted. */
  wake(key: string): void;
  /** Lets loops run; before it, wake() only remembers. */
  open(): void;
  /** No further steps. Resolves when the running ones have ended. */
  close(): Promise<void>;
  isRunning(key: string): boolean;
  running(): number;
}

export interface KeyedLoopOptions {
  step(key: string): Promise<Step>;
  /** Loops running at once; others begin in the order of their waking. */
  maxRunning: number;
  now(): number;
  log: Log;
}

/** After a step that threw, ms. */
const pauseAfterFault = 5000;

export function createKeyedLoop({ step, maxRunning, now, log }: KeyedLoopOptions): KeyedLoop {
  const active = new Set<string>();
  const woken = new Set<string>();
  const timers = new Map<string, NodeJS.Timeout>();
  const whenIdle: (() => void)[] = [];
  let isOpen = false;
  let isClosed = false;

  const start = () => {
    if (!isOpen || isClosed) return;
    for (const key of woken) {
      if (active.size >= maxRunning) return;
      if (active.has(key)) continue;
      active.add(key);
      void run(key);
    }
  };

  const run = async (key: string) => {
    try {
      while (!isClosed) {
        woken.delete(key);
        const next = await step(key);
        if (next === 'again' || woken.has(key)) continue;
        if (next !== 'idle') wakeAt(key, next.at);
        break;
      }
    } catch (thrown) {
      log.error('a step failed; it is tried again in 5 s', { key, error: toMessage(thrown) });
      wakeAt(key, now() + pauseAfterFault);
    } finally {
      active.delete(key);
      if (active.size === 0) for (const resolve of whenIdle.splice(0)) resolve();
      start();
    }
  };

  const wakeAt = (key: string, at: number) => {
    if (isClosed) return;
    clearTimeout(timers.get(key));
    const fire = () => {
      timers.delete(key);
      wake(key);
    };
    // A timer holds at most 2^31 ms; a longer wait only looks again in between.
    timers.set(key, setTimeout(fire, Math.min(Math.max(0, at - now()), 2 ** 31 - 1)));
  };

  const wake = (key: string) => {
    woken.add(key);
    start();
  };

  return {
    wake,
    open() {
      isOpen = true;
      start();
    },
    async close() {
      isClosed = true;
      for (const timer of timers.values()) clearTimeout(timer);
      if (active.size > 0) await new Promise<void>((resolve) => whenIdle.push(resolve));
    },
    isRunning: (key) => active.has(key),
    running: () => active.size,
  };
}
