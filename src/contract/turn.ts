/** What can be seen of a turn while it runs, and how it ended. */
import type { Usage } from './model.ts';

export type TurnEvent =
  | { type: 'started'; turnId: string; sessionId: string; model: string }
  /** More text of the answer. */
  | { type: 'text'; delta: string }
  /** The text shown since the last segment or start is void: the model call is made again. */
  | { type: 'retract' }
  /** The text so far stands as a message of its own; a tool call follows. */
  | { type: 'segment'; text: string }
  | { type: 'tool_started'; toolCallId: string; name: string; args: Record<string, unknown>; emoji: string }
  | { type: 'tool_finished'; toolCallId: string; name: string; status: 'ok' | 'error' | 'blocked'; durationMs: number }
  /** The agent waits for an answer: the next message of this chat, or a command such as /approve. */
  | { type: 'question'; text: string; choices: string[] }
  /** Something worth a line that is no part of the answer (a fallback model was used, a command's reply). */
  | { type: 'notice'; text: string };

/** How an accepted message ended. */
export interface TurnOutcome {
  status: 'answered' | 'declined' | 'failed' | 'aborted';
  /** The final text; for `failed` the sentence that the user is shown. */
  text: string;
  /** Set for `failed`: a code of contract/errors.ts. */
  code?: string;
  sessionId?: string;
  turnId?: string;
  model?: string;
  usage?: Usage;
}
