/**
 * Ends inbox rows from outside their turn: it was quarantined, or a fault broke out of it. Whatever the turn had written down gets its
 * missing results and an answer, so that what is on disk is a history that can be sent; all in one transaction with what is said about it.
 */
import { repairHistory } from '../agent/history.ts';
import type { ErrorCode } from '../contract/errors.ts';
import type { NewPart } from '../store/outbox.ts';
import type { Store } from '../store/store.ts';

export interface Closing {
  state: 'failed' | 'quarantined';
  code: ErrorCode;
  /** What its chat is told; kept as the turn's answer. */
  text: string;
  parts: NewPart[];
  now: number;
}

/** `inboxIds` are rows of one turn; one that never began is only ended. */
export async function closeTurn(store: Store, inboxIds: readonly [number, ...number[]], { state, code, text, parts, now }: Closing): Promise<void> {
  const ids = [...inboxIds];
  const turnId = store.inbox.look(inboxIds[0])?.turnId ?? null;
  const turn = turnId === null ? null : store.transcript.turn(turnId);
  if (turn?.state !== 'running') return store.finishWith(ids, state, parts, now);
  const entries = store.transcript.turnEntries(turn.id);
  const finished = new Set(entries.flatMap((entry) => (entry.role === 'tool' && entry.text !== null ? [entry.toolCallId] : [])));
  const lateResults = repairHistory(entries).entries.flatMap((entry) => (entry.role === 'tool' && !finished.has(entry.toolCallId) ? [entry] : []));
  await store.commitTurn({
    turnId: turn.id,
    sessionId: turn.sessionId,
    state: 'failed',
    answer: text,
    code,
    model: turn.model,
    steps: entries.filter(({ role }) => role === 'assistant').length,
    usage: { input: 0, output: 0, cached: 0, requests: 0 },
    lateResults,
    entry: { role: 'assistant', turnId: turn.id, text, toolCalls: [] },
    parts,
    preview: null,
    inboxIds: ids,
    inboxState: state,
    now,
  });
}
