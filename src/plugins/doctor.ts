/**
 * Looks a plugin over for its author: loads it by the real host into a home folder made for the purpose, holds what it declares
 * against what it registers, and calls each tool once with sample arguments. Each finding says what is wrong and the cure.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { toMessage } from '../contract/errors.ts';
import type { Log } from '../contract/log.ts';
import type { PluginFacts, Tool } from '../contract/plugin.ts';
import { inspectFolder, type Found } from './discover.ts';
import { createHooks, within } from './hooks.ts';
import { createPluginHost } from './host.ts';
import { createModuleLoader, installCommand } from './load-module.ts';
import { isRecord, type Manifest } from './manifest.ts';
import { toSampleArgs } from './sample-args.ts';

export interface Finding {
  /** `error`: it does not load or does not work. `warning`: a mistake. `note`: good to know. */
  level: 'error' | 'warning' | 'note';
  text: string;
}

export interface PluginReport {
  facts: PluginFacts;
  findings: Finding[];
}

export interface InspectOptions {
  gatewayRoot: string;
  env: Record<string, string | undefined>;
  /** False leaves the tools uncalled. Tools that ask for approval are never called. Default true. */
  callTools?: boolean;
}

const callMs = 5000;

/** Never rejects: a folder that is no plugin is a report with an error. It runs the plugin's code. */
export async function inspectPlugin(dir: string, { gatewayRoot, env, callTools = true }: InspectOptions): Promise<PluginReport> {
  const findings: Finding[] = [];
  const path = resolve(dir);
  let found: Found;
  try {
    found = inspectFolder(path);
  } catch (thrown) {
    return { facts: toEmptyFacts(path), findings: [{ level: 'error', text: `${dir} cannot be read: ${toMessage(thrown)}` }] };
  }
  const { manifest } = found;
  if (!manifest) return { facts: toEmptyFacts(path), findings: [{ level: 'error', text: found.problem ?? 'no manifest' }] };

  const home = mkdtempSync(join(tmpdir(), 'hermes-doctor-'));
  const tools = new Map<string, Tool>();
  // The host says most mistakes by itself; its lines are findings here.
  const log = collecting((text) => findings.push({ level: 'warning', text }));
  const host = createPluginHost({
    home, paths: [], extraDirs: [path], enabled: null, disabled: [], log, gatewayRoot, memoryProvider: '',
    env: { ...env, ...withPlaceholders(manifest, env, findings) },
    hooks: createHooks({ log, limits: { preMs: callMs, postMs: callMs } }),
    registry: { register: (tool) => void tools.set(tool.name, tool), unregister: (name) => tools.delete(name) },
    sendMessage: async () => {},
    dispatchTool: async () => '{"error":"tools of others are not there during an inspection"}',
    addresses: { ofSession: () => null, ofUser: () => null },
    installSkill: () => {},
  });
  try {
    await host.load();
    const facts = host.facts()[0] ?? toEmptyFacts(path);
    if (facts.state === 'failed') findings.push({ level: 'error', text: `it does not load: ${facts.reason}` });
    findings.push(...compareDeclared(manifest, facts), ...askForMore(manifest));
    const missing = manifest.form === 'code' ? createModuleLoader({ gatewayRoot, cacheDir: null }).open(found.realDir).missing([]) : [];
    if (missing.length > 0) findings.push({ level: 'error', text: `npm packages are missing: ${missing.join(', ')}; install them with: ${installCommand(found.realDir, missing)}` });
    for (const tool of tools.values()) findings.push(...checkSchema(tool), ...(callTools ? await tryTool(tool, log, home) : []));
    return { facts, findings };
  } finally {
    await host.dispose();
    rmSync(home, { recursive: true, force: true });
  }
}

/** What `hermes plugins doctor` prints. */
export function toDoctorLines({ facts, findings }: PluginReport): string[] {
  const parts = (['tools', 'hooks', 'commands', 'skills'] as const).filter((kind) => facts[kind].length > 0).map((kind) => `  ${kind}: ${facts[kind].join(', ')}`);
  const marks = { error: '✗', warning: '!', note: '·' };
  const worst = findings.some(({ level }) => level !== 'note') ? [] : ['  ✓ nothing to complain about'];
  return [`${facts.name}${facts.version ? ` v${facts.version}` : ''} - ${facts.state === 'loaded' ? 'loads' : 'does not load'}`, ...parts, ...findings.map(({ level, text }) => `  ${marks[level]} ${text}`), ...worst];
}

