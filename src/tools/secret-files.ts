/**
 * Files that no file tool touches. The home's own are known by device and inode, so that a link under another name is the same
 * file; the database above all: opening and closing it in this process would drop the locks that SQLite holds on it.
 */
import type { Stats } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { isAbsolute, join, relative, sep } from 'node:path';

/** Names at the top of the home. */
const homeSecret = /^(state\.db|lock\.db|\.env|config\.yaml)/;
/** Folders of the home whose files are run as code at the next start. */
const homeCode = ['plugins', 'tools'];
const secretFolders = new Set(['.ssh', '.aws', '.gnupg', '.kube', '.docker', '.azure', 'gcloud']);
const secretNames = /^(\.env(\..*)?|\.netrc|\.pgpass|\.git-credentials|\.npmrc|\.pypirc|id_(rsa|dsa|ecdsa|ed25519)|shadow-?|gshadow-?)$/;
const harmlessNames = /^\.env\.(example|sample|template)$/;
/** Not files but the insides of this process and this machine. */
const kernelFolders = ['/proc', '/sys', '/dev'];

export interface SecretFiles {
  /** `real` is a path without links. */
  isSecret(real: string, stats: Pick<Stats, 'dev' | 'ino'> | null): boolean;
  isProtected(real: string): boolean;
}

/** Looks at the home as it is now; ask again for each call of a tool. `home` is a path without links. */
export async function findSecretFiles(home: string): Promise<SecretFiles> {
  const names = (await readdir(home).catch(() => [])).filter((name) => homeSecret.test(name));
  const known = await Promise.all(names.map((name) => stat(join(home, name)).then(toIdentity, () => '')));
  const identities = new Set(known.filter((identity) => identity !== ''));

  function isSecret(real: string, stats: Pick<Stats, 'dev' | 'ino'> | null): boolean {
    if (stats && identities.has(toIdentity(stats))) return true;
    const inHome = relative(home, real);
    if (!inHome.includes(sep) && homeSecret.test(inHome)) return true;
    const parts = real.split(sep);
    const name = parts.pop() ?? '';
    return parts.some((part) => secretFolders.has(part)) || (secretNames.test(name) && !harmlessNames.test(name)) || kernelFolders.some((folder) => isWithin(folder, real));
  }

  return { isSecret, isProtected: (real) => homeCode.some((folder) => isWithin(join(home, folder), real)) };
}

/** True for the folder itself and everything below it. Both paths are absolute and without links. */
export function isWithin(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

function toIdentity({ dev, ino }: Pick<Stats, 'dev' | 'ino'>): string {
  return `${dev}:${ino}`;
}
