/**
 * Remembers which providers keep failing, so that a conversation does not pay for the same outage message after message: five failures
 * within a minute, and for half a minute the next in the chain is asked at once. Then one attempt tells how it is now.
 */
import type { Provider } from './attempt.ts';

const failuresToOpen = 5;
const windowMs = 60_000;
const restMs = 30_000;

export interface Circuit {
  isOpen(provider: Provider): boolean;
  /** The provider was there and did not answer as it should. */
  failed(provider: Provider): void;
  answered(provider: Provider): void;
}

/** `now`: ms of a clock that only goes forward. */
export function createCircuit(now: () => number): Circuit {
  const failures = new Map<Provider, number[]>();
  const openUntil = new Map<Provider, number>();
  return {
    isOpen: (provider) => (openUntil.get(provider) ?? -Infinity) > now(),
    failed(provider) {
      const recent = [...(failures.get(provider) ?? []).filter((at) => at > now() - windowMs), now()].slice(-failuresToOpen);
      failures.set(provider, recent);
      if (recent.length >= failuresToOpen) openUntil.set(provider, now() + restMs);
    },
    answered(provider) {
      failures.delete(provider);
      openUntil.delete(provider);
    },
  };
}
