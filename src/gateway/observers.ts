/** Who follows which message through its turn: HTTP requests and the terminal, whose answers are read from the turn. */
import type { TurnObserver } from '../contract/adapter.ts';
import type { TurnEvent, TurnOutcome } from '../contract/turn.ts';

export interface Observers {
  follow(inboxId: number, observer: TurnObserver): void;
  emit(inboxIds: readonly number[], event: TurnEvent): void;
  done(inboxIds: readonly number[], outcome: TurnOutcome): void;
  has(inboxId: number): boolean;
}

export function createObservers(): Observers {
  const byRow = new Map<number, TurnObserver[]>();
  return {
    follow(inboxId, observer) {
      const list = byRow.get(inboxId);
      if (list) list.push(observer);
      else byRow.set(inboxId, [observer]);
    },
    emit(inboxIds, event) {
      for (const id of inboxIds) for (const observer of byRow.get(id) ?? []) observer.onEvent(event);
    },
    done(inboxIds, outcome) {
      for (const id of inboxIds) {
        const observers = byRow.get(id) ?? [];
        byRow.delete(id);
        for (const observer of observers) observer.onDone(outcome);
      }
    },
    has: (inboxId) => byRow.has(inboxId),
  };
}
