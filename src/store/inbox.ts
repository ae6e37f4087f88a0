/**
 * The inbox: one row per platform event, unique by (platform, account, event key). It is the queue too: a lane claims the
 * oldest waiting row of its key, and a row ends exactly once.
 *
 * admit -> waiting -> claimNext -> running -> finished (commit-turn.ts or finish). A row that was running when the process
 * died goes back to waiting by recover().
 */
import type { InboundMessage } from '../contract/message.ts';
import type { StoreDatabase } from './database.ts';

export type InboxEnd = 'answered' | 'declined' | 'failed' | 'quarantined';

export interface InboxRow {
  id: number;
  lane: string;
  message: InboundMessage;
  /** The verdict of pre_gateway_dispatch, once it was asked. */
  verdict: Verdict | null;
  /** Set once a turn was begun for it: the turn is to be continued. */
  turnId: string | null;
  /** How often the process died while it ran this row. */
  deaths: number;
  receivedAt: number;
}

export type Verdict = { action: 'skip' } | { action: 'pass' } | { action: 'rewrite'; text: string };

export interface Admission {
  lane: string;
  message: InboundMessage;
  now: number;
  /** Not before this moment (ms since the epoch): an album waits for its other pictures. */
  readyAt?: number;
  /** More rows than this waiting in the lane: the row is kept as declined. */
  limit?: number;
  /** No turn follows: it has answered a running turn's question, or only had to be counted once. */
  isSettled?: boolean;
}

export type Admitted = { id: number; outcome: 'fresh' | 'duplicate' | 'full' };

export type Claim =
  | { rows: [InboxRow, ...InboxRow[]] }
  /** Nothing to run now; `at` is when the lane's next row becomes ready, if there is one. */
  | { rows: null; at: number | null };

export interface Inbox {
  admit(admission: Admission): Promise<Admitted>;
  /** An edit of a message that still waits replaces its text. Resolves with true when one waited. */
  amend(message: InboundMessage): Promise<boolean>;
  /**
   * Takes the lane's oldest waiting row, with the later pictures of its album and, if `collect`, everything else that
   * waits from the same sender. Gives null rows while one of the lane is running.
   */
  claimNext(lane: string, now: number, collect: boolean): Promise<Claim>;
  saveVerdict(id: number, verdict: Verdict): Promise<void>;
  /** Marks a row that is about to run alone because the process died in it twice. */
  markAlone(id: number): Promise<void>;
  /** Back to waiting without blame: the program stops in an orderly way. */
  release(ids: number[]): Promise<void>;
  finish(ids: number[], state: InboxEnd, now: number): Promise<void>;
  waiting(lane: string): number;
  /** How a row stands and, when its turn has ended, how. For duplicates that ask again. */
  look(id: number): { state: string; turnId: string | null } | null;
  /**
   * After a death: rows that were running wait again with one more death, or are given back as poison when they died
   * while running alone. Returns the lanes that have something to do.
   */
  recover(now: number): Promise<{ lanes: string[]; poison: InboxRow[] }>;
  /** Deletes rows that ended before `before`, at most 500. Keys must outlive every platform's redelivery (24 h). */
  prune(before: number): Promise<number>;
}

interface Raw {
  id: number;
  lane: string;
  message: string;
  album: string | null;
  verdict: string | null;
  turn_id: string | null;
  deaths: number;
  alone: number;
  received_at: number;
  ready_at: number;
}

