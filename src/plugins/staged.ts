/** What a plugin asked for while its register() ran. Nothing of it is real until the host commits it as a whole. */
import type { CliCommand, HookCallback, MemoryProvider, PlatformDefinition, PluginCommand, Tool } from '../contract/plugin.ts';
import type { HookOptions } from './hooks.ts';

export interface PluginSkill {
  plugin: string;
  name: string;
  /** Real path of the Markdown file. */
  path: string;
  description?: string;
}

export interface Staged {
  tools: Tool[];
  hooks: { name: string; callback: HookCallback; options: HookOptions }[];
  commands: PluginCommand[];
  cliCommands: CliCommand[];
  skills: PluginSkill[];
  /** Real paths of skill files to copy into the home folder. */
  skillCopies: string[];
  memoryProviders: MemoryProvider[];
  platforms: PlatformDefinition[];
  /** In the order of their registration; they are disposed of backwards. */
  disposables: (() => void)[];
  /** Set when register() is over: what comes later is refused. */
  closed: boolean;
}

export function createStaged(): Staged {
  return { tools: [], hooks: [], commands: [], cliCommands: [], skills: [], skillCopies: [], memoryProviders: [], platforms: [], disposables: [], closed: false };
}
