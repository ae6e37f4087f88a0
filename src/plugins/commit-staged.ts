/**
 * Makes a plugin's staged registrations real. A name that is taken already stays with its first owner; that registration alone is
 * left out, both owners are named, and the rest of the plugin works.
 */
import { toMessage } from '../contract/errors.ts';
import type { Log } from '../contract/log.ts';
import type { CliCommand, MemoryProvider, PlatformDefinition, PluginCommand, PluginFacts, Tool } from '../contract/plugin.ts';
import type { HookLists } from './hooks.ts';
import type { PluginSkill, Staged } from './staged.ts';

/** The part of the tool registry that plugins need. A tool is refused by false or by a throw that names both owners. */
export interface ToolRegistry {
  register(tool: Tool, owner: string): unknown;
  unregister(name: string, owner: string): unknown;
}

type Owned<T> = T & { plugin: string };

export interface Committed {
  tools: { name: string; toolset: string; plugin: string }[];
  commands: Owned<PluginCommand>[];
  cliCommands: Owned<CliCommand>[];
  platforms: Owned<PlatformDefinition>[];
  memoryProviders: Owned<MemoryProvider>[];
  skills: PluginSkill[];
}

export interface CommitDeps {
  log: Log;
  hooks: HookLists;
  registry: ToolRegistry;
  installSkill(plugin: string, file: string): void;
  memoryProvider: string;
  reservedCommands?: string[];
}

export function createCommitted(): Committed {
  return { tools: [], commands: [], cliCommands: [], platforms: [], memoryProviders: [], skills: [] };
}

/** Returns the names of what was taken. Never throws. */
export function commitStaged(plugin: string, staged: Staged, committed: Committed, deps: CommitDeps): Pick<PluginFacts, 'tools' | 'hooks' | 'commands' | 'skills'> {
  const { log, hooks, registry } = deps;

  function own<T extends { name: string }>(kind: string, items: T[], taken: Owned<T>[], reserved: string[] = []): string[] {
    const names: string[] = [];
    for (const item of items) {
      const owner = reserved.includes(item.name) ? 'the gateway itself' : taken.find((other) => other.name === item.name)?.plugin;
      if (owner !== undefined) {
        log.warn(`Plugin ${plugin}: ${kind} ${item.name} is left out, because ${owner} has it already`, { plugin });
        continue;
      }
      taken.push({ ...item, plugin });
      names.push(item.name);
    }
    return names;
  }

  const tools = staged.tools.filter((tool) => {
    try {
      return registry.register(tool, plugin) !== false;
    } catch (thrown) {
      log.warn(`Plugin ${plugin}: tool ${tool.name} is left out: ${toMessage(thrown)}`, { plugin });
      return false;
    }
  });
  committed.tools.push(...tools.map(({ name, toolset }) => ({ name, toolset, plugin })));
  for (const hook of staged.hooks) hooks.add(plugin, hook.name, hook.callback, hook.options);
  for (const file of staged.skillCopies) {
    try {
      deps.installSkill(plugin, file);
    } catch (thrown) {
      log.warn(`Plugin ${plugin}: its skill ${file} could not be copied: ${toMessage(thrown)}`, { plugin });
    }
  }
  const commands = own('the command', staged.commands, committed.commands, deps.reservedCommands);
  own('the platform', staged.platforms, committed.platforms);
  own('the memory provider', staged.memoryProviders, committed.memoryProviders);
  const idle = staged.memoryProviders.length > 0 && !staged.memoryProviders.some((provider) => provider.name === deps.memoryProvider);
  if (!idle) own('the terminal command', staged.cliCommands, committed.cliCommands);
  committed.skills.push(...staged.skills);
  return { tools: tools.map((tool) => tool.name), hooks: staged.hooks.map((hook) => hook.name), commands, skills: staged.skills.map((skill) => skill.name) };
}