/** Stand-ins for variables that are not set, so that the plugin can be looked at without its keys. */
function withPlaceholders(manifest: Manifest, env: Record<string, string | undefined>, findings: Finding[]): Record<string, string> {
  const missing = manifest.requiresEnv.map(({ name }) => name).filter((name) => !env[name]?.trim());
  if (missing.length > 0) findings.push({ level: 'note', text: `not set here, so the plugin would be disabled: ${missing.join(', ')}` });
  return Object.fromEntries(missing.map((name) => [name, 'placeholder']));
}

function compareDeclared({ provides, file }: Manifest, facts: PluginFacts): Finding[] {
  if (facts.state !== 'loaded') return [];
  return (['tools', 'hooks'] as const).flatMap((kind) => {
    const declared = provides[kind];
    if (!declared) return [];
    const more = declared.filter((name) => !facts[kind].includes(name)).map((name) => `${file} declares ${name} in provides_${kind}, but it is not registered; register it or take it out`);
    const less = facts[kind].filter((name) => !declared.includes(name)).map((name) => `${name} is registered, but provides_${kind} of ${file} lacks it; add it`);
    return [...more, ...less].map((text) => ({ level: 'warning' as const, text }));
  });
}

function askForMore(manifest: Manifest): Finding[] {
  const texts = [
    manifest.version === '0.0.0' ? `${manifest.file} has no version; add one such as "1.0.0"` : '',
    manifest.description === '' ? `${manifest.file} has no description; say in one line what the plugin is for` : '',
    manifest.form === 'declared' && manifest.tools.length === 0 ? 'plugin.json lists no tools; add the files to "tools"' : '',
    manifest.form === 'declared' && manifest.skills.length === 0 ? 'plugin.json lists no skills; a Markdown file in "skills" tells the agent when to use the tools' : '',
  ];
  return texts.filter(Boolean).map((text) => ({ level: 'warning', text }));
}

function checkSchema({ name, schema }: Tool): Finding[] {
  const findings: Finding[] = [];
  const words = schema.description.trim().split(/\s+/).length;
  if (words < 3) findings.push({ level: 'warning', text: `tool ${name}: the description ${JSON.stringify(schema.description)} is too vague; say what it does, with what, and when to use it` });
  const properties = isRecord(schema.parameters.properties) ? schema.parameters.properties : {};
  const required = Array.isArray(schema.parameters.required) ? schema.parameters.required.map(String) : [];
  for (const key of required.filter((key) => !Object.hasOwn(properties, key))) findings.push({ level: 'warning', text: `tool ${name}: the required argument ${key} is not described; add it to properties` });
  return findings;
}

async function tryTool(tool: Tool, log: Log, home: string): Promise<Finding[]> {
  if (tool.needsApproval) return [{ level: 'note', text: `tool ${tool.name} asks for approval and was not called` }];
  const args = toSampleArgs(tool.schema.parameters);
  const call = `tool ${tool.name}: the handler, called with ${JSON.stringify(args)},`;
  const warn = (text: string): Finding[] => [{ level: 'warning', text: `${call} ${text}` }];
  const context = { task_id: 'doctor', session_id: 'doctor', turn_id: 'doctor', tool_call_id: 'doctor', platform: 'cli', signal: AbortSignal.timeout(callMs), log, home };
  try {
    const answer = await within(callMs, () => tool.handler(args, context));
    if (answer.late) return warn(`gave no answer within ${callMs / 1000} s; pass context.signal to what it waits for`);
    if (typeof answer.value !== 'string') return warn(`returns ${answer.value === null ? 'null' : typeof answer.value} and no string; return JSON.stringify(...)`);
    return isJson(answer.value) ? [] : warn('returns a text that is no JSON; return JSON.stringify({result: ...})');
  } catch (thrown) {
    return warn(`throws "${toMessage(thrown)}"; catch it and return JSON.stringify({error: "..."})`);
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function collecting(say: (text: string) => void): Log {
  const log: Log = { debug() {}, info() {}, warn: say, error() {}, child: () => log };
  return log;
}

function toEmptyFacts(dir: string): PluginFacts {
  return { name: dir, version: '', description: '', state: 'failed', reason: null, tools: [], hooks: [], commands: [], skills: [], dir };
}
