/** What a turn is given and what it gives back. The agent sees the rest of the program through these alone. */
import type { ErrorCode } from '../contract/errors.ts';
import type { Log } from '../contract/log.ts';
import type { Model, ToolDefinition, Usage } from '../contract/model.ts';
import type { Hooks } from '../contract/plugin.ts';
import type { AgentTool, Tool, ToolArgs, ToolContext } from '../contract/tool.ts';
import type { Entry, Journal, UserEntry } from '../contract/transcript.ts';
import type { TurnEvent } from '../contract/turn.ts';

export interface TurnInput {
  turnId: string;
  sessionId: string;
  /** The session's id; a child agent has its own. */
  taskId: string;
  platform: string;
  senderId: string;
  home: string;
  systemPrompt: string;
  /** Earlier turns, oldest first; they are repaired before they are sent. */
  history: readonly Entry[];
  user: UserEntry;
  /** Set when this turn was begun by a process that died: its entries so far without the user's, and its stored context. */
  resume?: { entries: readonly Entry[]; context: string };
  isFirstTurn: boolean;
  tools: TurnTools;
  /** Tools that run here instead of in the registry. */
  agentTools: ReadonlyMap<string, AgentTool>;
  model: Model;
  hooks: Hooks;
  journal: Journal;
  limits: TurnLimits;
  /** Photos of the message, ready to send. A rejection costs the photos, not the turn. */
  loadImages(user: UserEntry): Promise<{ mime: string; base64: string }[]>;
  /** Asks a person. A rejection counts as no. */
  approve(request: ApprovalRequest): Promise<{ allow: true } | { allow: false; message: string }>;
  /** Takes the messages that wait to be added after a step's tool results. Must not throw; [] when there are none. */
  steering(): UserEntry[];
  /** A budget's say before each model call: a sentence ends the turn with it, null lets the call happen. A throw is the turn's. */
  beforeCall?(usage: Readonly<Usage>): string | null;
  /** Takes secrets out of tool results. */
  redact(text: string): string;
  /** Must not throw and must return at once. */
  emit(event: TurnEvent): void;
  signal: AbortSignal;
  log: Log;
}

export interface TurnLimits {
  /** Model calls with tools; one without tools follows when they are used up. */
  maxSteps: number;
  timeoutMs: number;
}

export interface ApprovalRequest {
  toolCallId: string;
  name: string;
  args: ToolArgs;
  reason: string;
}

/** The registry as one platform's turn sees it. */
export interface TurnTools {
  definitions: ToolDefinition[];
  get(name: string): Tool | undefined;
  /** The error result when the platform may not run this tool, else null. */
  refusal(name: string): string | null;
  /** What is wrong with the arguments, else null. */
  validate(tool: Tool, args: ToolArgs): string | null;
  /** Never throws; errors are results. */
  dispatch(name: string, args: ToolArgs, context: ToolContext): Promise<string>;
  /** Stores a result that is too long and gives what stands for it. */
  capResult(tool: Tool, text: string): string | Promise<string>;
}

export interface TurnResult {
  status: 'answered' | 'failed' | 'aborted';
  /** The answer, or the sentence that the user is to be shown. */
  text: string;
  /** Set unless `answered`. */
  code?: ErrorCode;
  usage: Usage;
  /** Model calls that were answered, those before a restart included. */
  steps: number;
  /** Who answered last, e.g. `openai/gpt-5-mini`. */
  model: string;
  /** The whole turn, the user's entry first. The last one is an assistant entry with `text`; the journal has not seen that one. */
  entries: Entry[];
  /** The user's text, without note and context. */
  userMessage: string;
  /** Fires post_llm_call and on_session_end. To be called once, when the answer is committed: no hook delays a reply. Never rejects. */
  afterwards(): Promise<void>;
}
