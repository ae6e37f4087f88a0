/**
 * The outbox: one row per part of a reply, for ever. A part belongs to an origin (a turn, a command ...) and is unique in it,
 * so that no retry makes a second row.
 *
 * waiting -> attempting (committed before the call) -> sent | waiting again | unknown | dead. A streamed preview is a row too:
 * preview -> waiting with its final text, which is then an edit of the message that already stands.
 */
import type { Address, OutboundPart } from '../contract/message.ts';
import type { StoreDatabase } from './database.ts';

export type PartState = 'preview' | 'waiting' | 'attempting' | 'sent' | 'unknown' | 'dead' | 'dropped';
export type MaybeSent = 'no' | 'died' | 'lost';
export type PartPayload = Omit<OutboundPart, 'idempotencyKey'> & {
  /** The last preview was this very text: there is nothing left to call for. */
  isShown?: true;
};

export interface Origin {
  kind: 'turn' | 'command' | 'plugin' | 'cron' | 'notice';
  id: string;
  sessionId: string | null;
  turnId: string | null;
}

export interface NewPart {
  origin: Origin;
  part: number;
  payload: PartPayload;
}

export interface PartRow {
  id: number;
  origin: Origin['kind'];
  originId: string;
  part: number;
  sessionId: string | null;
  turnId: string | null;
  payload: PartPayload;
  state: PartState;
  /** Whether an earlier attempt may have had an effect: the process died in it, or the platform's answer was lost. */
  maybeSent: MaybeSent;
  attempts: number;
  firstTryAt: number | null;
  nextTryAt: number;
  messageId: string | null;
  error: string | null;
  createdAt: number;
}

export type PartClaim = { part: PartRow } | { part: null; at: number | null };

/** What an attempt left behind. */
export type Settlement =
  | { state: 'sent'; messageId: string }
  | { state: 'waiting'; nextTryAt: number; error: string; limited?: 'chat' | 'bot'; isLost?: boolean; forgetMessage?: boolean }
  | { state: 'unknown' | 'dead'; error: string };

/** A preview with its final text. `notBefore`: ms since the epoch; the platform was called for it a moment ago. */
export interface ClosedPreview {
  id: number;
  payload: PartPayload;
  notBefore: number;
}

export interface Outbox {
  add(parts: NewPart[], now: number): Promise<void>;
  /** The oldest part of the chat that still has to go out, if its time has come; earlier ones hold later ones back. One caller per chat. */
  claim(platform: string, chat: string, now: number): Promise<PartClaim>;
  settle(id: number, settlement: Settlement, now: number): Promise<void>;
  /** Parts of the chat wait or are in flight: what is shown now would overtake them. */
  hasOpen(platform: string, chat: string): boolean;
  /** Opens a preview row before its first message is sent. Resolves with its id, or the row that a death left behind. */
  openPreview(part: NewPart, now: number): Promise<PartRow>;
  previewSent(id: number, messageId: string): Promise<void>;
  /** The streamed part gets its final text and is delivered like any other, as an edit where a message stands. */
  closePreview(id: number, payload: PartPayload, notBefore?: number): Promise<void>;
  ofOrigin(kind: Origin['kind'], id: string): PartRow[];
  /** Chats with parts to deliver, and until when the platform has limited the chat or the whole bot; for the start. */
  openChats(now: number): { platform: string; chat: string; limitedUntil: number | null; botLimitedUntil: number | null }[];
  /** After a death: parts in flight wait again and are marked as maybe sent. */
  recover(): Promise<void>;
  /** Parts of a session that did not arrive and of which the agent has not been told; they count as told from now on. */
  takeUntold(sessionId: string): Promise<PartRow[]>;
  list(states: PartState[], limit: number): PartRow[];
  /** A dead part is tried anew, or given up. False when there is no such dead part. */
  retry(id: number, now: number): Promise<PartRow | null>;
  drop(id: number, now: number): Promise<PartRow | null>;
  /** Parts that wait for a chat that now has another id. */
  migrateChat(platform: string, from: string, to: string): Promise<void>;
  /** Parts by their state; `resent` are those sent anew because nobody knew what had become of the try before. */
  counts(): Record<string, number>;
  /** Parts that wait, are on their way or were given up; cheap, however many were sent. */
  backlog(): { waiting: number; attempting: number; dead: number };
  prune(before: number): Promise<number>;
}

interface Raw {
  id: number;
  origin: Origin['kind'];
  origin_id: string;
  part: number;
  session_id: string | null;
  turn_id: string | null;
  payload: string;
  state: PartState;
  maybe_sent: number;
  attempts: number;
  first_try_at: number | null;
  next_try_at: number;
  message_id: string | null;
  error: string | null;
  created_at: number;
}

/** Only the daemon delivers. A terminal beside it sees parts, and neither claims nor recovers any. */
const deliverer = 'daemon';

