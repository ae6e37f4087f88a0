/**
 * Hooks and the plugin surface. The hook table is the one place a hook is declared: its moment, the keys of its payload, what
 * it may return, and which time limit holds. docs/hooks.md is held equal to it by a test.
 */
import type { Adapter, AdapterContext } from './adapter.ts';
import type { Log } from './log.ts';
import type { Address } from './message.ts';
import type { Usage } from './model.ts';
import type { HistoryMessage } from './transcript.ts';
import type { Tool, ToolArgs, ToolContext, ToolSchema } from './tool.ts';

interface OfTurn {
  session_id: string;
  turn_id: string;
  platform: string;
}

export interface HookPayloads {
  on_session_start: OfTurn & { model: string };
  pre_llm_call: OfTurn & {
    user_message: string;
    conversation_history: HistoryMessage[];
    is_first_turn: boolean;
    model: string;
    sender_id: string;
  };
  pre_api_request: OfTurn & { method: string; url: string; headers: Record<string, string>; body: unknown; model: string; attempt: number };
  post_api_request: OfTurn & {
    method: string;
    url: string;
    status_code: number;
    response: unknown;
    duration_ms: number;
    usage: Usage | null;
  };
  api_request_error: OfTurn & { status_code: number | null; error: string; attempt: number; retryable: boolean };
  pre_tool_call: OfTurn & { tool_name: string; args: ToolArgs; task_id: string; tool_call_id: string };
  post_tool_call: ToolDone;
  transform_tool_result: ToolDone;
  transform_llm_output: OfTurn & { response_text: string; model: string };
  post_llm_call: OfTurn & { user_message: string; assistant_response: string; conversation_history: HistoryMessage[]; model: string };
  on_session_end: OfTurn & { completed: boolean; interrupted: boolean; model: string };
  on_session_finalize: SessionChange;
  on_session_reset: SessionChange;
  pre_gateway_dispatch: OfTurn & { message: string; sender: { id: string; name: string }; chat: { id: string; type: string; thread: string | null } };
  pre_command: OfTurn & { command: string; args: string; sender_id: string };
  pre_approval_request: OfTurn & { tool_name: string; args: ToolArgs; reason: string; tool_call_id: string };
  post_approval_response: OfTurn & { tool_name: string; tool_call_id: string; choice: 'once' | 'session' | 'always' | 'deny' | 'timeout'; decided_by: string | null };
  subagent_start: OfTurn & { child_session_id: string; goal: string };
  subagent_stop: OfTurn & { child_session_id: string; status: string; summary: string; duration_ms: number };
  on_delivery: { session_id: string | null; turn_id: string | null; platform: string; chat: string; part: number; status: 'sent' | 'unknown' | 'failed'; error: string | null };
  on_message_received: OfTurn & { message: string; sender: { id: string; name: string }; chat: { id: string; type: string; thread: string | null } };
  on_plugin_loaded: Record<string, never>;
  on_user_joined: { user: { id: string; name: string }; chat: string; platform: string };
  on_error_occurred: { error: string; where: string; session_id: string | null; turn_id: string | null; platform: string | null };
}

type ToolDone = OfTurn & {
  tool_name: string;
  args: ToolArgs;
  task_id: string;
  tool_call_id: string;
  result: string;
  duration_ms: number;
  status: 'ok' | 'error' | 'blocked';
};

interface SessionChange {
  session_id: string;
  old_session_id: string;
  /** Null for a finalize that nothing follows (shutdown). */
  new_session_id: string | null;
  platform: string;
  reason: 'new' | 'idle' | 'daily' | 'shutdown';
}

export type HookName = keyof HookPayloads;

export interface HookFacts {
  when: string;
  /** Keys of the payload, in order of docs/hooks.md. */
  keys: readonly string[];
  returns: string;
  /** `pre` hooks are waited for at most hook_timeout_s.pre seconds, `post` hooks at most hook_timeout_s.post. */
  limit: 'pre' | 'post';
}

