/**
 * Sessions: a conversation with a beginning and an end. One live session per key; ended ones stay searchable and can be
 * resumed by their owner.
 */
import { randomBytes } from 'node:crypto';
import type { Address } from '../contract/message.ts';
import type { StoreDatabase } from './database.ts';

export interface Session {
  id: string;
  key: string;
  /** Who may list, search and resume it: `platform:user` in direct chats and per-user groups, else `platform:chat`. */
  owner: string;
  platform: string;
  title: string;
  /** The model chosen by /model, null for the configured one. */
  model: string | null;
  settings: SessionSettings;
  /** Built with the first turn; the same bytes ever after. */
  systemPrompt: string | null;
  summary: string | null;
  /** Entries with a smaller id are replaced by the summary. */
  summaryBefore: number;
  turns: number;
  inputTokens: number;
  outputTokens: number;
  cachedTokens: number;
  startedAt: number;
  lastActiveAt: number;
  endedAt: number | null;
}

export interface SessionSettings {
  toolsets?: string[];
  instructions?: string;
}

export type ResetReason = 'new' | 'idle' | 'daily';

export interface OpenSession {
  key: string;
  owner: string;
  address: Address;
  now: number;
  settings: SessionSettings;
  /** Says whether the live session has to end before this message; asked inside the transaction. */
  isOver(session: Session): ResetReason | null;
}

export interface OpenedSession {
  session: Session;
  /** The session that ended because of the reset policy. */
  ended: { session: Session; reason: ResetReason } | null;
}

export interface Sessions {
  /** The live session of the key, or a new one. */
  open(request: OpenSession): Promise<OpenedSession>;
  /** Ends the live session of the key and opens the next; null when none was live. */
  end(key: string, reason: ResetReason, now: number): Promise<{ old: Session; fresh: Session } | null>;
  live(key: string): Session | null;
  get(id: string): Session | null;
  /** The chat that the session belongs to. */
  addressOf(id: string): Address | null;
  /** Makes session `id` the live one of `key`; the one that was live ends. Null when it is not the owner's. */
  resume(id: string, key: string, owner: string, now: number): Promise<Session | null>;
  update(id: string, change: { title?: string; model?: string | null; systemPrompt?: string | null }): Promise<void>;
  compacted(id: string, summary: string, before: number): Promise<void>;
  /** Newest first. Without an owner: everybody's (for the operator's own commands). */
  list(filter: { owner?: string; search?: string; limit: number }): Session[];
  /** Live sessions used since `since` by this process's platforms. */
  usedSince(since: number): Session[];
  /** A group that became another chat keeps its sessions: keys and owners are renamed. */
  migrateChat(platform: string, from: string, to: string): Promise<void>;
}

interface Raw {
  id: string;
  key: string;
  owner: string;
  platform: string;
  title: string;
  model: string | null;
  settings: string;
  system_prompt: string | null;
  summary: string | null;
  summary_before: number;
  turns: number;
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  started_at: number;
  last_active_at: number;
  ended_at: number | null;
}

