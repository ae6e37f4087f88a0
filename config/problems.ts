/** One thing that is wrong with a configuration, and how all of them are said at once. No value of the file is ever shown. */
import { HermesError } from '../src/contract/errors.ts';

export interface Place {
  file: string;
  /** From 1. */
  line: number;
  column: number;
}

export interface Problem extends Place {
  /** Dotted, e.g. `platforms.telegram.allowed_users.0`; `-` for the file as a whole. */
  key: string;
  reason: string;
}

/** CONFIG_INVALID with one line `file:line:column key reason` per problem, in the order of the file. */
export function toConfigError(problems: readonly Problem[]): HermesError {
  const inOrder = [...problems].sort((a, b) => a.file.localeCompare(b.file) || a.line - b.line || a.column - b.column);
  const lines = inOrder.map(({ file, line, column, key, reason }) => `${file}:${line}:${column} ${key || '-'} ${reason}`);
  return new HermesError('CONFIG_INVALID', [...new Set(lines)].join('\n'));
}
