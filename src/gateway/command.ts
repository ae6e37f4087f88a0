/** What a chat command is, and how one is told from ordinary text. */
import type { InboundMessage } from '../contract/message.ts';
import type { Session } from '../store/sessions.ts';

export interface CommandCall {
  /** Without the slash, lower case. */
  name: string;
  args: string;
  message: InboundMessage;
  lane: string;
  owner: string;
  /** The inbox row of the command: what must happen once, however often the process dies in between, is bound to it. */
  row: number;
  /** The lane's live session, if there is one. */
  session: Session | null;
}

/** A reply, as plain text (columns and marks stay as they are) or Markdown; a text to run as a turn instead; or nothing to say. */
export type CommandResult = { plain: string } | { markdown: string } | { run: string } | null;

export interface Command {
  name: string;
  aliases?: string[];
  description: string;
  /** Runs at once, beside a running turn. */
  isControl?: boolean;
  /** A bare string is plain text. */
  run(call: CommandCall): Promise<CommandResult | string> | CommandResult | string;
}

/**
 * `/name args` at the very beginning; case of the name does not matter, `/name@Bot` is taken for `/name` (the adapter has
 * dropped what was meant for another bot). Null for everything else, such as `/usr/bin` or a lone slash.
 */
export function parseCommand(text: string): { name: string; args: string } | null {
  const match = /^\/([a-z][a-z0-9_-]*)(?:@\S+)?(?:\s+([\s\S]*))?$/i.exec(text.trim());
  return match?.[1] ? { name: match[1].toLowerCase(), args: match[2]?.trim() ?? '' } : null;
}

/** Telegram's menu knows no hyphens: `/my_command` finds `/my-command`. */
export function findCommand<C extends { name: string; aliases?: string[] }>(commands: readonly C[], name: string): C | undefined {
  return (
    commands.find((command) => command.name === name || command.aliases?.includes(name)) ??
    commands.find((command) => command.name.replaceAll('-', '_') === name)
  );
}
