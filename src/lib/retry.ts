/** Waiting and back-off, with an AbortSignal that ends a wait at once. */

/** Resolves after `ms`, or rejects with the signal's reason when it is aborted first. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error);
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

export interface Backoff {
  baseMs: number;
  capMs: number;
  /** Share of the delay by which it varies up and down, 0 to 1. */
  jitter: number;
}

/** Delay in ms before try `attempt` + 1; `attempt` counts from 1. Doubles each time up to the cap. */
export function backoffMs(attempt: number, { baseMs, capMs, jitter }: Backoff, random: () => number = Math.random): number {
  const delay = Math.min(capMs, baseMs * 2 ** (attempt - 1));
  return Math.round(delay * (1 + jitter * (random() * 2 - 1)));
}
