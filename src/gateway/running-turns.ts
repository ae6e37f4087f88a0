/** The turns that run now, by lane: to stop one, to steer it, and to wait for its end. */
import type { UserEntry } from '../contract/transcript.ts';

/** Why a turn was aborted; decides what its chat is told and whether it is run again. */
export type StopReason = 'stop' | 'new' | 'interrupt' | 'shutdown';

export interface RunningTurn {
  lane: string;
  turnId: string;
  sessionId: string;
  senderId: string;
  platform: string;
  chat: string;
  thread: string | undefined;
  startedAt: number;
  /** Messages for the agent's next tool result; what the turn does not take waits in the lane like any message. */
  steering: { entry: UserEntry; inboxId: number }[];
  /** Inbox rows of what the agent has taken and not yet written down. */
  steered: number[];
  abort(reason: StopReason): void;
  /** Resolves when the turn is committed or given back. */
  done: Promise<void>;
}

export interface RunningTurns {
  add(turn: RunningTurn): void;
  remove(lane: string): void;
  get(lane: string): RunningTurn | undefined;
  /** Another turn of the same chat, for a /stop from somebody who has none of their own. */
  inChat(platform: string, chat: string, thread: string | undefined): RunningTurn | undefined;
  all(): RunningTurn[];
}

export function createRunningTurns(): RunningTurns {
  const turns = new Map<string, RunningTurn>();
  return {
    add: (turn) => void turns.set(turn.lane, turn),
    remove: (lane) => void turns.delete(lane),
    get: (lane) => turns.get(lane),
    inChat: (platform, chat, thread) => [...turns.values()].find((turn) => turn.platform === platform && turn.chat === chat && turn.thread === thread),
    all: () => [...turns.values()],
  };
}