const ofTurn = ['session_id', 'turn_id', 'platform'] as const;
const toolDone = ['tool_name', 'args', 'result', 'duration_ms', 'status', 'task_id', 'tool_call_id', ...ofTurn] as const;
const sessionChange = ['session_id', 'old_session_id', 'new_session_id', 'reason', 'platform'] as const;
const nothing = 'nothing';

export const hookTable: Record<HookName, HookFacts> = {
  on_session_start: { when: 'first turn of a new session only; not after a restart, not on resume', keys: ['model', ...ofTurn], returns: nothing, limit: 'pre' },
  pre_llm_call: {
    when: 'once per turn, before the first step',
    keys: ['user_message', 'conversation_history', 'is_first_turn', 'model', 'sender_id', ...ofTurn],
    returns: 'a string or {context}: appended to this turn\'s user message as sent, never stored in the transcript',
    limit: 'pre',
  },
  pre_api_request: { when: 'each HTTP request to the provider, before it is sent', keys: ['method', 'url', 'headers', 'body', 'model', 'attempt', ...ofTurn], returns: nothing, limit: 'pre' },
  post_api_request: { when: 'each HTTP answer of the provider, 4xx and 5xx too', keys: ['method', 'url', 'status_code', 'response', 'duration_ms', 'usage', ...ofTurn], returns: nothing, limit: 'post' },
  api_request_error: { when: 'each failed attempt', keys: ['status_code', 'error', 'attempt', 'retryable', ...ofTurn], returns: nothing, limit: 'post' },
  pre_tool_call: {
    when: 'before any tool, the agent\'s own included',
    keys: ['tool_name', 'args', 'task_id', 'tool_call_id', ...ofTurn],
    returns: 'nothing, {action:"block", message} or {action:"modify", args}',
    limit: 'pre',
  },
  post_tool_call: { when: 'after a tool: success, error or block', keys: toolDone, returns: nothing, limit: 'post' },
  transform_tool_result: { when: 'before a tool result is stored', keys: toolDone, returns: 'a string that replaces the result', limit: 'pre' },
  transform_llm_output: { when: 'before the answer is delivered and stored', keys: ['response_text', 'model', ...ofTurn], returns: 'a non-empty string that replaces the answer', limit: 'pre' },
  post_llm_call: { when: 'end of a successful turn', keys: ['user_message', 'assistant_response', 'conversation_history', 'model', ...ofTurn], returns: nothing, limit: 'post' },
  on_session_end: { when: 'end of every turn: success, failure, abort', keys: ['completed', 'interrupted', 'model', ...ofTurn], returns: nothing, limit: 'post' },
  on_session_finalize: { when: 'a session ends: /new, a reset policy, shutdown', keys: sessionChange, returns: nothing, limit: 'post' },
  on_session_reset: { when: 'a session has replaced another, right after its finalize', keys: sessionChange, returns: nothing, limit: 'post' },
  pre_gateway_dispatch: {
    when: 'after authorisation, in the session\'s lane, before ordinary commands',
    keys: ['message', 'sender', 'chat', ...ofTurn],
    returns: '{action:"skip"} or {action:"rewrite", text}',
    limit: 'pre',
  },
  pre_command: { when: 'before a chat command runs', keys: ['command', 'args', 'sender_id', ...ofTurn], returns: nothing, limit: 'pre' },
  pre_approval_request: { when: 'before a person is asked for consent', keys: ['tool_name', 'args', 'reason', 'tool_call_id', ...ofTurn], returns: nothing, limit: 'pre' },
  post_approval_response: { when: 'after consent was given, denied or timed out', keys: ['tool_name', 'tool_call_id', 'choice', 'decided_by', ...ofTurn], returns: nothing, limit: 'post' },
  subagent_start: { when: 'a child agent starts', keys: ['child_session_id', 'goal', ...ofTurn], returns: nothing, limit: 'pre' },
  subagent_stop: { when: 'a child agent has ended', keys: ['child_session_id', 'status', 'summary', 'duration_ms', ...ofTurn], returns: nothing, limit: 'post' },
  on_delivery: { when: 'a part of a reply was sent, may have been sent, or failed for good', keys: ['chat', 'part', 'status', 'error', ...ofTurn], returns: nothing, limit: 'post' },
  on_message_received: { when: 'after authorisation, before pre_gateway_dispatch (plugin.json hooks)', keys: ['message', 'sender', 'chat', ...ofTurn], returns: '{handled:true} stops the message', limit: 'pre' },
  on_plugin_loaded: { when: 'after this plugin was loaded (plugin.json hooks)', keys: [], returns: nothing, limit: 'post' },
  on_user_joined: { when: 'a person joined a chat (plugin.json hooks)', keys: ['user', 'chat', 'platform'], returns: nothing, limit: 'post' },
  on_error_occurred: { when: 'a turn or an adapter failed (plugin.json hooks)', keys: ['error', 'where', ...ofTurn], returns: nothing, limit: 'post' },
};

