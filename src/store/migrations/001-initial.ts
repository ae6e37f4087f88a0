/** Sessions, the transcript with its search index, the inbox (which is the queue), the outbox, and adapters' own state. */
export const initial = `
CREATE TABLE sessions (
  id TEXT PRIMARY KEY,
  key TEXT NOT NULL,
  owner TEXT NOT NULL,
  platform TEXT NOT NULL,
  chat TEXT NOT NULL,
  thread TEXT,
  title TEXT NOT NULL DEFAULT '',
  model TEXT,
  settings TEXT NOT NULL DEFAULT '{}',
  system_prompt TEXT,
  summary TEXT,
  summary_before INTEGER NOT NULL DEFAULT 0,
  turns INTEGER NOT NULL DEFAULT 0,
  input_tokens INTEGER NOT NULL DEFAULT 0,
  output_tokens INTEGER NOT NULL DEFAULT 0,
  cached_tokens INTEGER NOT NULL DEFAULT 0,
  started_at INTEGER NOT NULL,
  last_active_at INTEGER NOT NULL,
  ended_at INTEGER,
  end_reason TEXT
) STRICT;
CREATE UNIQUE INDEX sessions_live ON sessions(key) WHERE ended_at IS NULL;
CREATE INDEX sessions_by_owner ON sessions(owner, last_active_at);
CREATE INDEX sessions_recent ON sessions(last_active_at);

CREATE TABLE inbox (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  platform TEXT NOT NULL,
  account TEXT NOT NULL,
  event_key TEXT NOT NULL,
  process TEXT NOT NULL,
  lane TEXT NOT NULL,
  message_id TEXT NOT NULL,
  album TEXT,
  message TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('waiting', 'running', 'answered', 'declined', 'failed', 'quarantined')),
  verdict TEXT,
  turn_id TEXT,
  deaths INTEGER NOT NULL DEFAULT 0,
  alone INTEGER NOT NULL DEFAULT 0,
  ready_at INTEGER NOT NULL DEFAULT 0,
  received_at INTEGER NOT NULL,
  finished_at INTEGER,
  UNIQUE (platform, account, event_key)
) STRICT;
CREATE INDEX inbox_open ON inbox(lane, id) WHERE state IN ('waiting', 'running');
CREATE INDEX inbox_finished ON inbox(finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX inbox_by_message ON inbox(platform, account, message_id);
CREATE INDEX inbox_by_turn ON inbox(turn_id) WHERE turn_id IS NOT NULL;

CREATE TABLE turns (
  id TEXT PRIMARY KEY,
  session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
  state TEXT NOT NULL CHECK (state IN ('running', 'answered', 'failed', 'aborted')),
  context TEXT,
  model TEXT NOT NULL,
  answer TEXT,
  code TEXT,
  steps INTEGER NOT NULL DEFAULT 0,
  input_tokens INTEGER NOT NULL DEFAULT 0,
  output_tokens INTEGER NOT NULL DEFAULT 0,
  cached_tokens INTEGER NOT NULL DEFAULT 0,
  started_at INTEGER NOT NULL,
  ended_at INTEGER
) STRICT;
CREATE INDEX turns_by_session ON turns(session_id, started_at);

CREATE TABLE entries (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
  turn_id TEXT NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('user', 'assistant', 'tool')),
  text TEXT,
  tool_calls TEXT,
  tool_call_id TEXT,
  tool_name TEXT,
  media TEXT,
  note TEXT,
  undone INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX entries_by_session ON entries(session_id, id);
CREATE INDEX entries_by_turn ON entries(turn_id, id);

-- A trigram index finds words, code and CJK alike. Of a tool's result only the beginning is searchable: results are
-- long, and indexing one whole would hold up the writer.
CREATE VIRTUAL TABLE entries_fts USING fts5(text, tokenize = 'trigram', content = '', contentless_delete = 1);
CREATE TRIGGER entries_added AFTER INSERT ON entries WHEN new.text IS NOT NULL BEGIN
  INSERT INTO entries_fts(rowid, text) VALUES (new.id, iif(new.role = 'tool', substr(new.text, 1, 2000), new.text));
END;
CREATE TRIGGER entries_finished AFTER UPDATE OF text ON entries WHEN new.text IS NOT NULL BEGIN
  DELETE FROM entries_fts WHERE rowid = old.id;
  INSERT INTO entries_fts(rowid, text) VALUES (new.id, iif(new.role = 'tool', substr(new.text, 1, 2000), new.text));
END;
CREATE TRIGGER entries_removed AFTER DELETE ON entries BEGIN
  DELETE FROM entries_fts WHERE rowid = old.id;
END;

CREATE TABLE outbox (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  origin TEXT NOT NULL CHECK (origin IN ('turn', 'command', 'plugin', 'cron', 'notice')),
  origin_id TEXT NOT NULL,
  part INTEGER NOT NULL,
  session_id TEXT,
  turn_id TEXT,
  platform TEXT NOT NULL,
  chat TEXT NOT NULL,
  payload TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('preview', 'waiting', 'attempting', 'sent', 'unknown', 'dead', 'dropped')),
  -- An attempt may have had an effect: 1 the process died in it, 2 the platform's answer was lost.
  maybe_sent INTEGER NOT NULL DEFAULT 0,
  -- The platform's rate limit, not a fault, is what the part waits for: 1 the chat's, 2 the whole bot's.
  limited INTEGER NOT NULL DEFAULT 0,
  attempts INTEGER NOT NULL DEFAULT 0,
  first_try_at INTEGER,
  next_try_at INTEGER NOT NULL DEFAULT 0,
  message_id TEXT,
  error TEXT,
  told INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  done_at INTEGER,
  UNIQUE (origin, origin_id, part)
) STRICT;
CREATE INDEX outbox_open ON outbox(platform, chat, id) WHERE state IN ('waiting', 'attempting');
CREATE INDEX outbox_untold ON outbox(session_id) WHERE state IN ('unknown', 'dead') AND told = 0;
CREATE INDEX outbox_dead ON outbox(id) WHERE state = 'dead';
CREATE INDEX outbox_done ON outbox(done_at) WHERE done_at IS NOT NULL;

CREATE TABLE adapter_state (
  platform TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (platform, key)
) STRICT, WITHOUT ROWID;
`;
