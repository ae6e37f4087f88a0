/** What main hands the command-line programs. They know no store and no gateway. */
import type { LoadedConfig } from '../../config/load.ts';
import type { PluginFacts } from '../contract/plugin.ts';
import type { LogLevel } from '../lib/log.ts';

export interface GlobalOptions {
  home: string;
  logLevel: LogLevel | undefined;
}

export interface ChatOptions extends GlobalOptions {
  /** One turn with this text and then the end; absent: interactive. */
  query?: string;
  toolsets?: string[];
  model?: string;
  resume?: string;
  continue: boolean;
  pluginDirs: string[];
  json: boolean;
}

export interface ToolFacts {
  name: string;
  toolset: string;
  description: string;
  /** Null when it is offered; otherwise why it is not. */
  absent: string | null;
}

export interface SessionFacts {
  id: string;
  title: string;
  platform: string;
  startedAt: number;
  lastActiveAt: number;
  turns: number;
}

export interface SessionEntry {
  role: string;
  text: string;
  createdAt: number;
}

export interface SessionDetail extends SessionFacts {
  entries: SessionEntry[];
}

export interface SessionHit extends SessionEntry {
  sessionId: string;
  title: string;
}

/** A home opened for looking at: plugins loaded, nothing listening, nothing recovered. */
export interface Inspection {
  plugins(): PluginFacts[];
  tools(platform: string): Promise<ToolFacts[]>;
  warnings(): string[];
  sessions(limit: number): Promise<SessionFacts[]>;
  /** Null when there is no such session. `limit`: newest entries. */
  session(id: string, limit: number): SessionDetail | null;
  searchSessions(query: string, limit: number): SessionHit[];
  /** False when there is no such session. */
  renameSession(id: string, title: string): Promise<boolean>;
  /** `busy`: a turn runs in it. */
  removeSession(id: string): Promise<'removed' | 'busy' | 'unknown'>;
  /** Ids of sessions that were not used for so many days, the oldest first. */
  unusedSessions(days: number): string[];
  outbox(): Promise<OutboxFacts[]>;
  skills(): { name: string; description: string; source: string }[];
  /** The text of a skill; null when there is none of that name. */
  skill(name: string): string | null;
  /** What a new session is told of it; empty when nothing is kept. */
  memory(): Promise<string>;
  memoryFiles: { memory: string; user: string };
  close(): Promise<void>;
}

export interface OutboxFacts {
  id: number;
  state: string;
  address: string;
  text: string;
  attempts: number;
  error: string | null;
  createdAt: number;
}

export interface PluginCli {
  name: string;
  help: string;
  plugin: string;
  setupFn?(command: unknown): void;
  handlerFn(args: Record<string, unknown>): unknown;
}

/** What looking a plugin over has found, as lines to print. */
export interface Examination {
  lines: string[];
  /** False when it does not load or does not work. */
  isSound: boolean;
}

export interface CliDeps {
  stdout(text: string): void;
  stderr(text: string): void;
  env: Record<string, string | undefined>;
  version: string;
  /** The configuration as a start would see it, or as if the file held `text`. Rejects with CONFIG_INVALID. */
  loadConfig(options: GlobalOptions, text?: string): Promise<LoadedConfig>;
  /** Each resolves with an exit code. */
  runDaemon(options: GlobalOptions & { pluginDirs: string[] }): Promise<number>;
  runChat(options: ChatOptions): Promise<number>;
  inspect(options: GlobalOptions & { pluginDirs: string[] }): Promise<Inspection>;
  /** Loads plugins only to learn their commands. */
  pluginCommands(options: GlobalOptions): Promise<PluginCli[]>;
  /** Loads the plugin in `dir` apart from everything else and looks it over. It runs the plugin's code, and its tools when `callTools`. */
  examinePlugin(options: GlobalOptions, dir: string, callTools: boolean): Promise<Examination>;
  /** A call to the running daemon's HTTP API with the home's key; rejects with a HermesError when none runs. */
  callDaemon(options: GlobalOptions, method: string, path: string, body?: unknown): Promise<unknown>;
}
