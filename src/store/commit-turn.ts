/**
 * The end of a turn, in ONE transaction: the final assistant entry, the turn's state, the parts of the reply and the inbox rows.
 * Before it nothing of the answer is promised; after it everything is.
 */
import { HermesError } from '../contract/errors.ts';
import type { AssistantEntry, ToolEntry } from '../contract/transcript.ts';
import type { Usage } from '../contract/model.ts';
import type { StoreDatabase } from './database.ts';
import type { InboxEnd } from './inbox.ts';
import { createPartInsert, type ClosedPreview, type NewPart } from './outbox.ts';
import { createSearchIndex } from './search-index.ts';
import { toRaw } from './transcript.ts';

export interface TurnEnd {
  turnId: string;
  sessionId: string;
  state: 'answered' | 'failed' | 'aborted';
  /** The text of the outcome, kept for callers that ask again. */
  answer: string;
  code: string | null;
  model: string;
  steps: number;
  usage: Usage;
  /** Results for calls that never got one: the turn is ended from outside. */
  lateResults?: ToolEntry[];
  /** Null when the turn never wrote its user entry. */
  entry: AssistantEntry | null;
  parts: NewPart[];
  /** The streamed preview that becomes the first part of the answer. */
  preview: ClosedPreview | null;
  inboxIds: number[];
  inboxState: InboxEnd;
  now: number;
}

export type CommitTurn = (end: TurnEnd) => Promise<void>;

/** Ends inbox rows that no turn answers, with the parts of what is said instead. */
export type FinishWith = (inboxIds: number[], state: InboxEnd, parts: NewPart[], now: number) => Promise<void>;

export function createFinishWith(db: StoreDatabase): FinishWith {
  const insertPart = createPartInsert(db);
  const endRow = db.sql.prepare('UPDATE inbox SET state = ?, finished_at = ? WHERE id = ?');
  return (inboxIds, state, parts, now) =>
    db.write(() => {
      for (const part of parts) insertPart(part, 'waiting', now);
      for (const id of inboxIds) endRow.run(state, now, id);
    });
}

export function createCommitTurn(db: StoreDatabase): CommitTurn {
  const { sql, write } = db;
  const index = createSearchIndex(db);
  const insertPart = createPartInsert(db);
  const endTurn = sql.prepare(
    `UPDATE turns SET state = @state, answer = @answer, code = @code, model = @model, steps = @steps, input_tokens = @input,
       output_tokens = @output, cached_tokens = @cached, ended_at = @now WHERE id = @turnId`,
  );
  const addEntry = sql.prepare(
    `INSERT INTO entries (session_id, turn_id, role, text, tool_calls, tool_call_id, tool_name, media, note, created_at)
     VALUES (@sessionId, @turnId, @role, @text, @toolCalls, @toolCallId, @toolName, @media, @note, @now)`,
  );
  const finishTool = sql.prepare('UPDATE entries SET text = @text WHERE turn_id = @turnId AND tool_call_id = @toolCallId AND text IS NULL');
  const count = sql.prepare(
    `UPDATE sessions SET turns = turns + 1, input_tokens = input_tokens + @input, output_tokens = output_tokens + @output,
       cached_tokens = cached_tokens + @cached, last_active_at = @now WHERE id = @sessionId`,
  );
  const endRow = sql.prepare('UPDATE inbox SET state = ?, turn_id = ?, finished_at = ? WHERE id = ?');
  const closePreview = sql.prepare("UPDATE outbox SET state = 'waiting', payload = ?, next_try_at = ? WHERE id = ? AND state = 'preview'");
  // What was shown of an answer that was stopped stays, but nothing follows it.
  const leavePreview = sql.prepare("UPDATE outbox SET state = 'dropped', done_at = ? WHERE origin = 'turn' AND origin_id = ? AND state = 'preview'");

  return (end) =>
    write(() => {
      const { turnId, sessionId, now, usage } = end;
      const tokens = { input: usage.input, output: usage.output, cached: usage.cached };
      const { changes } = endTurn.run({ turnId, state: end.state, answer: end.answer, code: end.code, model: end.model, steps: end.steps, now, ...tokens });
      // Its beginning may be part of this transaction, and may have failed alone.
      if (changes === 0) throw new HermesError('STORE_UNAVAILABLE', `turn ${turnId} was not written down`);
      for (const { text, toolCallId, name } of end.lateResults ?? [])
        if (finishTool.run({ text, turnId, toolCallId }).changes === 0) addEntry.run(toRaw(sessionId, { role: 'tool', turnId, toolCallId, name, text }, now));
      if (end.entry) addEntry.run(toRaw(sessionId, end.entry, now));
      count.run({ sessionId, now, ...tokens });
      if (end.preview) closePreview.run(JSON.stringify(end.preview.payload), end.preview.notBefore, end.preview.id);
      leavePreview.run(now, turnId);
      for (const part of end.parts) insertPart(part, 'waiting', now);
      for (const id of end.inboxIds) endRow.run(end.inboxState, turnId, now, id);
      index.keepUp();
    });
}
