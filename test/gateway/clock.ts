/** Time that a test moves: timers and Date stand still until advance(); the store's own flushes go on in real time. */
import { onTestFinished, vi } from 'vitest';

export interface Clock {
  now(): number;
  /** Moves time on by `ms` in steps of `stepMs`, and lets what becomes due happen. */
  advance(ms: number, stepMs?: number): Promise<void>;
}

export function stopClock(at = Date.UTC(2026, 0, 5, 12)): Clock {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'], now: at });
  onTestFinished(() => void vi.useRealTimers());
  return {
    now: Date.now,
    async advance(ms, stepMs = 250) {
      await idle();
      for (let left = ms; left > 0; left -= stepMs) {
        vi.advanceTimersByTime(Math.min(left, stepMs));
        await idle();
      }
    },
  };
}

/** A write is flushed within a few turns of the event loop; what follows from it may write again. */
async function idle(): Promise<void> {
  for (let turn = 0; turn < 30; turn++) await new Promise((resolve) => setImmediate(resolve));
}
