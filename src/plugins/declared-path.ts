/**
 * Every path that a plugin declares passes through here. Its real path must lie under the plugin's real path: a symlinked plugin
 * folder is fine and so are links inside it, a link that leads out is not. Hard links are refused because they have no path to
 * compare, pipes and devices because reading them can hang.
 */
import { existsSync, realpathSync, statSync } from 'node:fs';
import { isAbsolute, join, relative, sep } from 'node:path';
import { HermesError } from '../contract/errors.ts';

/** The real path of a declared file or folder. Throws PLUGIN_INVALID with the reason; `code` says whether it merely is not there. */
export function resolveDeclared(realRoot: string, declared: string): string {
  if (declared === '' || declared.includes('\0')) throw refused(declared, 'is no path');
  const path = isAbsolute(declared) ? declared : join(realRoot, declared);
  if (!isUnder(realRoot, path)) throw refused(declared, 'lies outside the plugin folder');
  if (!existsSync(path)) throw new MissingFile(`${declared} is not in the plugin folder`);
  const real = realpathSync(path);
  if (!isUnder(realRoot, real)) throw refused(declared, 'leads out of the plugin folder');
  const stats = statSync(real);
  if (!stats.isFile() && !stats.isDirectory()) throw refused(declared, 'is neither a file nor a folder');
  if (stats.isFile() && stats.nlink > 1) throw refused(declared, 'is a hard link; put a copy into the plugin folder');
  return real;
}

/** A declared file that does not exist; form 2 drops the item alone. */
export class MissingFile extends HermesError {
  constructor(message: string) {
    super('PLUGIN_INVALID', message);
  }
}

export function isUnder(root: string, path: string): boolean {
  const rest = relative(root, path);
  return rest === '' || (rest !== '..' && !rest.startsWith(`..${sep}`) && !isAbsolute(rest));
}

function refused(declared: string, why: string): HermesError {
  return new HermesError('PLUGIN_INVALID', `${JSON.stringify(declared)} ${why}`);
}