export function createInbox(db: StoreDatabase, process: string): Inbox {
  const { sql, write } = db;
  const insert = sql.prepare(
    `INSERT INTO inbox (platform, account, event_key, process, lane, message_id, album, message, state, ready_at, received_at, finished_at)
     VALUES (@platform, @account, @key, @process, @lane, @messageId, @album, @message, @state, @readyAt, @now, @finishedAt)
     ON CONFLICT (platform, account, event_key) DO NOTHING`,
  );
  const existing = sql.prepare('SELECT id FROM inbox WHERE platform = ? AND account = ? AND event_key = ?').pluck();
  const countWaiting = sql.prepare("SELECT count(*) FROM inbox WHERE lane = ? AND state = 'waiting'").pluck();
  const amendRow = sql.prepare(
    "UPDATE inbox SET message = ? WHERE platform = ? AND account = ? AND message_id = ? AND state = 'waiting' AND process = ?",
  );
  const waitingMessage = sql
    .prepare("SELECT message FROM inbox WHERE platform = ? AND account = ? AND message_id = ? AND state = 'waiting' AND process = ?")
    .pluck();
  const isRunning = sql.prepare("SELECT 1 FROM inbox WHERE lane = ? AND state = 'running' AND process = ?").pluck();
  const candidates = sql.prepare("SELECT * FROM inbox WHERE lane = ? AND state = 'waiting' AND process = ? ORDER BY id LIMIT 100");
  const oldest = sql.prepare("SELECT * FROM inbox WHERE lane = ? AND state = 'waiting' AND process = ? ORDER BY id LIMIT 1");
  const run = sql.prepare("UPDATE inbox SET state = 'running' WHERE id = ?");
  const setVerdict = sql.prepare('UPDATE inbox SET verdict = ? WHERE id = ?');
  const setAlone = sql.prepare('UPDATE inbox SET alone = 1 WHERE id = ?');
  const giveBack = sql.prepare("UPDATE inbox SET state = 'waiting', alone = 0 WHERE id = ? AND state = 'running'");
  const end = sql.prepare('UPDATE inbox SET state = ?, finished_at = ? WHERE id = ?');
  const stateOf = sql.prepare('SELECT state, turn_id AS turnId FROM inbox WHERE id = ?');
  const dead = sql.prepare("SELECT * FROM inbox WHERE state = 'running' AND process = ? ORDER BY id");
  const openLanes = sql.prepare("SELECT DISTINCT lane FROM inbox WHERE state = 'waiting' AND process = ?").pluck();
  const blame = sql.prepare("UPDATE inbox SET state = 'waiting', deaths = deaths + 1 WHERE id = ?");
  const remove = sql.prepare('DELETE FROM inbox WHERE id IN (SELECT id FROM inbox WHERE finished_at < ? ORDER BY finished_at LIMIT 500)');

  return {
    admit: ({ lane, message, now, readyAt = 0, limit, isSettled = false }) =>
      write((): Admitted => {
        const { platform, account } = message.address;
        const known = existing.get(platform, account, message.key);
        if (known !== undefined) return { id: Number(known), outcome: 'duplicate' };
        const isFull = limit !== undefined && Number(countWaiting.get(lane)) >= limit;
        const { lastInsertRowid } = insert.run({
          platform,
          account,
          key: message.key,
          process,
          lane,
          messageId: message.messageId,
          album: message.albumId ?? null,
          message: JSON.stringify(message),
          state: isFull ? 'declined' : isSettled ? 'answered' : 'waiting',
          readyAt,
          now,
          finishedAt: isFull || isSettled ? now : null,
        });
        return { id: Number(lastInsertRowid), outcome: isFull ? 'full' : 'fresh' };
      }),

    amend: (message) =>
      write(() => {
        const { platform, account } = message.address;
        const stored = waitingMessage.get(platform, account, message.messageId, process);
        if (typeof stored !== 'string') return false;
        const original = JSON.parse(stored) as InboundMessage;
        const amended = { ...original, text: message.text, attachments: message.attachments };
        return amendRow.run(JSON.stringify(amended), platform, account, message.messageId, process).changes > 0;
      }),

    claimNext: (lane, now, collect) =>
      write((): Claim => {
        if (isRunning.get(lane, process) !== undefined) return { rows: null, at: null };
        const head = oldest.get(lane, process) as Raw | undefined;
        if (!head) return { rows: null, at: null };
        if (head.ready_at > now) return { rows: null, at: head.ready_at };
        const first = toRow(head);
        const more = collect || head.album !== null ? (candidates.all(lane, process) as Raw[]).slice(1) : [];
        const rows: [InboxRow, ...InboxRow[]] = [first];
        for (const raw of more) {
          const row = toRow(raw);
          const isSameAlbum = head.album !== null && raw.album === head.album;
          const isCollected = collect && raw.ready_at <= now && row.turnId === null && row.message.sender.id === first.message.sender.id;
          if (isSameAlbum || isCollected) rows.push(row);
        }
        for (const row of rows) run.run(row.id);
        return { rows };
      }),

    saveVerdict: (id, verdict) => write(() => void setVerdict.run(JSON.stringify(verdict), id)),
    markAlone: (id) => write(() => void setAlone.run(id)),
    release: (ids) =>
      write(() => {
        for (const id of ids) giveBack.run(id);
      }),
    finish: (ids, state, now) =>
      write(() => {
        for (const id of ids) end.run(state, now, id);
      }),
    waiting: (lane) => Number(countWaiting.get(lane)),
    look: (id) => (stateOf.get(id) as { state: string; turnId: string | null } | undefined) ?? null,

    recover: (now) =>
      write(() => {
        const poison: InboxRow[] = [];
        for (const raw of dead.all(process) as Raw[]) {
          if (raw.alone) {
            end.run('quarantined', now, raw.id);
            poison.push(toRow({ ...raw, deaths: raw.deaths + 1 }));
          } else blame.run(raw.id);
        }
        return { lanes: openLanes.all(process) as string[], poison };
      }),

    prune: (before) => write(() => remove.run(before).changes),
  };
}

function toRow(raw: Raw): InboxRow {
  return {
    id: raw.id,
    lane: raw.lane,
    message: JSON.parse(raw.message) as InboundMessage,
    verdict: raw.verdict === null ? null : (JSON.parse(raw.verdict) as Verdict),
    turnId: raw.turn_id,
    deaths: raw.deaths,
    receivedAt: raw.received_at,
  };
}
