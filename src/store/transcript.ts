/**
 * The transcript, which is the journal of running turns too: each step is committed here before the next begins, so that a
 * turn that died goes on from its entries. Read by the context window, never whole.
 */
import type { Entry, UserEntry } from '../contract/transcript.ts';
import type { ToolCall } from '../contract/model.ts';
import type { StoreDatabase } from './database.ts';
import { createSearchIndex } from './search-index.ts';

export interface StoredTurn {
  id: string;
  sessionId: string;
  state: 'running' | 'answered' | 'failed' | 'aborted';
  /** What pre_llm_call gave; null before it was asked. */
  context: string | null;
  model: string;
  answer: string | null;
  code: string | null;
  inputTokens: number;
  outputTokens: number;
  cachedTokens: number;
}

export interface TurnBegin {
  turnId: string;
  sessionId: string;
  model: string;
  context: string;
  entry: UserEntry;
  /** Inbox rows that this turn answers. */
  inboxIds: number[];
  /** Default. Otherwise it goes along with what is written next, a few ms later at most. */
  isUrgent?: boolean;
  now: number;
}

export interface SearchHit {
  sessionId: string;
  entryId: number;
  role: string;
  text: string;
  createdAt: number;
  title: string;
}

export interface Transcript {
  /** The turn row, its user entry and the rows' turn id, in one transaction. */
  beginTurn(begin: TurnBegin): Promise<void>;
  /** Adds one entry. A tool entry without text means: started. */
  append(sessionId: string, entry: Entry, now: number, inboxIds?: number[]): Promise<void>;
  /** Writes the result into the tool entry that was started, or adds it when none was. */
  finishTool(sessionId: string, entry: Entry & { role: 'tool' }, now: number): Promise<void>;
  turn(turnId: string): StoredTurn | null;
  turnEntries(turnId: string): Entry[];
  /**
   * The newest whole turns of a session, oldest first: entries from `fromEntry` on, at most about `maxChars` characters,
   * without the turn `exceptTurn`.
   */
  history(sessionId: string, fromEntry: number, maxChars: number, exceptTurn?: string): Entry[];
  /** Id of a turn's first entry, or null. */
  firstEntryOf(turnId: string): number | null;
  /**
   * Takes the newest turn out of later requests; gives its user entry back. It stays searchable. `byRow` is the inbox row that
   * asks for it: the same row asking again, after a death, gets the same turn instead of undoing one more.
   */
  undoLast(sessionId: string, byRow: number): Promise<UserEntry | null>;
  /** Entries whose text holds every word of the query, newest first, among one owner's sessions (null: everybody's). */
  search(query: string, filter: { owner: string | null; exceptSession?: string; roles: string[]; limit: number }): SearchHit[];
  /** Entries of a session around one of them, or its newest `limit` ones; with their ids. */
  page(sessionId: string, around: number | null, limit: number): { id: number; role: string; text: string; createdAt: number }[];
}

interface Raw {
  turn_id: string;
  role: 'user' | 'assistant' | 'tool';
  text: string | null;
  tool_calls: string | null;
  tool_call_id: string | null;
  tool_name: string | null;
  media: string | null;
  note: string | null;
}

/**
 * A row of a history as an array: every turn reads many, and better-sqlite3 makes batches of arrays in a third of the time that
 * objects one by one take.
 */
type HistoryRow = [id: number, Raw['turn_id'], Raw['role'], Raw['text'], Raw['tool_calls'], Raw['tool_call_id'], Raw['tool_name'], Raw['media'], Raw['note']];

const historyBatch = 100;

