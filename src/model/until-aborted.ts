/** Waits for an observer to have seen something, but never longer than the caller wants the answer. Never rejects. */
export function untilAborted(work: Promise<void> | undefined, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      signal.removeEventListener('abort', end);
      resolve();
    };
    if (!work || signal.aborted) end();
    else signal.addEventListener('abort', end);
    // An observer that fails is the observer's trouble; its owner has heard of it.
    work?.then(end, end);
  });
}
