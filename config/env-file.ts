/**
 * `<home>/.env`: one `NAME=value` a line, `export` in front allowed, quotes optional, `#` begins a comment. Read strictly, so
 * that a line that means nothing is said and not skipped. Values never appear in messages.
 */
import { readFileSync, statSync } from 'node:fs';
import { toMessage } from '../src/contract/errors.ts';
import type { Problem } from './problems.ts';
import type { Environment } from './read-yaml.ts';

export interface EnvFile {
  exists: boolean;
  values: Map<string, { text: string; line: number }>;
  problems: Problem[];
  notices: string[];
}

const maxBytes = 1024 * 1024;

/** A file that is not there is an empty one. */
export function readEnvFile(path: string): EnvFile {
  const file: EnvFile = { exists: false, values: new Map(), problems: [], notices: [] };
  try {
    const facts = statSync(path, { throwIfNoEntry: false });
    if (!facts) return file;
    file.exists = true;
    if ((facts.mode & 0o077) !== 0) file.notices.push(`${path} can be read by other users; run: chmod 600 ${path}`);
    if (facts.size > maxBytes) file.problems.push({ file: path, line: 1, column: 1, key: '-', reason: 'is larger than 1 MiB' });
    else parseInto(file, path, readFileSync(path, 'utf8'));
  } catch (error) {
    file.problems.push({ file: path, line: 1, column: 1, key: '-', reason: `cannot be read: ${toMessage(error)}` });
  }
  return file;
}

function parseInto(file: EnvFile, path: string, text: string): void {
  for (const [index, raw] of text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/).entries()) {
    const content = raw.trim();
    if (content === '' || content.startsWith('#')) continue;
    const [, name = '', rest = ''] = /^(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)$/.exec(content) ?? [];
    const value = name === '' ? undefined : toValue(rest);
    if (value === undefined) file.problems.push({ file: path, line: index + 1, column: 1, key: name || '-', reason: 'must be NAME=value, quotes closed' });
    else file.values.set(name, { text: value, line: index + 1 });
  }
}

/** Undefined when a quote is not closed or something follows it. */
function toValue(rest: string): string | undefined {
  const single = /^'([^']*)'\s*(#.*)?$/.exec(rest);
  if (single) return single[1];
  const double = /^"((?:[^"\\]|\\.)*)"\s*(#.*)?$/.exec(rest);
  if (double) return double[1]?.replace(/\\(.)/g, (_, char: string) => (char === 'n' ? '\n' : char));
  if (/^['"]/.test(rest)) return undefined;
  return rest.replace(/(^|\s+)#.*$/, '');
}

/** Puts the file's values into `env`; a variable that is there already wins, even when it is empty. */
export function addToEnvironment(file: EnvFile, env: Environment): void {
  for (const [name, { text }] of file.values) env[name] ??= text;
}
