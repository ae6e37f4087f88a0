/**
 * Finds plugin folders: those in <home>/plugins, those that the configuration names, those given on the command line. The order of
 * loading is the order of folder names over all of them. Nothing of a plugin's code runs here.
 */
import { existsSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { toMessage } from '../contract/errors.ts';
import type { Log } from '../contract/log.ts';
import { manifestFiles, readManifest, type Manifest } from './manifest.ts';

/** Of two plugins with one name the later source in this list is taken. */
const sources = ['home', 'paths', 'command line'] as const;
type Source = (typeof sources)[number];

export const entryFiles = ['index.ts', 'index.js', 'index.mjs', 'index.cjs'] as const;

export interface Found {
  /** The folder as it was found; a link stays a link here. */
  dir: string;
  /** Its real path, the root of everything that the plugin declares. */
  realDir: string;
  /** The folder's name, which decides the order. */
  folder: string;
  manifest: Manifest | null;
  /** Why it cannot be loaded, when that is known before its code runs. */
  problem: string | null;
}

export interface DiscoverOptions {
  home: string;
  /** Plugin folders or folders of plugins; relative ones are taken from the home folder. */
  paths: string[];
  /** The same, from the command line; relative ones are taken from the working folder. */
  extraDirs: string[];
  log: Log;
}

/** Never throws: a folder that cannot be read is said and left out. */
export function discover({ home, paths, extraDirs, log }: DiscoverOptions): Found[] {
  const given: { dirs: string[]; source: Source }[] = [
    { source: 'home', dirs: subfolders(join(home, 'plugins'), log) },
    { source: 'paths', dirs: paths.flatMap((path) => expand(resolve(home, path), log)) },
    { source: 'command line', dirs: extraDirs.flatMap((path) => expand(resolve(path), log)) },
  ];
  const found = given.flatMap(({ dirs, source }) => dirs.map((dir) => ({ ...inspectFolder(dir), source })));
  found.sort((a, b) => compare(a.folder, b.folder) || sources.indexOf(a.source) - sources.indexOf(b.source));
  return found.filter((one) => !isReplaced(one, found, log));
}

/** What a folder holds, read from its manifest and its file names alone. */
export function inspectFolder(dir: string): Found {
  const realDir = realpathSync(dir);
  const folder = basename(dir);
  const file = manifestFiles.find((name) => existsSync(join(dir, name)));
  if (!file) return { dir, realDir, folder, manifest: null, problem: `no plugin.yaml or plugin.json in ${dir}` };
  try {
    const manifest = readManifest(realDir, file);
    return { dir, realDir, folder, manifest, problem: manifest.form === 'code' ? entryProblem(realDir) : null };
  } catch (thrown) {
    return { dir, realDir, folder, manifest: null, problem: toMessage(thrown) };
  }
}

function entryProblem(realDir: string): string | null {
  if (entryFiles.some((name) => existsSync(join(realDir, name)))) return null;
  if (existsSync(join(realDir, '__init__.py')))
    return 'it is a Python plugin; this gateway runs TypeScript and JavaScript, so it needs an index.ts that exports register(ctx)';
  return `it has no code; add one of ${entryFiles.join(', ')} that exports register(ctx)`;
}

/** A plugin folder is itself; any other folder stands for the plugins in it. */
function expand(path: string, log: Log): string[] {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) {
    log.warn(`There is no plugin folder ${path}`);
    return [];
  }
  return looksLikePlugin(path) ? [path] : subfolders(path, log);
}

function subfolders(root: string, log: Log): string[] {
  try {
    if (!existsSync(root)) return [];
    const names = readdirSync(root).filter((name) => !/^[._]/.test(name) && name !== 'node_modules');
    return names.map((name) => join(root, name)).filter((dir) => statSync(dir, { throwIfNoEntry: false })?.isDirectory() && looksLikePlugin(dir));
  } catch (thrown) {
    log.warn(`Plugins in ${root} cannot be listed: ${toMessage(thrown)}`);
    return [];
  }
}

/** A folder of notes beside the plugins is no plugin; one with code but without a manifest is one that needs a word. */
function looksLikePlugin(dir: string): boolean {
  return [...manifestFiles, ...entryFiles, '__init__.py'].some((name) => existsSync(join(dir, name)));
}

/** `all` is in load order. */
function isReplaced(one: Found & { source: Source }, all: (Found & { source: Source })[], log: Log): boolean {
  const name = one.manifest?.name;
  if (name === undefined) return false;
  const rivals = all.filter((candidate) => candidate.manifest?.name === name);
  const best = Math.max(...rivals.map(({ source }) => sources.indexOf(source)));
  const winner = rivals.find(({ source }) => sources.indexOf(source) === best);
  if (!winner || winner === one) return false;
  if (winner.realDir !== one.realDir) log.warn(`Plugin ${name}: ${winner.dir} (${winner.source}) is used instead of ${one.dir} (${one.source})`, { plugin: name });
  return true;
}

/** By code unit, the same on every machine. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
