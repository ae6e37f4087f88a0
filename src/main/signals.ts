/** SIGTERM and SIGINT ask the program to stop; a second one ends it at once. */
export interface Signals {
  /** Resolves at the first signal. */
  stopped: Promise<void>;
  stop: AbortSignal;
  release(): void;
}

export function onSignals(): Signals {
  const stop = new AbortController();
  const onSignal = () => {
    if (stop.signal.aborted) process.exit(1);
    stop.abort();
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  return {
    stopped: new Promise((resolve) => stop.signal.addEventListener('abort', () => resolve(), { once: true })),
    stop: stop.signal,
    release() {
      process.off('SIGTERM', onSignal);
      process.off('SIGINT', onSignal);
    },
  };
}
