/**
 * A plugin's manifest: plugin.yaml (or .yml) of form 1 and plugin.json with comments of form 2 become one type. Keys that nobody
 * knows are left alone, so that a manifest written for a newer version still loads.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isScalar, parseDocument, type Document } from 'yaml';
import { HermesError, toMessage } from '../contract/errors.ts';

export interface RequiredEnv {
  name: string;
  description: string;
  url: string;
  /** Ask for it without showing what is typed. */
  secret: boolean;
}

export interface Manifest {
  form: 'code' | 'declared';
  /** Name of the manifest file. */
  file: string;
  name: string;
  version: string;
  description: string;
  author: string;
  requiresEnv: RequiredEnv[];
  /** The only chat platforms on which its tools are offered; null for all. */
  platforms: string[] | null;
  configSchema: Record<string, { default?: unknown; required: boolean; description: string }>;
  /** What the author says it registers; null when nothing is said. */
  provides: { tools: string[] | null; hooks: string[] | null };
  /** npm packages it says it needs, name to range. */
  dependencies: Record<string, string>;
  /** Form 2: files relative to the plugin's folder. */
  main: string | null;
  tools: string[];
  hooks: string[];
  skills: string[];
  data: string[];
}

export const manifestFiles = ['plugin.yaml', 'plugin.yml', 'plugin.json'] as const;

/** The name is part of paths, log lines and commands. */
const namePattern = /^[a-z0-9][a-z0-9_-]{0,63}$/i;
const operatingSystems = new Set(['linux', 'macos', 'darwin', 'windows', 'win32']);

/** Throws PLUGIN_INVALID when the file cannot be read as YAML or JSON, or has no usable name. */
export function readManifest(dir: string, file: (typeof manifestFiles)[number]): Manifest {
  const form = file === 'plugin.json' ? 'declared' : 'code';
  let source: string;
  try {
    source = readFileSync(join(dir, file), 'utf8').replace(/^\uFEFF/, '');
  } catch (thrown) {
    throw new HermesError('PLUGIN_INVALID', `${file} cannot be read: ${toMessage(thrown)}`, { cause: thrown });
  }
  // JSON is YAML once its comments are blanked; the YAML reader gives line and column for both.
  const document = parseDocument(form === 'declared' ? blankComments(source) : source, { prettyErrors: true });
  const problem = document.errors[0];
  if (problem) throw new HermesError('PLUGIN_INVALID', `${file}: ${problem.message.split('\n')[0]?.replace(/:$/, '')}`);
  const value: unknown = document.toJS();
  if (!isRecord(value)) throw new HermesError('PLUGIN_INVALID', `${file} holds no keys; it needs at least a name`);
  return toManifest(value, document, form, file);
}

function toManifest(value: Record<string, unknown>, document: Document, form: Manifest['form'], file: string): Manifest {
  const name = value.name;
  if (typeof name !== 'string' || !namePattern.test(name))
    throw new HermesError('PLUGIN_INVALID', `${file}: name ${JSON.stringify(name) ?? 'is missing; it'} must be 1 to 64 letters, digits, "-" or "_" and begin with a letter or digit`);
  const version: unknown = document.get('version', true);
  const platforms = toNames(value.platforms);
  return {
    form,
    file,
    name,
    // As it is written: the YAML number 1.0 is version "1.0", not "1".
    version: isScalar(version) ? (version.source ?? toText(version.value)) : '0.0.0',
    description: toText(value.description),
    author: toText(value.author),
    requiresEnv: toList(value.requires_env).flatMap(toRequiredEnv),
    // Manifests of other systems list operating systems here.
    platforms: platforms && !platforms.every((platform) => operatingSystems.has(platform)) ? platforms : null,
    configSchema: toConfigSchema(value.config_schema),
    provides: { tools: toNames(value.provides_tools), hooks: toNames(value.provides_hooks) },
    dependencies: toDependencies(value.dependencies),
    main: typeof value.main === 'string' ? value.main : null,
    tools: toNames(value.tools) ?? [],
    hooks: toNames(value.hooks) ?? [],
    skills: toNames(value.skills) ?? [],
    data: toNames(value.data) ?? [],
  };
}

function toRequiredEnv(item: unknown): RequiredEnv[] {
  if (typeof item === 'string') return [{ name: item, description: '', url: '', secret: false }];
  if (!isRecord(item) || typeof item.name !== 'string') return [];
  return [{ name: item.name, description: toText(item.description), url: toText(item.url), secret: item.secret === true }];
}

function toConfigSchema(value: unknown): Manifest['configSchema'] {
  if (!isRecord(value)) return {};
  return Object.fromEntries(
    Object.entries(value).map(([key, rule]) => {
      const facts = isRecord(rule) ? rule : {};
      return [key, { default: facts.default, required: facts.required === true, description: toText(facts.description) }];
    }),
  );
}

/** A list of names, or the `{name: range}` that package.json has. */
function toDependencies(value: unknown): Record<string, string> {
  if (Array.isArray(value)) return Object.fromEntries(value.map((name) => [String(name), '*']));
  return isRecord(value) ? Object.fromEntries(Object.entries(value).map(([name, range]) => [name, toText(range)])) : {};
}

function toNames(value: unknown): string[] | null {
  return value === undefined || value === null ? null : toList(value).map(toText);
}

function toList(value: unknown): unknown[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}

function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value as number | boolean);
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Replaces // and block comments outside strings by blanks, so that positions in messages stay true. */
export function blankComments(json: string): string {
  return json.replace(/"(?:\\.|[^"\\])*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, (token) => (token.startsWith('"') ? token : token.replace(/[^\n]/g, ' ')));
}