export function createTranscript(db: StoreDatabase): Transcript {
  const { sql, write, writeAlong } = db;
  const insertTurn = sql.prepare(
    `INSERT INTO turns (id, session_id, state, context, model, started_at) VALUES (?, ?, 'running', ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET context = excluded.context, model = excluded.model`,
  );
  const insertEntry = sql.prepare(
    `INSERT INTO entries (session_id, turn_id, role, text, tool_calls, tool_call_id, tool_name, media, note, created_at)
     VALUES (@sessionId, @turnId, @role, @text, @toolCalls, @toolCallId, @toolName, @media, @note, @now)`,
  );
  const linkInbox = sql.prepare('UPDATE inbox SET turn_id = ? WHERE id = ?');
  const answerInbox = sql.prepare("UPDATE inbox SET turn_id = ?, state = 'answered', finished_at = ? WHERE id = ?");
  const setTitle = sql.prepare("UPDATE sessions SET title = ? WHERE id = ? AND title = ''");
  const finishTool = sql.prepare('UPDATE entries SET text = ? WHERE turn_id = ? AND tool_call_id = ? AND text IS NULL');
  const turnRow = sql.prepare(
    `SELECT id, session_id AS sessionId, state, context, model, answer, code, input_tokens AS inputTokens,
            output_tokens AS outputTokens, cached_tokens AS cachedTokens FROM turns WHERE id = ?`,
  );
  const ofTurn = sql.prepare('SELECT * FROM entries WHERE turn_id = ? AND undone = 0 ORDER BY id');
  const backwards = sql
    .prepare(
      `SELECT id, turn_id, role, text, tool_calls, tool_call_id, tool_name, media, note FROM entries
       WHERE session_id = ? AND id >= ? AND id < ? AND undone = 0 ORDER BY id DESC LIMIT ${historyBatch}`,
    )
    .raw();
  const firstId = sql.prepare('SELECT min(id) FROM entries WHERE turn_id = ?').pluck();
  const lastUser = sql.prepare("SELECT * FROM entries WHERE session_id = ? AND undone = 0 AND role = 'user' ORDER BY id DESC LIMIT 1");
  const undoneBy = sql.prepare("SELECT * FROM entries WHERE session_id = ? AND undone = ? AND role = 'user' ORDER BY id LIMIT 1");
  const undo = sql.prepare('UPDATE entries SET undone = ? WHERE turn_id = ?');
  const found = sql.prepare(
    `SELECT e.id AS entryId, e.session_id AS sessionId, e.role, e.text, e.created_at AS createdAt, s.title
     FROM entries_fts f JOIN entries e ON e.id = f.rowid JOIN sessions s ON s.id = e.session_id
     WHERE entries_fts MATCH @match AND (@owner IS NULL OR s.owner = @owner) AND e.session_id IS NOT @except
       AND instr(@roles, e.role) > 0
     ORDER BY f.rowid DESC LIMIT @limit`,
  );
  const scanned = sql.prepare(
    `SELECT e.id AS entryId, e.session_id AS sessionId, e.role, e.text, e.created_at AS createdAt, s.title
     FROM sessions s JOIN entries e ON e.session_id = s.id
     WHERE (@owner IS NULL OR s.owner = @owner) AND e.session_id IS NOT @except AND instr(@roles, e.role) > 0
       AND e.text LIKE @like ESCAPE '\\'
     ORDER BY e.id DESC LIMIT @limit`,
  );
  const around = sql.prepare(
    `SELECT id, role, coalesce(text, '') AS text, created_at AS createdAt FROM
       (SELECT * FROM entries WHERE session_id = @id AND id < @around ORDER BY id DESC LIMIT @half)
     UNION ALL
     SELECT id, role, coalesce(text, ''), created_at FROM
       (SELECT * FROM entries WHERE session_id = @id AND id >= @around ORDER BY id LIMIT @half + 1) ORDER BY id`,
  );
  const newest = sql.prepare(
    `SELECT id, role, coalesce(text, '') AS text, created_at AS createdAt FROM entries WHERE session_id = ? ORDER BY id DESC LIMIT ?`,
  );

  function* newestFirst(sessionId: string, fromEntry: number): Generator<HistoryRow> {
    for (let before = Number.MAX_SAFE_INTEGER; ; ) {
      const rows = backwards.all(sessionId, fromEntry, before) as HistoryRow[];
      yield* rows;
      const oldest = rows.at(-1);
      if (!oldest || rows.length < historyBatch) return;
      before = oldest[0];
    }
  }

  const index = createSearchIndex(db);
  const add = (sessionId: string, entry: Entry, now: number) => insertEntry.run(toRaw(sessionId, entry, now));

  return {
    beginTurn: ({ turnId, sessionId, model, context, entry, inboxIds, isUrgent = true, now }) =>
      (isUrgent ? write : writeAlong)(() => {
        insertTurn.run(turnId, sessionId, context, model, now);
        add(sessionId, entry, now);
        for (const id of inboxIds) linkInbox.run(turnId, id);
        setTitle.run(toTitle(entry.text), sessionId);
      }),
    append: (sessionId, entry, now, inboxIds = []) =>
      write(() => {
        add(sessionId, entry, now);
        for (const id of inboxIds) answerInbox.run(entry.turnId, now, id);
      }),
    finishTool: (sessionId, entry, now) =>
      write(() => {
        if (finishTool.run(entry.text, entry.turnId, entry.toolCallId).changes === 0) add(sessionId, entry, now);
      }),
    turn: (turnId) => (turnRow.get(turnId) as StoredTurn | undefined) ?? null,
    turnEntries: (turnId) => (ofTurn.all(turnId) as Raw[]).map(toEntry),

    history(sessionId, fromEntry, maxChars, exceptTurn) {
      const entries: Entry[] = [];
      let chars = 0;
      let turn = '';
      for (const row of newestFirst(sessionId, fromEntry)) {
        const [, turn_id, role, text, tool_calls, tool_call_id, tool_name, media, note] = row;
        if (turn_id === exceptTurn) continue;
        if (turn_id !== turn && chars > maxChars) break;
        turn = turn_id;
        chars += (text?.length ?? 0) + (tool_calls?.length ?? 0);
        entries.push(toEntry({ turn_id, role, text, tool_calls, tool_call_id, tool_name, media, note }));
      }
      return entries.toReversed();
    },

    firstEntryOf: (turnId) => firstId.get(turnId) as number | null,
    undoLast: (sessionId, byRow) =>
      write(() => {
        const before = undoneBy.get(sessionId, byRow) as Raw | undefined;
        if (before) return toEntry(before) as UserEntry;
        const last = lastUser.get(sessionId) as Raw | undefined;
        if (!last) return null;
        undo.run(byRow, last.turn_id);
        // A turn may hold more than one user entry: what was said while it ran. The first one is the question.
        return toEntry(undoneBy.get(sessionId, byRow) as Raw) as UserEntry;
      }),

    search(query, { owner, exceptSession, roles, limit }) {
      const words = query.split(/\s+/).filter(Boolean);
      if (words.length === 0) return [];
      const shared = { owner, except: exceptSession ?? null, roles: roles.join(','), limit };
      // The trigram index knows nothing shorter than three characters: two Chinese characters are looked for by scanning.
      if (words.some((word) => [...word].length < 3))
        return scanned.all({ ...shared, like: `%${query.trim().replace(/[\\%_]/g, '\\$&')}%` }) as SearchHit[];
      index.catchUp();
      return found.all({ ...shared, match: words.map((word) => `"${word.replaceAll('"', '""')}"`).join(' ') }) as SearchHit[];
    },

    page: (sessionId, aroundId, limit) =>
      (aroundId === null
        ? newest.all(sessionId, limit).toReversed()
        : around.all({ id: sessionId, around: aroundId, half: Math.floor(limit / 2) })) as ReturnType<Transcript['page']>,
  };
}

