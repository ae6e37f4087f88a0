/**
 * The inbox: one row per platform event, unique by (platform, account, event key). It is the queue too: a lane claims the
 * oldest waiting row of its key, and a row ends exactly once.
 *
 * admit -> waiting -> claimNext -> running -> finished (commit-turn.ts or finish). A row that was running when the process
 * died goes back to waiting by recover().
 */
import type { InboundMessage } from '../contract/message.ts';
import type { StoreDatabase } from './database.ts';
import { createPartInsert, type NewPart } from './outbox.ts';

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
  /** More rows than this waiting in the lane: the row is kept as declined, together with what its sender is told. */
  limit?: number;
  tellFull?(id: number): NewPart[];
  /** No turn follows: it only has to be counted once. */
  isSettled?: boolean;
  /** Asked once it is known to be no duplicate: does it answer a running turn's question? Then no turn follows either. */
  isAnswer?(): boolean;
}

export type Admitted = { id: number; outcome: 'fresh' | 'answer' | 'duplicate' | 'full' };

export type Claim =
  /** Running from now on, unless they are suspects: those wait until markAlone. */
  | { rows: [InboxRow, ...InboxRow[]] }
  /** Nothing to run now; `at` is when the lane's next row becomes ready, if there is one. */
  | { rows: null; at: number | null };

