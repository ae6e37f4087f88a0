/** What one start of the terminal chat is told by its command line. There is nothing about it to set in config.yaml. */

export interface CliConfig {
  /** One question and then the end; absent: a conversation. */
  query?: string;
  /** With `query`: the outcome as JSON on stdout instead of the bare text. */
  json: boolean;
  /** A line for each tool that runs. */
  showsTools: boolean;
  toolsets?: string[];
  model?: string;
  /** The session to go on with. */
  sessionId?: string;
  banner: Banner;
}

export interface Banner {
  version: string;
  /** Model.id. */
  model: string;
  /** Tools by toolset, e.g. `{calculator: ['calculate', 'unit_convert']}`. */
  tools: Record<string, string[]>;
  /** Lines worth knowing at the start. */
  notices: string[];
}