/** The row of an entry; shared with commit-turn.ts, which adds the last one. */
export function toRaw(sessionId: string, entry: Entry, now: number) {
  return {
    sessionId,
    turnId: entry.turnId,
    role: entry.role,
    text: entry.text,
    toolCalls: entry.role === 'assistant' && entry.toolCalls.length > 0 ? JSON.stringify(entry.toolCalls) : null,
    toolCallId: entry.role === 'tool' ? entry.toolCallId : null,
    toolName: entry.role === 'tool' ? entry.name : null,
    media: entry.role === 'user' && entry.media ? JSON.stringify(entry.media) : null,
    note: entry.role === 'user' && entry.note ? entry.note : null,
    now,
  };
}

function toEntry(raw: Raw): Entry {
  const turnId = raw.turn_id;
  if (raw.role === 'tool')
    return { role: 'tool', turnId, toolCallId: raw.tool_call_id ?? '', name: raw.tool_name ?? '', text: raw.text };
  if (raw.role === 'assistant')
    return { role: 'assistant', turnId, text: raw.text ?? '', toolCalls: raw.tool_calls ? (JSON.parse(raw.tool_calls) as ToolCall[]) : [] };
  const entry: UserEntry = { role: 'user', turnId, text: raw.text ?? '' };
  if (raw.media) entry.media = JSON.parse(raw.media) as NonNullable<UserEntry['media']>;
  if (raw.note) entry.note = raw.note;
  return entry;
}

/** A session is titled by the first line of its first message, at most 60 characters. */
function toTitle(text: string): string {
  const line = text.trim().split('\n', 1)[0] ?? '';
  return [...line].slice(0, 60).join('');
}
