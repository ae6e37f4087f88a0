/**
 * Follows one message through its turn for the request that waits. Events may come before `receive` has resolved, so they are
 * kept until somebody listens.
 */
import type { TurnObserver } from '../../src/contract/adapter.ts';
import type { TurnEvent, TurnOutcome } from '../../src/contract/turn.ts';

export interface Follower {
  observer: TurnObserver;
  /** Hands over what has happened so far, and then each event as it comes. */
  listen(onEvent: (event: TurnEvent) => void): void;
  done: Promise<TurnOutcome>;
}

export function createFollower(): Follower {
  let early: TurnEvent[] = [];
  let listener: ((event: TurnEvent) => void) | null = null;
  let finish: (outcome: TurnOutcome) => void;
  const done = new Promise<TurnOutcome>((resolve) => {
    finish = resolve;
  });
  return {
    observer: {
      onEvent: (event) => (listener ? listener(event) : void early.push(event)),
      onDone: (outcome) => finish(outcome),
    },
    listen(onEvent) {
      listener = onEvent;
      for (const event of early) onEvent(event);
      early = [];
    },
    done,
  };
}
