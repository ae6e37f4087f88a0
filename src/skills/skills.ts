/**
 * Skills: Markdown files that tell the agent how to do something. The system prompt shows names and descriptions only; the text is
 * read when it is asked for. Files are looked at each time, so that a skill written a moment ago is there.
 */
import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { toMessage } from '../contract/errors.ts';
import type { Log } from '../contract/log.ts';
import { readFrontMatter } from './front-matter.ts';

/** A skill inside a plugin; it is known as `plugin:name`. */
export interface PluginSkillRef {
  plugin: string;
  name: string;
  path: string;
  description?: string;
}

export interface SkillFacts {
  name: string;
  /** One line. */
  description: string;
  file: string;
  source: 'home' | 'paths' | 'plugin';
  /** The folder above the skill's own, or the plugin's name; null directly below a root. */
  category: string | null;
}

export interface Skill extends SkillFacts {
  /** The text below the head. */
  body: string;
  /** Further files in the skill's folder, relative to it; at most 50. */
  files: string[];
}

export interface Skills {
  /** In the order of names. Of two skills with one name the home folder's is taken, then the first path's. */
  list(): SkillFacts[];
  /** Null when there is no such skill. */
  view(name: string): Skill | null;
  /** The text of one more file in a skill's folder; null when it is not there or lies outside. */
  viewFile(name: string, path: string): string | null;
  /** `- name: description` lines for the system prompt; empty when there are no skills. */
  indexText(): string;
}

export interface SkillsDeps {
  home: string;
  /** `skills.paths`: skill folders or folders of skills; relative ones are taken from the home folder. */
  paths: string[];
  pluginSkills(): PluginSkillRef[];
  log: Log;
}

const maxFiles = 50;
/** A skill lies at most this many folders below its root: `<root>/<category>/<skill>/SKILL.md`. */
const maxDepth = 2;

export function createSkills({ home, paths, pluginSkills, log }: SkillsDeps): Skills {
  const roots = [{ root: join(home, 'skills'), source: 'home' as const }, ...paths.map((path) => ({ root: resolve(home, path), source: 'paths' as const }))];

  function list(): SkillFacts[] {
    const byName = new Map<string, SkillFacts>();
    for (const { root, source } of roots)
      for (const file of findSkillFiles(root, maxDepth)) add(byName, toFacts(file, source, categoryOf(root, file), log));
    for (const { plugin, name, path, description } of pluginSkills()) {
      const facts = toFacts(path, 'plugin', plugin, log);
      if (facts) add(byName, { ...facts, name: `${plugin}:${name}`, ...(description ? { description } : {}) });
    }
    return [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  function find(name: string): SkillFacts | undefined {
    const wanted = name.trim().toLowerCase();
    return list().find((skill) => skill.name.toLowerCase() === wanted);
  }

  return {
    list,
    view(name) {
      const facts = find(name);
      if (!facts) return null;
      const { body } = readFrontMatter(readFileSync(facts.file, 'utf8'));
      return { ...facts, body, files: ownsFolder(facts) ? filesBeside(facts.file) : [] };
    },
    viewFile(name, path) {
      const facts = find(name);
      if (!facts || !ownsFolder(facts)) return null;
      const folder = realpathSync(dirname(facts.file));
      const wanted = join(folder, path);
      if (!statSync(wanted, { throwIfNoEntry: false })?.isFile()) return null;
      // The real path decides, so that no link leads out of the skill's folder.
      return realpathSync(wanted).startsWith(folder + sep) ? readFileSync(wanted, 'utf8') : null;
    },
    indexText: () =>
      list()
        .map(({ name, description }) => (description ? `- ${name}: ${description}` : `- ${name}`))
        .join('\n'),
  };
}

function add(byName: Map<string, SkillFacts>, facts: SkillFacts | null): void {
  if (facts && !byName.has(facts.name)) byName.set(facts.name, facts);
}

function categoryOf(root: string, file: string): string | null {
  const [category, ...rest] = relative(root, dirname(file)).split(sep);
  return rest.length > 0 && category !== undefined ? category : null;
}

function toFacts(file: string, source: SkillFacts['source'], category: string | null, log: Log): SkillFacts | null {
  try {
    const { name, description } = readFrontMatter(readFileSync(file, 'utf8'));
    // A name with blanks or slashes could not be typed as a command; the folder's name can.
    const usable = name !== null && /^[\w.-]+$/.test(name) ? name : basename(dirname(file));
    return { name: usable, description, file, source, category };
  } catch (thrown) {
    log.warn(`The skill ${file} cannot be read: ${toMessage(thrown)}`);
    return null;
  }
}

function findSkillFiles(folder: string, depth: number): string[] {
  const file = join(folder, 'SKILL.md');
  if (existsSync(file)) return [file];
  if (depth === 0 || !existsSync(folder)) return [];
  const inner = readdirSync(folder).filter((name) => !name.startsWith('.')).sort().map((name) => join(folder, name));
  return inner.filter((path) => statSync(path, { throwIfNoEntry: false })?.isDirectory()).flatMap((path) => findSkillFiles(path, depth - 1));
}

/** A single Markdown file of a plugin shares its folder with others. */
function ownsFolder({ file }: SkillFacts): boolean {
  return basename(file) === 'SKILL.md';
}

function filesBeside(file: string): string[] {
  const folder = dirname(file);
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile() && !entry.name.startsWith('.'));
  const names = entries.map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll(sep, '/'));
  return names.filter((name) => name !== 'SKILL.md').sort().slice(0, maxFiles);
}
