/**
 * Which tools a platform has. Toolsets are data; the rules are here: includes are followed once, every plugin's toolset
 * joins every platform, "!name" and disabled toolsets take away, and a set built on `core` takes away only what it adds to
 * it, so that switching one platform's bundle off leaves the others whole.
 */
import type { Log } from '../contract/log.ts';
import type { Tool } from '../contract/tool.ts';
import { nearest } from '../lib/nearest.ts';
import type { ToolsetDefinitions } from './load-toolsets.ts';
import type { Registry } from './registry.ts';

export interface PlatformChoice {
  /** platform_toolsets of the configuration: names, and "!name" for those to leave out. */
  platformToolsets: Record<string, readonly string[]>;
  /** agent.disabled_toolsets. */
  disabled: readonly string[];
  /** Toolsets that plugins registered tools in. */
  pluginToolsets: readonly string[];
  /** Exactly these toolsets, instead of the platform's own and the plugins'. */
  override?: readonly string[];
}

export interface PlatformTools {
  /** Sorted. The only names that may be offered and dispatched there. */
  names: string[];
  /** Every other tool, and why it is not among them. */
  absent: { name: string; toolset: string; reason: string }[];
}

export interface Toolsets {
  /** Sorted unique tool names. An unknown name gives none, and one warning in the log. */
  resolveToolset(name: string): string[];
  toolsForPlatform(platform: string, choice: PlatformChoice): PlatformTools;
  /** A sentence for each toolset name that does not exist, for the start and `hermes config check`. */
  problems(names: Iterable<string>): string[];
}

/** The result of a call to a tool that `platform` does not have. */
export function refusal(platform: string, name: string): string {
  return JSON.stringify({ error: `Tool not available on ${platform}: ${name}` });
}

export interface ToolsetsOptions {
  definitions: ToolsetDefinitions;
  registry: Pick<Registry, 'get' | 'names'>;
  log: Log;
}

const core = 'core';
const everything = new Set(['all', '*']);
const aliasPrefix = 'hermes-';

export function createToolsets({ definitions, registry, log }: ToolsetsOptions): Toolsets {
  const warned = new Set<string>();

  function resolveToolset(name: string): string[] {
    return [...collect(name, new Set(), 'the configuration')].sort();
  }

  /** `seen` is shared by a whole resolution: a cycle ends and a diamond is visited once. */
  function collect(given: string, seen: Set<string>, where: string): Set<string> {
    warnUnknown(given, where);
    const name = canonical(given);
    if (seen.has(name)) return new Set();
    seen.add(name);
    if (everything.has(name)) return new Set([...definitions.values()].flatMap((set) => set.tools).concat(registry.names()));
    const set = definitions.get(name);
    const found = new Set([...(set?.tools ?? []), ...members(name).map((tool) => tool.name)]);
    for (const included of set?.includes ?? []) for (const tool of collect(included, seen, `toolset ${name}`)) found.add(tool);
    return found;
  }

  function canonical(name: string): string {
    return !definitions.has(name) && name.startsWith(aliasPrefix) ? name.slice(aliasPrefix.length) : name;
  }

  function members(toolset: string): Tool[] {
    return registry.names().flatMap((name) => {
      const tool = registry.get(name);
      return tool?.toolset === toolset ? [tool] : [];
    });
  }

  function isKnown(given: string): boolean {
    const name = canonical(given);
    return everything.has(name) || definitions.has(name) || members(name).length > 0;
  }

  function problemOf(name: string, where: string): string {
    const candidates = [...definitions.keys(), ...registry.names().map((tool) => registry.get(tool)?.toolset ?? core)];
    return `Unknown toolset ${JSON.stringify(name)} in ${where} gives no tools; the nearest name is ${nearest(name, candidates)}.`;
  }

  function warnUnknown(name: string, where: string): void {
    if (isKnown(name) || warned.has(name)) return;
    warned.add(name);
    log.warn(problemOf(name, where), { toolset: name });
  }

  /** What leaving a toolset out takes away. */
  function removed(name: string): string[] {
    const tools = resolveToolset(name);
    if (canonical(name) === core || everything.has(name) || !reaches(name, core)) return tools;
    const kept = new Set(resolveToolset(core));
    return tools.filter((tool) => !kept.has(tool));
  }

  function reaches(from: string, target: string): boolean {
    const seen = new Set<string>();
    collect(from, seen, 'the configuration');
    return seen.has(target);
  }

  /** A toolset's tools as a plugin brings them: a plugin that adds to `terminal` does not bring the terminal along. */
  function pluginTools(toolset: string): string[] {
    const own = new Set(definitions.get(toolset)?.tools);
    return members(toolset).flatMap((tool) => (own.has(tool.name) ? [] : [tool.name]));
  }

  /** The toolset named like the platform; a platform that a plugin brought has the core. */
  function ownToolset(platform: string): string[] {
    return definitions.has(platform) ? resolveToolset(platform) : [...resolveToolset(core), ...members(platform).map((tool) => tool.name)];
  }

  function toolsForPlatform(platform: string, { platformToolsets, disabled, pluginToolsets, override }: PlatformChoice): PlatformTools {
    const list = override ?? (Object.hasOwn(platformToolsets, platform) ? platformToolsets[platform] : undefined);
    const taken = (list ?? []).filter((name) => name.startsWith('!')).map((name) => name.slice(1));
    const given = (list ?? []).filter((name) => !name.startsWith('!'));
    const onlyTakesAway = given.length === 0 && (list === undefined || taken.length > 0);
    const offered = new Set(onlyTakesAway ? ownToolset(platform) : given.flatMap(resolveToolset));
    if (!override) for (const name of pluginToolsets.flatMap(pluginTools)) offered.add(name);

    const reasons = new Map<string, string>();
    const leaveOut = (name: string, reason: string) => {
      if (offered.delete(name)) reasons.set(name, reason);
    };
    for (const name of taken) for (const tool of removed(name)) leaveOut(tool, `left out by "!${name}" in platform_toolsets.${platform}`);
    for (const name of disabled) for (const tool of removed(name)) leaveOut(tool, `${name} is in agent.disabled_toolsets`);
    for (const name of offered) {
      const tool = registry.get(name);
      if (!tool) leaveOut(name, 'not installed');
      else if (tool.platforms && !tool.platforms.includes(platform)) leaveOut(name, `made for ${tool.platforms.join(', ')} only`);
    }

    const others = [...new Set([...registry.names(), ...reasons.keys()])].filter((name) => !offered.has(name)).sort();
    const absent = others.map((name) => ({
      name,
      toolset: registry.get(name)?.toolset ?? '',
      reason: reasons.get(name) ?? `in no toolset of ${platform}`,
    }));
    return { names: [...offered].sort(), absent };
  }

  function problems(names: Iterable<string>): string[] {
    const plain = [...new Set([...names].map((name) => name.replace(/^!/, '')))];
    return plain.filter((name) => !isKnown(name)).map((name) => problemOf(name, 'the configuration'));
  }

  return { resolveToolset, toolsForPlatform, problems };
}
