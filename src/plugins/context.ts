/**
 * The `ctx` that register(ctx) is given. Its register methods write into the stage and nowhere else; dispatchTool and sendMessage
 * reach the core. Every name answers to camelCase and snake_case.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { HermesError } from '../contract/errors.ts';
import type { Log } from '../contract/log.ts';
import type { Address } from '../contract/message.ts';
import type { CliCommand, HookCallback, MemoryProvider, PlatformDefinition, PluginCommand, PluginContext, Tool } from '../contract/plugin.ts';
import type { ToolArgs } from '../contract/tool.ts';
import { runAs } from './current-plugin.ts';
import { MissingFile, resolveDeclared } from './declared-path.ts';
import { answeringToBoth, toCamelKeys } from './either-spelling.ts';
import { isHookName, unknownHook, type HookOptions } from './hooks.ts';
import type { Manifest } from './manifest.ts';
import type { PluginState } from './plugin-state.ts';
import type { Staged } from './staged.ts';

export interface ContextDeps {
  manifest: Manifest;
  /** Real path of the plugin's folder. */
  dir: string;
  home: string;
  config: Record<string, unknown>;
  log: Log;
  state: PluginState;
  staged: Staged;
  dispatchTool(name: string, args: ToolArgs): Promise<string>;
  sendMessage(address: Address | string, text: string): Promise<void>;
}

export function createContext({ manifest, dir, home, config, log, state, staged, dispatchTool, sendMessage }: ContextDeps): PluginContext {
  const plugin = manifest.name;

  function open(): Staged {
    if (staged.closed) throw new HermesError('PLUGIN_INVALID', `${plugin} registers something after its register() was over; await what it needs inside register()`);
    return staged;
  }

  const context: PluginContext = {
    name: plugin,
    config: toConfig(manifest, config, log),
    home,
    pluginDir: dir,
    log,
    state,
    registerTool: (tool) => void open().tools.push(toTool(tool, manifest)),
    registerHook(name, callback, options = {}) {
      if (typeof callback !== 'function') throw new HermesError('PLUGIN_INVALID', `registerHook("${name}") needs a function`);
      if (!isHookName(name)) return log.warn(unknownHook(plugin, name), { plugin, hook: name });
      open().hooks.push({ name, callback: callback as HookCallback, options: toCamelKeys(options) as HookOptions });
    },
    registerCommand(command) {
      const named = toCommand(toCamelKeys(command), plugin);
      if (!/^[a-z][a-z0-9_-]*$/.test(named.name))
        return log.warn(`Plugin ${plugin}: the command ${JSON.stringify(command.name)} is left out; a name begins with a letter and holds letters, digits, "-" and "_"`, { plugin });
      open().commands.push(named);
    },
    registerCliCommand: (command) => void open().cliCommands.push(required(toCamelKeys(command), { name: 'string', handlerFn: 'function' }, 'registerCliCommand') as unknown as CliCommand),
    registerSkill(skill) {
      const { name, path, description } = required(toCamelKeys(skill), { name: 'string', path: 'string' }, 'registerSkill');
      if (!/^[\w-]+$/.test(String(name))) throw new HermesError('PLUGIN_INVALID', `skill name ${JSON.stringify(name)} may hold letters, digits, "-" and "_" only`);
      open().skills.push({ plugin, name: String(name), path: skillFile(dir, String(path)), ...(typeof description === 'string' ? { description } : {}) });
    },
    installSkill: (path) => void open().skillCopies.push(skillFile(dir, path)),
    registerMemoryProvider: (provider) => void open().memoryProviders.push(required(toCamelKeys(provider), { name: 'string', snapshot: 'function' }, 'registerMemoryProvider') as unknown as MemoryProvider),
    registerPlatform: (platform) => void open().platforms.push(required(toCamelKeys(platform), { name: 'string', createAdapter: 'function' }, 'registerPlatform') as unknown as PlatformDefinition),
    dispatchTool,
    sendMessage,
    track(disposable) {
      const dispose = typeof disposable === 'function' ? disposable : () => disposable.dispose();
      // Allowed at any time: a plugin opens things while it works, too.
      staged.disposables.push(dispose);
    },
  };
  return answeringToBoth(context);
}

/** The Markdown file of a skill; a folder stands for its SKILL.md. Throws PLUGIN_INVALID when it is not there or leads outside. */
export function skillFile(dir: string, path: string): string {
  const real = resolveDeclared(dir, path);
  if (!statSync(real).isDirectory()) return real;
  const file = resolveDeclared(dir, join(real, 'SKILL.md'));
  if (!statSync(file).isFile()) throw new MissingFile(`${path} holds no SKILL.md`);
  return file;
}

function toTool(options: object, manifest: Manifest): Tool {
  const camel = toCamelKeys(options);
  const { name, toolset, schema, handler, agentRun: _, ...rest } = camel as Partial<Tool>;
  if (typeof name !== 'string' || name === '') throw new HermesError('TOOL_INVALID', 'registerTool needs a name');
  if (typeof schema !== 'object' || schema === null) throw new HermesError('TOOL_INVALID', `tool ${name} has no schema; give {name, description, parameters}`);
  if (typeof handler !== 'function') throw new HermesError('TOOL_INVALID', `tool ${name} has no handler function`);
  const given: { description?: unknown; parameters?: unknown } = schema;
  return {
    ...(manifest.platforms ? { platforms: manifest.platforms } : {}),
    ...rest,
    name,
    toolset: toolset ?? manifest.name,
    schema: {
      name,
      description: String(given.description ?? camel.description ?? ''),
      parameters: (given.parameters as Tool['schema']['parameters'] | undefined) ?? { type: 'object', properties: {} },
    },
    handler: (args, context) => runAs(manifest.name, { platform: context.platform, sessionId: context.session_id }, () => handler(args, context)),
  };
}

/** A command's name is lower case, without its slash, and blanks are hyphens. */
function toCommand(command: Record<string, unknown>, plugin: string): PluginCommand {
  const { name, description, handler } = required(command, { name: 'string', handler: 'function' }, 'registerCommand');
  const run = handler as PluginCommand['handler'];
  return {
    name: String(name).trim().replace(/^\//, '').toLowerCase().replace(/\s+/g, '-'),
    description: typeof description === 'string' ? description : '',
    handler(args, context) {
      const { platform, chat, session_id: sessionId } = context;
      const place = { platform, chat: chat.id, ...(chat.thread === null ? {} : { thread: chat.thread }), ...(sessionId === null ? {} : { sessionId }) };
      return runAs(plugin, place, () => run(args, context));
    },
  };
}

/** Settings from the configuration over the manifest's defaults. */
function toConfig(manifest: Manifest, given: Record<string, unknown>, log: Log): Record<string, unknown> {
  const schema = Object.entries(manifest.configSchema);
  const defaults = schema.flatMap(([key, rule]) => (rule.default === undefined ? [] : [[key, rule.default]]));
  const config: Record<string, unknown> = { ...Object.fromEntries(defaults), ...given };
  for (const [key, rule] of schema)
    if (rule.required && config[key] === undefined) log.warn(`Plugin ${manifest.name}: its setting ${key} is not set${rule.description ? ` (${rule.description})` : ''}`);
  return config;
}

function required(options: Record<string, unknown>, types: Record<string, 'string' | 'function'>, method: string): Record<string, unknown> {
  for (const [key, type] of Object.entries(types))
    if (typeof options[key] !== type) throw new HermesError('PLUGIN_INVALID', `${method} needs ${key} to be a ${type}`);
  return options;
}
