/** One timer over a stream: it ends the attempt when nothing new has come for as long as the present limit says. */
import type { ModelDeps } from '../contract/model.ts';

/** Given as the reason of every abort here: without one Node makes an exception with a stack each time, and a call has three. */
const over = new Error('the wait is over');

export interface Watch {
  /** Something new came; from now on `limitMs` may pass until the next thing. */
  touch(limitMs: number): void;
  stop(): void;
}

export function startWatch({ now, sleep }: Pick<ModelDeps, 'now' | 'sleep'>, limitMs: number, onExpire: (limitMs: number) => void): Watch {
  let limit = limitMs;
  let last = now();
  let nap = new AbortController();
  const stopped = new AbortController();
  void run();
  return {
    touch(limitMs) {
      last = now();
      // A stream of thousands of tokens does not start as many timers: a nap that is too short is simply taken again.
      if (limitMs < limit) nap.abort(over);
      limit = limitMs;
    },
    stop() {
      stopped.abort(over);
      nap.abort(over);
    },
  };

  async function run(): Promise<void> {
    while (!stopped.signal.aborted) {
      const rest = last + limit - now();
      if (rest <= 0) return onExpire(limit);
      nap = new AbortController();
      await sleep(rest, nap.signal).catch(() => undefined);
    }
  }
}