export type HookCallback = (payload: Record<string, unknown>) => unknown;

/** What the core fires hooks through. Never throws, never rejects, never takes longer than the time limit. */
export interface Hooks {
  /** Every return value that is not undefined or null, in plugin load order. Each callback gets its own shallow copy. */
  fire<N extends HookName>(name: N, payload: HookPayloads[N]): Promise<HookResult[]>;
  /** True when a callback is registered; lets callers skip building an expensive payload. */
  has(name: HookName): boolean;
}

export interface HookResult {
  plugin: string;
  value: unknown;
  /** Set for a pre_tool_call callback registered with failClosed that threw or timed out. */
  failedClosed?: string;
}

export interface CommandContext {
  platform: string;
  session_id: string | null;
  sender: { id: string; name: string };
  chat: { id: string; type: string; thread: string | null };
}

/** A `/name` for every chat. The handler returns the reply as Markdown, or nothing. */
export interface PluginCommand {
  name: string;
  description: string;
  handler(args: string, context: CommandContext): unknown;
}

/** The part of a commander Command that plugins use; commander itself is not part of the contract. */
export interface CliCommand {
  name: string;
  help: string;
  setupFn?(command: unknown): void;
  handlerFn(args: Record<string, unknown>): unknown;
}

export interface PlatformDefinition {
  name: string;
  label: string;
  createAdapter(config: Record<string, unknown>, context: AdapterContext): Adapter;
}

/** What `register(ctx)` is given. Every method and option answers to its snake_case name too. */
export interface PluginContext {
  readonly name: string;
  readonly config: Record<string, unknown>;
  readonly home: string;
  readonly pluginDir: string;
  readonly log: Log;
  /** JSON kept across restarts, 10 MB at most. */
  readonly state: { get(key: string): unknown; set(key: string, value: unknown): void };
  registerTool(tool: Omit<Tool, 'toolset'> & { toolset?: string }): void;
  registerHook<N extends HookName>(name: N, callback: (payload: HookPayloads[N]) => unknown, options?: { failClosed?: boolean }): void;
  registerCommand(command: PluginCommand): void;
  registerCliCommand(command: CliCommand): void;
  registerSkill(skill: { name: string; path: string; description?: string }): void;
  installSkill(path: string): void;
  registerMemoryProvider(provider: MemoryProvider): void;
  registerPlatform(platform: PlatformDefinition): void;
  /** Runs a tool by its name; the answer is the tool's JSON string. */
  dispatchTool(name: string, args: ToolArgs): Promise<string>;
  /** Puts a message into the outbox; resolves after the commit. `address` may be `PLATFORM:CHAT[:THREAD]`. */
  sendMessage(address: Address | string, text: string): Promise<void>;
  /** Something to dispose of when the plugin is unloaded. */
  track(disposable: { dispose(): void } | (() => void)): void;
}

export interface MemoryProvider {
  name: string;
  /** Text for the system prompt of a new session. */
  snapshot(): string | Promise<string>;
}

/** What `/plugins`, `hermes plugins list` and the page show. */
export interface PluginFacts {
  name: string;
  version: string;
  description: string;
  state: 'loaded' | 'disabled' | 'failed';
  /** Why it is off, e.g. `missing: WEATHER_API_KEY`. */
  reason: string | null;
  tools: string[];
  hooks: string[];
  commands: string[];
  skills: string[];
  dir: string;
}

export type { Tool, ToolContext, ToolSchema };