export function createOutbox(db: StoreDatabase, process: string): Outbox {
  const { sql, write, writeAlong } = db;
  const isDeliverer = process === deliverer;
  const insert = createPartInsert(db);
  const byId = sql.prepare('SELECT * FROM outbox WHERE id = ?');
  const head = sql.prepare("SELECT * FROM outbox WHERE platform = ? AND chat = ? AND state IN ('waiting', 'attempting') ORDER BY id LIMIT 1");
  const attempt = sql.prepare(
    `UPDATE outbox SET state = 'attempting', attempts = attempts + 1, first_try_at = coalesce(first_try_at, @now),
       maybe_sent = iif(state = 'attempting', max(maybe_sent, 1), maybe_sent) WHERE id = @id`,
  );
  const sent = sql.prepare("UPDATE outbox SET state = 'sent', message_id = ?, error = NULL, done_at = ? WHERE id = ?");
  const again = sql.prepare(
    `UPDATE outbox SET state = 'waiting', next_try_at = @at, error = @error, limited = @limited,
       maybe_sent = max(maybe_sent, @maybe), message_id = iif(@forget, NULL, message_id) WHERE id = @id`,
  );
  const gaveUp = sql.prepare('UPDATE outbox SET state = ?, error = ?, done_at = ? WHERE id = ?');
  const ofOrigin = sql.prepare('SELECT * FROM outbox WHERE origin = ? AND origin_id = ? ORDER BY part');
  const onePart = sql.prepare('SELECT * FROM outbox WHERE origin = ? AND origin_id = ? AND part = ?');
  // From here until its message is known a preview may have been shown by a process that died.
  const mayBeShown = sql.prepare("UPDATE outbox SET maybe_sent = 1 WHERE id = ? AND message_id IS NULL");
  const setMessage = sql.prepare("UPDATE outbox SET message_id = ?, attempts = 1, maybe_sent = 0 WHERE id = ?");
  const finalise = sql.prepare("UPDATE outbox SET state = 'waiting', payload = ?, next_try_at = ? WHERE id = ?");
  const open = sql.prepare(
    `SELECT platform, chat, max(iif(limited = 1 AND next_try_at > @now, next_try_at, NULL)) AS limitedUntil,
            max(iif(limited = 2 AND next_try_at > @now, next_try_at, NULL)) AS botLimitedUntil FROM outbox
     WHERE state IN ('waiting', 'attempting') GROUP BY platform, chat`,
  );
  const inFlight = sql.prepare("UPDATE outbox SET state = 'waiting', maybe_sent = max(maybe_sent, 1) WHERE state IN ('waiting', 'attempting') AND state = 'attempting'");
  const untold = sql.prepare("SELECT * FROM outbox WHERE session_id = ? AND state IN ('unknown', 'dead') AND told = 0 ORDER BY id");
  const tell = sql.prepare('UPDATE outbox SET told = 1 WHERE id = ?');
  const inStates = sql.prepare('SELECT * FROM outbox WHERE instr(?, state) > 0 ORDER BY id DESC LIMIT ?');
  const revive = sql.prepare(
    "UPDATE outbox SET state = 'waiting', attempts = 0, first_try_at = NULL, next_try_at = ?, done_at = NULL WHERE id = ? AND state = 'dead'",
  );
  const dropRow = sql.prepare("UPDATE outbox SET state = 'dropped', done_at = ? WHERE id = ? AND state = 'dead'");
  const moving = sql.prepare("SELECT * FROM outbox WHERE platform = ? AND chat = ? AND state IN ('waiting', 'attempting', 'preview')");
  const move = sql.prepare('UPDATE outbox SET chat = ?, payload = ? WHERE id = ?');
  // Sent after an attempt of which nobody knows the end: there may be two.
  const count = sql.prepare("SELECT iif(state = 'sent' AND maybe_sent > 0, 'resent', state) AS state, count(*) AS n FROM outbox GROUP BY 1");
  const unsent = sql.prepare(
    `SELECT state, count(*) AS n FROM outbox INDEXED BY outbox_open WHERE state IN ('waiting', 'attempting') GROUP BY state
     UNION ALL SELECT 'dead', count(*) FROM outbox INDEXED BY outbox_dead WHERE state = 'dead'`,
  );
  const remove = sql.prepare("DELETE FROM outbox WHERE id IN (SELECT id FROM outbox WHERE done_at < ? AND state <> 'dead' ORDER BY done_at LIMIT 500)");

  const find = (id: number) => toPart(byId.get(id) as Raw);

  return {
    add: (parts, now) =>
      write(() => {
        for (const part of parts) insert(part, 'waiting', now);
      }),

    claim: (platform, chat, now) =>
      write((): PartClaim => {
        const raw = isDeliverer ? (head.get(platform, chat) as Raw | undefined) : undefined;
        if (!raw) return { part: null, at: null };
        // A chat has one drain, so a part that is still in flight was left by one that broke off: it may have been sent.
        if (raw.state === 'waiting' && raw.next_try_at > now) return { part: null, at: raw.next_try_at };
        attempt.run({ now, id: raw.id });
        return { part: find(raw.id) };
      }),

    settle: (id, settlement, now) =>
      writeAlong(() => {
        if (settlement.state === 'sent') sent.run(settlement.messageId, now, id);
        else if (settlement.state === 'waiting')
          again.run({
            id,
            at: settlement.nextTryAt,
            error: settlement.error,
            limited: settlement.limited === undefined ? 0 : settlement.limited === 'chat' ? 1 : 2,
            maybe: settlement.isLost ? 2 : 0,
            forget: Number(settlement.forgetMessage ?? false),
          });
        else gaveUp.run(settlement.state, settlement.error, now, id);
      }),

    hasOpen: (platform, chat) => head.get(platform, chat) !== undefined,
    openPreview: (part, now) =>
      write(() => {
        insert(part, 'preview', now);
        const { id } = onePart.get(part.origin.kind, part.origin.id, part.part) as Raw;
        mayBeShown.run(id);
        return find(id);
      }),
    previewSent: (id, messageId) => write(() => void setMessage.run(messageId, id)),
    closePreview: (id, payload, notBefore = 0) => write(() => void finalise.run(JSON.stringify(payload), notBefore, id)),
    ofOrigin: (kind, id) => (ofOrigin.all(kind, id) as Raw[]).map(toPart),
    openChats: (now) => (isDeliverer ? open.all({ now }) : []) as ReturnType<Outbox['openChats']>,
    recover: async () => {
      if (isDeliverer) await write(() => void inFlight.run());
    },
    takeUntold: (sessionId) => {
      // Most sessions have none, and a read is cheaper than a transaction.
      if (untold.get(sessionId) === undefined) return Promise.resolve([]);
      return write(() => {
        const rows = untold.all(sessionId) as Raw[];
        for (const raw of rows) tell.run(raw.id);
        return rows.map(toPart);
      });
    },
    list: (states, limit) => (inStates.all(states.join(','), limit) as Raw[]).map(toPart),
    retry: (id, now) => write(() => (revive.run(now, id).changes ? find(id) : null)),
    drop: (id, now) => write(() => (dropRow.run(now, id).changes ? find(id) : null)),
    migrateChat: (platform, from, to) =>
      write(() => {
        for (const raw of moving.all(platform, from) as Raw[]) {
          const { payload } = toPart(raw);
          move.run(to, JSON.stringify({ ...payload, address: { ...payload.address, chat: to } }), raw.id);
        }
      }),
    counts: () => Object.fromEntries((count.all() as { state: string; n: number }[]).map(({ state, n }) => [state, n])),
    backlog: () => ({ waiting: 0, attempting: 0, dead: 0, ...Object.fromEntries((unsent.all() as { state: string; n: number }[]).map(({ state, n }) => [state, n])) }),
    prune: (before) => write(() => remove.run(before).changes),
  };
}