export function createSessions(db: StoreDatabase): Sessions {
  const { sql, write } = db;
  const byKey = sql.prepare('SELECT * FROM sessions WHERE key = ? AND ended_at IS NULL');
  const byId = sql.prepare('SELECT * FROM sessions WHERE id = ?');
  const insert = sql.prepare(
    `INSERT INTO sessions (id, key, owner, platform, chat, thread, settings, started_at, last_active_at)
     VALUES (@id, @key, @owner, @platform, @chat, @thread, @settings, @now, @now)`,
  );
  const place = sql.prepare('SELECT platform, chat, thread FROM sessions WHERE id = ?');
  const finish = sql.prepare('UPDATE sessions SET ended_at = ?, end_reason = ? WHERE id = ? AND ended_at IS NULL');
  const reopen = sql.prepare('UPDATE sessions SET ended_at = NULL, end_reason = NULL, key = ?, last_active_at = ? WHERE id = ?');
  const listAll = sql.prepare(
    `SELECT * FROM sessions WHERE (@owner IS NULL OR owner = @owner) AND (@search IS NULL OR title LIKE @search OR id LIKE @search)
     ORDER BY last_active_at DESC LIMIT @limit`,
  );
  const used = sql.prepare('SELECT * FROM sessions WHERE ended_at IS NULL AND last_active_at >= ?');
  const setTitle = sql.prepare('UPDATE sessions SET title = ? WHERE id = ?');
  const setModel = sql.prepare('UPDATE sessions SET model = ? WHERE id = ?');
  const setPrompt = sql.prepare('UPDATE sessions SET system_prompt = ? WHERE id = ?');
  const setSummary = sql.prepare('UPDATE sessions SET summary = ?, summary_before = ? WHERE id = ?');
  // A closing colon is added and taken away again, so that an id never matches the beginning of a longer one.
  const renamed = (column: string) => `rtrim(replace(${column} || ':', ':' || @from || ':', ':' || @to || ':'), ':')`;
  const rename = sql.prepare(
    `UPDATE sessions SET chat = @to, key = ${renamed('key')}, owner = ${renamed('owner')} WHERE platform = @platform AND chat = @from`,
  );
  // Somebody may have written to the new chat before its move was known: the older conversation is the one that goes on.
  const makeRoom = sql.prepare(
    `UPDATE sessions SET ended_at = last_active_at, end_reason = 'moved' WHERE ended_at IS NULL AND chat <> @from AND key IN
       (SELECT ${renamed('key')} FROM sessions WHERE platform = @platform AND chat = @from AND ended_at IS NULL)`,
  );

  const find = (key: string) => toSession(byKey.get(key) as Raw | undefined);
  const placeOf = (id: string) => place.get(id) as { platform: string; chat: string; thread: string | null } | undefined;
  const create = (request: Omit<OpenSession, 'isOver' | 'address'> & { platform: string; chat: string; thread: string | null }): Session => {
    const id = toSessionId(request.now);
    insert.run({ ...request, id, settings: JSON.stringify(request.settings) });
    return toSession(byId.get(id) as Raw) as Session;
  };

  return {
    open: (request) =>
      write((): OpenedSession => {
        const live = find(request.key);
        const reason = live ? request.isOver(live) : null;
        if (live && !reason) return { session: live, ended: null };
        if (live && reason) finish.run(request.now, reason, live.id);
        const { key, owner, now, settings, address } = request;
        const session = create({ key, owner, now, settings, platform: address.platform, chat: address.chat, thread: address.thread ?? null });
        return { session, ended: live && reason ? { session: live, reason } : null };
      }),

    end: (key, reason, now) =>
      write(() => {
        const old = find(key);
        if (!old) return null;
        finish.run(now, reason, old.id);
        const { owner, platform, settings } = old;
        return { old, fresh: create({ chat: '', thread: null, ...placeOf(old.id), key, owner, platform, settings, now }) };
      }),

    live: find,
    get: (id) => toSession(byId.get(id) as Raw | undefined),
    addressOf(id) {
      const found = placeOf(id);
      return found ? { platform: found.platform, chat: found.chat, account: '', ...(found.thread === null ? {} : { thread: found.thread }) } : null;
    },

    resume: (id, key, owner, now) =>
      write(() => {
        const wanted = toSession(byId.get(id) as Raw | undefined);
        if (!wanted || wanted.owner !== owner) return null;
        const live = find(key);
        if (live && live.id !== id) finish.run(now, 'resume', live.id);
        reopen.run(key, now, id);
        return toSession(byId.get(id) as Raw);
      }),

    update: (id, change) =>
      write(() => {
        if (change.title !== undefined) setTitle.run(change.title, id);
        if (change.model !== undefined) setModel.run(change.model, id);
        if (change.systemPrompt !== undefined) setPrompt.run(change.systemPrompt, id);
      }),

    compacted: (id, summary, before) => write(() => void setSummary.run(summary, before, id)),
    list: ({ owner, search, limit }) =>
      (listAll.all({ owner: owner ?? null, search: search ? `%${search}%` : null, limit }) as Raw[]).map((raw) => toSession(raw) as Session),
    usedSince: (since) => (used.all(since) as Raw[]).map((raw) => toSession(raw) as Session),
    migrateChat: (platform, from, to) =>
      write(() => {
        makeRoom.run({ platform, from, to });
        rename.run({ platform, from, to });
      }),
  };
}

/** `YYYYMMDD_HHMMSS_xxxxxxxx` in local time, the tail random. */
export function toSessionId(now: number): string {
  const date = new Date(now);
  const two = (part: number) => String(part).padStart(2, '0');
  const day = `${date.getFullYear()}${two(date.getMonth() + 1)}${two(date.getDate())}`;
  const time = `${two(date.getHours())}${two(date.getMinutes())}${two(date.getSeconds())}`;
  return `${day}_${time}_${randomBytes(4).toString('hex')}`;
}

function toSession(raw: Raw | undefined): Session | null {
  if (!raw) return null;
  return {
    id: raw.id,
    key: raw.key,
    owner: raw.owner,
    platform: raw.platform,
    title: raw.title,
    model: raw.model,
    settings: JSON.parse(raw.settings) as SessionSettings,
    systemPrompt: raw.system_prompt,
    summary: raw.summary,
    summaryBefore: raw.summary_before,
    turns: raw.turns,
    inputTokens: raw.input_tokens,
    outputTokens: raw.output_tokens,
    cachedTokens: raw.cached_tokens,
    startedAt: raw.started_at,
    lastActiveAt: raw.last_active_at,
    endedAt: raw.ended_at,
  };
}
