/**
 * Copies a plugin's skill into the home folder, where people edit it. What was copied is remembered as a hash beside it: only a file
 * that still is what was copied is replaced by a newer one.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface InstallSkill {
  home: string;
  /** Name of the plugin; the skill lands in `<home>/skills/<plugin>/SKILL.md`. */
  plugin: string;
  /** The Markdown file to copy. */
  file: string;
}

/** `kept`: a person has changed the file, or it was there before; it stays as it is. */
export function installSkill({ home, plugin, file }: InstallSkill): 'copied' | 'current' | 'kept' {
  const folder = join(home, 'skills', plugin);
  const target = join(folder, 'SKILL.md');
  const mark = join(folder, '.installed');
  const source = readFileSync(file);
  if (existsSync(target)) {
    const there = hash(readFileSync(target));
    if (there === hash(source)) return 'current';
    if (!existsSync(mark) || readFileSync(mark, 'utf8').trim() !== there) return 'kept';
  }
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // The mark first: if the process dies between the two, the old file counts as edited and is kept, never the other way round.
  writeFileSync(mark, `${hash(source)}\n`);
  writeFileSync(`${target}.new`, source);
  renameSync(`${target}.new`, target);
  return 'copied';
}

function hash(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
