/** The store's whole surface: coarse operations, each atomic, each a promise, so that another engine could stand behind it. */
import { createKeyedState, type StateOf } from './adapter-state.ts';
import { createCommitTurn, createFinishWith, type CommitTurn, type FinishWith } from './commit-turn.ts';
import { openDatabase, type OpenOptions } from './database.ts';
import { createInbox, type Inbox } from './inbox.ts';
import { createOutbox, type Outbox } from './outbox.ts';
import { createPairingStore, type PairingStore } from './pairing.ts';
import { createRetention, type Retention } from './retention.ts';
import { createSessions, type Sessions } from './sessions.ts';
import { createTranscript, type Transcript } from './transcript.ts';

export interface Store {
  inbox: Inbox;
  outbox: Outbox;
  sessions: Sessions;
  transcript: Transcript;
  pairing: PairingStore;
  retention: Retention;
  commitTurn: CommitTurn;
  finishWith: FinishWith;
  state: StateOf;
  /** Flushes and closes; later writes reject with STORE_UNAVAILABLE. */
  close(): Promise<void>;
}

/** `process` names who claims rows here: `daemon`, or one name per terminal. Recovery takes only its own; only the daemon delivers. */
export function openStore(options: OpenOptions & { process: string }): Store {
  const db = openDatabase(options);
  return {
    inbox: createInbox(db, options.process),
    outbox: createOutbox(db, options.process),
    sessions: createSessions(db),
    transcript: createTranscript(db),
    pairing: createPairingStore(db),
    retention: createRetention(db),
    commitTurn: createCommitTurn(db),
    finishWith: createFinishWith(db),
    state: createKeyedState(db),
    close: db.close,
  };
}