/** Adds one part unless its origin already has it; for use inside a transaction. */
export function createPartInsert({ sql }: StoreDatabase): (part: NewPart, state: 'waiting' | 'preview', now: number) => void {
  const statement = sql.prepare(
    `INSERT INTO outbox (origin, origin_id, part, session_id, turn_id, platform, chat, payload, state, created_at)
     VALUES (@kind, @id, @part, @sessionId, @turnId, @platform, @chat, @payload, @state, @now)
     ON CONFLICT (origin, origin_id, part) DO NOTHING`,
  );
  return ({ origin, part, payload }, state, now) => {
    const { platform, chat } = payload.address;
    statement.run({ ...origin, part, platform, chat, payload: JSON.stringify(payload), state, now });
  };
}

/** `PLATFORM:CHAT` or `PLATFORM:CHAT:THREAD`, for people. */
export function formatAddress({ platform, chat, thread }: Address): string {
  return thread ? `${platform}:${chat}:${thread}` : `${platform}:${chat}`;
}

function toPart(raw: Raw): PartRow {
  return {
    id: raw.id,
    origin: raw.origin,
    originId: raw.origin_id,
    part: raw.part,
    sessionId: raw.session_id,
    turnId: raw.turn_id,
    payload: JSON.parse(raw.payload) as PartPayload,
    state: raw.state,
    maybeSent: (['no', 'died', 'lost'] as const)[raw.maybe_sent] ?? 'no',
    attempts: raw.attempts,
    firstTryAt: raw.first_try_at,
    nextTryAt: raw.next_try_at,
    messageId: raw.message_id,
    error: raw.error,
    createdAt: raw.created_at,
  };
}
