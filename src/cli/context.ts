/** What every command group is given: the seam to main, the global options, and how an exit code is handed back. */
import { InvalidArgumentError, type Command } from 'commander';
import { printable } from '../lib/printable.ts';
import type { CliDeps, GlobalOptions, Inspection } from './deps.ts';

export interface CliContext {
  deps: CliDeps;
  /** Valid once the command line is parsed. */
  globals(): GlobalOptions;
  /** The exit code of the command that runs; 0 until it is set. */
  finish(code: number): void;
}

/** One line to stdout. Much of what is printed came from chats, so none of it may command the terminal. */
export function print(context: CliContext, text: string): void {
  context.deps.stdout(`${printable(text)}\n`);
}

/** Opens the home for looking at, says what is wrong with it on stderr, and closes it whatever happens. */
export async function inspecting(context: CliContext, pluginDirs: string[], look: (home: Inspection) => Promise<void> | void): Promise<void> {
  const inspection = await context.deps.inspect({ ...context.globals(), pluginDirs });
  try {
    for (const warning of inspection.warnings()) context.deps.stderr(`${printable(warning)}\n`);
    await look(inspection);
  } finally {
    await inspection.close();
  }
}

/** `--plugin DIR`, any number of times. */
export function withPluginOption(command: Command): Command {
  return command.option('--plugin <dir>', 'load this plugin too (repeatable)', (dir: string, dirs: string[]) => [...dirs, dir], [] as string[]);
}

export function withExample(command: Command, ...lines: string[]): Command {
  return command.addHelpText('after', `\n${lines.length > 1 ? 'Examples' : 'Example'}:\n${lines.map((line) => `  $ ${line}`).join('\n')}`);
}

export function toWholeNumber(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It must be a whole number of 1 or more.');
  return Number(text);
}

/** Rows in columns that are as wide as their widest cell. */
export function toColumns(rows: string[][]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ').trimEnd()).join('\n');
}
