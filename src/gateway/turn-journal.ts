/**
 * Where a running turn writes itself down: each call is a commit, awaited by the agent before anything happens that must not happen twice,
 * so that what has happened is always in the store and what is in the store has happened.
 */
import type { Journal } from '../contract/transcript.ts';
import type { Store } from '../store/store.ts';
import type { Observers } from './observers.ts';
import type { RunningTurn } from './running-turns.ts';

export interface TurnJournalOptions {
  store: Store;
  turn: RunningTurn;
  modelId: string;
  /** Rows that the turn answers. */
  inboxIds: number[];
  observers: Observers;
  /** Throws when the turn has to end at this boundary. */
  mayGoOn(): void;
  now(): number;
  crash(label: string): void;
}

export function createTurnJournal({ store, turn, modelId, inboxIds, observers, mayGoOn, now, crash }: TurnJournalOptions): Journal {
  const { transcript, sessions } = store;
  const { sessionId } = turn;
  return {
    async begin(entry, context, isUrgent) {
      await transcript.beginTurn({ turnId: entry.turnId, sessionId, model: modelId, context, entry, inboxIds, isUrgent, now: now() });
      crash('turn_begun');
    },
    async step(entry) {
      await transcript.append(sessionId, entry, now());
      crash('step_stored');
      // None of the step's tools has begun: a better place to stop than in the middle of one.
      mayGoOn();
    },
    async toolStarted(entry) {
      await transcript.append(sessionId, entry, now());
      crash('tool_started');
    },
    async toolResult(entry) {
      crash('tool_done');
      await transcript.finishTool(sessionId, entry, now());
      crash('tool_stored');
    },
    async steered(entry) {
      const ids = turn.steered.splice(0);
      await transcript.append(sessionId, entry, now(), ids);
      observers.done(ids, { status: 'answered', text: '', sessionId, turnId: entry.turnId });
    },
    async compacted(summary, firstKeptTurnId) {
      const first = transcript.firstEntryOf(firstKeptTurnId);
      if (first !== null) await sessions.compacted(sessionId, summary, first);
    },
  };
}