export interface Inbox {
  admit(admission: Admission): Promise<Admitted>;
  /** An edit of a message that still waits replaces its text. Resolves with true when one waited. */
  amend(message: InboundMessage): Promise<boolean>;
  /**
   * Takes the lane's oldest waiting row, with the later pictures of its album and, if `collect`, everything else that
   * waits from the same sender up to the next command; a turn that was begun already takes the rows it began with.
   * Gives null rows while one of the lane is running. One caller per lane.
   */
  claimNext(lane: string, now: number, collect: boolean): Promise<Claim>;
  saveVerdict(id: number, verdict: Verdict): Promise<void>;
  /** A suspect begins to run, alone. */
  markAlone(id: number): Promise<void>;
  /** Back to waiting without blame: the program stops in an orderly way. */
  release(ids: number[]): Promise<void>;
  finish(ids: number[], state: InboxEnd, now: number): Promise<void>;
  waiting(lane: string): number;
  /** How a row stands and, when its turn has ended, how. For duplicates that ask again. */
  look(id: number): { state: string; turnId: string | null } | null;
  /**
   * After a death: rows that were running wait again with one more death. Those that died while they ran alone are given
   * back as poison and stay as they are until they are ended, so that a death before somebody is told changes nothing; one that
   * only asked the model then is tried alone twice more. Returns the lanes that have something to do, too.
   */
  recover(): Promise<{ lanes: string[]; poison: InboxRow[] }>;
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

/** SQLite takes a partial index only where its very words stand, and `INDEXED BY` refuses to go on without: a claim must never read the whole table. */
const openRows = "inbox INDEXED BY inbox_open WHERE state IN ('waiting', 'running')";

/** A message in which the process died this often runs while nothing else does; dying then, it is the culprit. */
const deathsBeforeAlone = 2;

export const isSuspect = (rows: readonly InboxRow[]): boolean => rows.some(({ deaths }) => deaths >= deathsBeforeAlone);

/** A row in which the process died while it ran alone and asked the model runs alone again, up to so many deaths in all. */
const mostDeaths = 5;

export function createInbox(db: StoreDatabase, process: string): Inbox {
  const { sql, write } = db;
  const insertPart = createPartInsert(db);
  const insert = sql.prepare(
    `INSERT INTO inbox (platform, account, event_key, process, lane, message_id, album, message, state, ready_at, received_at, finished_at)
     VALUES (@platform, @account, @key, @process, @lane, @messageId, @album, @message, @state, @readyAt, @now, @finishedAt)
     ON CONFLICT (platform, account, event_key) DO NOTHING`,
  );
  const existing = sql.prepare('SELECT id FROM inbox WHERE platform = ? AND account = ? AND event_key = ?').pluck();
  const countWaiting = sql.prepare(`SELECT count(*) FROM ${openRows} AND lane = ? AND state = 'waiting'`).pluck();
  const amendRow = sql.prepare('UPDATE inbox SET message = ? WHERE id = ?');
  const waitingMessages = sql.prepare(`SELECT * FROM ${openRows} AND platform = ? AND account = ? AND message_id = ? AND state = 'waiting' AND process = ?`);
  const isRunning = sql.prepare(`SELECT 1 FROM ${openRows} AND lane = ? AND state = 'running' AND process = ?`).pluck();
  const candidates = sql.prepare(`SELECT * FROM ${openRows} AND lane = ? AND state = 'waiting' AND process = ? ORDER BY id LIMIT 100`);
  const oldest = sql.prepare(`SELECT * FROM ${openRows} AND lane = ? AND state = 'waiting' AND process = ? ORDER BY id LIMIT 1`);
  const run = sql.prepare("UPDATE inbox SET state = 'running' WHERE id = ?");
  const setVerdict = sql.prepare('UPDATE inbox SET verdict = ? WHERE id = ?');
  const setAlone = sql.prepare("UPDATE inbox SET alone = 1, state = 'running' WHERE id = ?");
  const lastEntry = sql.prepare('SELECT role, text IS NOT NULL AS isDone FROM entries WHERE turn_id = ? ORDER BY id DESC LIMIT 1');
  const giveBack = sql.prepare("UPDATE inbox SET state = 'waiting', alone = 0 WHERE id = ? AND state = 'running'");
  const end = sql.prepare('UPDATE inbox SET state = ?, finished_at = ? WHERE id = ?');
  const stateOf = sql.prepare('SELECT state, turn_id AS turnId FROM inbox WHERE id = ?');
  const dead = sql.prepare(`SELECT * FROM ${openRows} AND state = 'running' AND process = ? ORDER BY id`);
  const openLanes = sql.prepare(`SELECT DISTINCT lane FROM ${openRows} AND state = 'waiting' AND process = ?`).pluck();
  const blame = sql.prepare("UPDATE inbox SET state = 'waiting', deaths = deaths + 1, alone = 0 WHERE id = ?");
  // Of the oldest rows alone, which no index has to find.
  const remove = sql.prepare('DELETE FROM inbox WHERE id IN (SELECT id FROM (SELECT id, finished_at FROM inbox ORDER BY id LIMIT 500) WHERE finished_at < ?)');

  /** While the model is asked no tool and hardly a hook runs: the death was most likely somebody else's doing. */
  const isAskingModel = ({ turn_id }: Raw): boolean => {
    const last = turn_id === null ? undefined : (lastEntry.get(turn_id) as { role: string; isDone: number } | undefined);
    return last?.role === 'user' || (last?.role === 'tool' && last.isDone === 1);
  };

  return {
    admit: ({ lane, message, now, readyAt = 0, limit, tellFull, isSettled = false, isAnswer }) =>
      write((): Admitted => {
        const { platform, account } = message.address;
        const known = existing.get(platform, account, message.key);
        if (known !== undefined) return { id: Number(known), outcome: 'duplicate' };
        const isTaken = isAnswer?.() ?? false;
        const isFull = !isTaken && limit !== undefined && Number(countWaiting.get(lane)) >= limit;
        const isOver = isSettled || isTaken;
        const { lastInsertRowid } = insert.run({
          platform,
          account,
          key: message.key,
          process,
          lane,
          messageId: message.messageId,
          album: message.albumId ?? null,
          message: JSON.stringify(message),
          state: isFull ? 'declined' : isOver ? 'answered' : 'waiting',
          readyAt,
          now,
          finishedAt: isFull || isOver ? now : null,
        });
        const id = Number(lastInsertRowid);
        for (const part of (isFull && tellFull?.(id)) || []) insertPart(part, 'waiting', now);
        return { id, outcome: isFull ? 'full' : isTaken ? 'answer' : 'fresh' };
      }),

    amend: (message) =>
      write(() => {
        const { platform, account, chat } = message.address;
        // Platforms count their messages per chat: another chat's message may bear the same id.
        const rows = (waitingMessages.all(platform, account, message.messageId, process) as Raw[]).map(toRow);
        const row = rows.find((each) => each.message.address.chat === chat);
        if (!row) return false;
        amendRow.run(JSON.stringify({ ...row.message, text: message.text, attachments: message.attachments }), row.id);
        return true;
      }),

    claimNext: (lane, now, collect) =>
      write((): Claim => {
        if (isRunning.get(lane, process) !== undefined) return { rows: null, at: null };
        const head = oldest.get(lane, process) as Raw | undefined;
        if (!head) return { rows: null, at: null };
        if (head.ready_at > now) return { rows: null, at: head.ready_at };
        const first = toRow(head);
        const rows: [InboxRow, ...InboxRow[]] = [first];
        const mayJoin = collect || head.album !== null || first.turnId !== null;
        for (const raw of mayJoin ? (candidates.all(lane, process) as Raw[]).slice(1) : []) {
          const row = toRow(raw);
          // A turn that goes on takes exactly the rows that it began with.
          const isOfTurn = first.turnId !== null && row.turnId === first.turnId;
          const isOfAlbum = first.turnId === null && head.album !== null && raw.album === head.album;
          if (isOfTurn || isOfAlbum) rows.push(row);
          else if (!collect || first.turnId !== null) continue;
          else if (isCommand(first) || isCommand(row)) break;
          else if (raw.ready_at <= now && row.message.sender.id === first.message.sender.id) rows.push(row);
        }
        // A suspect waits for its turn alone; a death meanwhile is not its fault.
        if (!isSuspect(rows)) for (const row of rows) run.run(row.id);
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

    recover: () =>
      write(() => {
        const poison: InboxRow[] = [];
        for (const raw of dead.all(process) as Raw[]) {
          if (raw.alone === 0 || (raw.deaths + 1 < mostDeaths && isAskingModel(raw))) blame.run(raw.id);
          else poison.push(toRow({ ...raw, deaths: raw.deaths + 1 }));
        }
        return { lanes: openLanes.all(process) as string[], poison };
      }),

    prune: (before) => write(() => remove.run(before).changes),
  };
}

/** Collected texts become one message; a command among them has to keep its place. */
const isCommand = ({ message }: InboxRow) => message.text.trimStart().startsWith('/');

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
