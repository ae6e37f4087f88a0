/**
 * The one way from a path that the model wrote to an open file. What is checked is what was opened: the path is opened as a
 * mere name first (O_PATH, which reads nothing and frees no locks), its real place and inode are judged, and the same inode is
 * then opened for reading. Writing walks down from the workspace folder by folder without following links, and replaces the
 * file whole. Reading: the workspace; where the person owns the machine, everything but secrets. Writing: the workspace.
 */
import { constants, type Stats } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { mkdir, open, readlink, realpath, rename, stat, unlink, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import type { ToolDeps } from '../contract/tool.ts';
import { ownerPlatforms } from './owner-platforms.ts';
import { findSecretFiles, isWithin, type SecretFiles } from './secret-files.ts';

export interface OpenedFile {
  handle: FileHandle;
  /** Where it really is. */
  real: string;
  stats: Stats;
}

/** The files as one call of a tool sees them. Everything throws an Error whose message is meant for the model. */
export interface Files {
  /** The workspace, without links. */
  readonly root: string;
  /** Opens a file or folder; the caller closes the handle. */
  open(path: string): Promise<OpenedFile>;
  /** Creates or replaces a file, with its parent folders; resolves with its real path. */
  write(path: string, content: string): Promise<string>;
  /** How a path is shown: relative to the workspace where it lies in it. */
  show(real: string): string;
}

const onLinux = process.platform === 'linux';
/** Not among Node's constants. Elsewhere a plain open has to do, after the same look at the inode. */
const nameOnly = onLinux ? 0o10000000 : constants.O_RDONLY | constants.O_NONBLOCK;
const longestPath = 4096;

export async function openFiles({ home, workspace, env }: Pick<ToolDeps, 'home' | 'workspace' | 'env'>, platform: string): Promise<Files> {
  const root = await realpath(workspace);
  const realHome = await realpath(home).catch(() => resolve(home));
  const secrets = await findSecretFiles(realHome);
  const readsAnywhere = ownerPlatforms.has(platform);

  async function openFile(given: string): Promise<OpenedFile> {
    const path = toAbsolute(given, root, env['HOME']);
    try {
      if (secrets.isSecret(await realpath(path), await stat(path))) throw refusedSecret(given);
      const name = await open(path, nameOnly);
      try {
        const stats = await name.stat();
        const real = onLinux ? await readlink(descriptor(name)) : await realpath(path);
        if (secrets.isSecret(real, stats)) throw refusedSecret(given);
        if (!readsAnywhere && !isWithin(root, real)) throw new Error(`${given} is outside the workspace; only files in the workspace can be read.`);
        if (!stats.isFile() && !stats.isDirectory()) throw new Error(`${given} is no regular file.`);
        return { handle: await open(onLinux ? descriptor(name) : path, constants.O_RDONLY | constants.O_NONBLOCK), real, stats };
      } finally {
        await name.close();
      }
    } catch (thrown) {
      throw toReadable(thrown, given);
    }
  }

  async function write(given: string, content: string): Promise<string> {
    const path = toAbsolute(given, root, env['HOME']);
    try {
      const real = await toRealTarget(path);
      const stats = await stat(real).catch(() => null);
      refuseWrite(given, real, stats, root, secrets);
      const folder = await openParent(root, relative(root, dirname(real)).split(sep).filter(Boolean));
      try {
        await replace(onLinux ? descriptor(folder) : dirname(real), basename(real), content, stats ? stats.mode & 0o777 : 0o644);
      } finally {
        await folder.close();
      }
      return real;
    } catch (thrown) {
      throw toReadable(thrown, given);
    }
  }

  return { root, open: openFile, write, show: (real) => (isWithin(root, real) ? relative(root, real) || '.' : real) };
}

function toAbsolute(given: string, root: string, userHome: string | undefined): string {
  if (given === '') throw new Error('The path is empty.');
  if (given.includes('\0')) throw new Error('The path holds a NUL character.');
  if (given.length > longestPath) throw new Error('The path is too long.');
  if (/^(\\\\|\/\/)/.test(given)) throw new Error('Network paths cannot be used.');
  if (given === '~' || given.startsWith('~/')) {
    if (!userHome) throw new Error('~ is not known here; write the whole path.');
    return resolve(userHome, given.slice(2));
  }
  if (given.startsWith('~')) throw new Error('Other people\'s home folders cannot be used; write the whole path.');
  return resolve(root, given);
}

/** The place without links, for a file that need not exist yet. */
async function toRealTarget(path: string): Promise<string> {
  const missing: string[] = [];
  for (let known = path; ; known = dirname(known)) {
    try {
      return join(await realpath(known), ...missing);
    } catch (thrown) {
      if (codeOf(thrown) !== 'ENOENT' || dirname(known) === known) throw thrown;
      missing.unshift(basename(known));
    }
  }
}

function refuseWrite(given: string, real: string, stats: Stats | null, root: string, secrets: SecretFiles): void {
  if (secrets.isSecret(real, stats)) throw refusedSecret(given);
  if (!isWithin(root, real) || real === root) throw new Error(`${given} is outside the workspace; only files in the workspace can be written.`);
  if (secrets.isProtected(real)) throw new Error(`${given} is part of the program's own code and cannot be written.`);
  if (stats && !stats.isFile()) throw new Error(`${given} is no regular file.`);
}

/** Goes down one folder at a time, creating missing ones; a link that appeared meanwhile is not followed. */
async function openParent(root: string, names: string[]): Promise<FileHandle> {
  const flags = nameOnly | constants.O_DIRECTORY | constants.O_NOFOLLOW;
  let path = root;
  let folder = await open(root, flags);
  for (const name of names) {
    const next = join(onLinux ? descriptor(folder) : path, name);
    try {
      await mkdir(next).catch((thrown: unknown) => {
        if (codeOf(thrown) !== 'EEXIST') throw thrown;
      });
      const opened = await open(next, flags);
      path = join(path, name);
      await folder.close();
      folder = opened;
    } catch (thrown) {
      await folder.close();
      throw thrown;
    }
  }
  return folder;
}

/** Whoever reads meanwhile sees the old file or the new one, never a half. */
async function replace(folder: string, name: string, content: string, mode: number): Promise<void> {
  const temporary = join(folder, `.${randomBytes(8).toString('hex')}.tmp`);
  try {
    const file = await open(temporary, 'wx', mode);
    try {
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, join(folder, name));
  } catch (thrown) {
    await unlink(temporary).catch(() => undefined);
    throw thrown;
  }
}

function descriptor(handle: FileHandle): string {
  return `/proc/self/fd/${handle.fd}`;
}

function refusedSecret(given: string): Error {
  return new Error(`${given} holds secrets or the program's own state and cannot be used by tools.`);
}

/** System errors name descriptors and temporary files; the model gets the path it asked for. */
function toReadable(thrown: unknown, given: string): Error {
  const code = codeOf(thrown);
  if (code === null) return thrown instanceof Error ? thrown : new Error(String(thrown));
  const known: Record<string, string> = {
    ENOENT: 'does not exist',
    EACCES: 'may not be opened',
    EPERM: 'may not be changed',
    EISDIR: 'is a folder',
    ENOTDIR: 'leads through something that is no folder',
    ELOOP: 'leads through links that cannot be followed',
    ENAMETOOLONG: 'is too long a name',
    ENOSPC: 'cannot be written: the disk is full',
  };
  return new Error(`${given} ${known[code] ?? `cannot be used (${code})`}.`);
}

function codeOf(thrown: unknown): string | null {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : null;
}
