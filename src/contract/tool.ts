/** What a tool is and what it is given when it runs. */
import type { Log } from './log.ts';

export interface ToolSchema {
  name: string;
  description: string;
  /** JSON Schema of the arguments, `type: object`. */
  parameters: Record<string, unknown>;
}

/** Names of this type are seen by plugin authors and stay snake_case. */
export interface ToolContext {
  /** The session's id; a child agent has its own. */
  task_id: string;
  session_id: string;
  turn_id: string;
  tool_call_id: string;
  platform: string;
  /** Aborted by /stop, the turn's end and the tool's time-out. */
  signal: AbortSignal;
  log: Log;
  home: string;
}

export type ToolArgs = Record<string, unknown>;
export type ToolHandler = (args: ToolArgs, context: ToolContext) => unknown;

export interface Tool {
  name: string;
  toolset: string;
  schema: ToolSchema;
  /** Returns a JSON string; errors as `{"error": "..."}`. May be async. */
  handler: ToolHandler;
  /** Asked when definitions are built; false or a throw leaves the tool out. */
  checkFn?: () => boolean | Promise<boolean>;
  /** Environment variables without which the tool is left out. */
  requiresEnv?: string[];
  /** Accepted for compatibility, never needed. */
  isAsync?: boolean;
  /** The only platforms it is offered on; default all. */
  platforms?: string[];
  /** A call that was running when the process died may simply be run again. Default false. */
  idempotent?: boolean;
  /** May run beside other parallel tools of the same step. Default false. */
  parallel?: boolean;
  /** Default 30,000, at most 600,000. */
  timeoutMs?: number;
  /** Longer results are stored and paged. Default 50,000. */
  maxResultChars?: number;
  emoji?: string;
  /** Says why this call needs a person's consent, or null. Asked after validation, before the handler. */
  needsApproval?: (args: ToolArgs, context: Pick<ToolContext, 'platform' | 'home'>) => string | null;
  /** Run by the agent with its own state; the handler only answers a direct dispatch. */
  agentRun?: boolean;
}

/** What a file of src/tools/builtin or <home>/tools may export as default: a tool, or a function that builds one. */
export type ToolFactory = (deps: ToolDeps) => Tool;

export interface ToolDeps {
  home: string;
  /** Folder that file tools and the terminal work in. */
  workspace: string;
  env: Record<string, string | undefined>;
  web: { search: string | null; searxng_url: string | null; allow_cidrs: string[] };
  log: Log;
}

/** Tools that the agent runs itself get this beside the context. */
export type AgentTool = (args: ToolArgs, context: ToolContext) => Promise<string>;
