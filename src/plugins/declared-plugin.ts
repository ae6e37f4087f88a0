/**
 * Plugins of form 2: plugin.json names files, and each file becomes one registration through the same `ctx` that form 1 has. A file
 * that is missing or broken drops that item alone.
 */
import { basename, dirname, extname } from 'node:path';
import { HermesError, toMessage } from '../contract/errors.ts';
import type { Log } from '../contract/log.ts';
import type { Address } from '../contract/message.ts';
import type { HookName, PluginContext } from '../contract/plugin.ts';
import type { ToolContext } from '../contract/tool.ts';
import { skillFile } from './context.ts';
import { currentPlace, type Place } from './current-plugin.ts';
import { MissingFile, resolveDeclared } from './declared-path.ts';
import { isHookName, unknownHook } from './hooks.ts';
import type { ModuleExports, PluginModules } from './load-module.ts';
import { isRecord, type Manifest } from './manifest.ts';
import { readData } from './read-data.ts';

/** The hooks whose payload also carries the plugin's own handle. */
const withHandle = new Set<HookName>(['on_message_received', 'on_plugin_loaded', 'on_user_joined', 'on_error_occurred']);

/** What a tool file exports. */
export interface DeclaredTool {
  name: string;
  description: string;
  parameters: Record<string, unknown>;
  /** Returns a string, or `{success: true, result}`, or `{success: false, error}`. */
  execute(args: Record<string, unknown>, context?: ToolContext): unknown;
}

/** `plugin` in the payload of the four hooks. */
export interface PluginHandle {
  name: string;
  version: string;
  /** The tool as its file exports it; undefined when there is none of that name. */
  getTool(name: string): DeclaredTool | undefined;
  /** Answers in the chat at hand, or in a direct chat with `userId`. Rejects with ADDRESS_INVALID when there is no such chat. */
  sendMessage(text: string, userId?: string): Promise<void>;
  /** A JSON, YAML or CSV file of the plugin, parsed. Throws PLUGIN_INVALID when it is not there. */
  data(path: string): unknown;
  log: Log;
}

/** Finds the address behind what a plugin knows; null when there is none or the user is not allowed there. */
export interface Addresses {
  ofSession(sessionId: string): Address | string | null | Promise<Address | string | null>;
  /** A direct chat; `platform` is null when the plugin is at no chat now. */
  ofUser(platform: string | null, userId: string): Address | string | null | Promise<Address | string | null>;
}

export interface DeclaredDeps {
  manifest: Manifest;
  context: PluginContext;
  modules: PluginModules;
  addresses: Addresses;
}

/** Rejects only when `main` throws; everything else is dropped item by item, with a line. */
export async function registerDeclared({ manifest, context, modules, addresses }: DeclaredDeps): Promise<void> {
  const { log, pluginDir: dir } = context;
  const tools = new Map<string, DeclaredTool>();
  const handle = createHandle(manifest, context, tools, addresses);

  async function each(items: string[], register: (item: string) => void | Promise<void>): Promise<void> {
    for (const item of items) {
      try {
        await register(item);
      } catch (thrown) {
        log.warn(`Plugin ${manifest.name}: ${item} is left out: ${toMessage(thrown)}`, { plugin: manifest.name, file: item });
      }
    }
  }

  await each(manifest.tools, async (item) => {
    const tool = toDeclaredTool(await modules.load(resolveDeclared(dir, item)));
    context.registerTool({
      name: tool.name,
      schema: { name: tool.name, description: tool.description, parameters: tool.parameters },
      handler: async (args, call) => toResult(await tool.execute(args, call)),
    });
    tools.set(tool.name, tool);
  });
  await each(manifest.hooks, async (item) => {
    const event = basename(item, extname(item));
    if (!isHookName(event)) return log.warn(unknownHook(manifest.name, event), { plugin: manifest.name, hook: event });
    const callback = toFunction(await modules.load(resolveDeclared(dir, item)));
    context.registerHook(event, withHandle.has(event) ? (payload) => callback({ ...payload, plugin: handle }) : callback);
  });
  await each(manifest.skills, (item) => context.registerSkill({ name: skillName(item), path: skillFile(dir, item) }));
  await each(manifest.data, (item) => void resolveDeclared(dir, item));
  await runMain(manifest, context, modules);
}

/** A missing `main` is ignored; one that exports a function is called like register(ctx). */
async function runMain(manifest: Manifest, context: PluginContext, modules: PluginModules): Promise<void> {
  if (manifest.main === null) return;
  let file: string;
  try {
    file = resolveDeclared(context.pluginDir, manifest.main);
  } catch (thrown) {
    if (thrown instanceof MissingFile) return;
    throw thrown;
  }
  await registerOf(await modules.load(file))?.(context);
}

/** The register function of a module: named, default, or a property of the default export. */
export function registerOf(exports: ModuleExports): ((context: PluginContext) => unknown) | undefined {
  const inner = exports.default as ModuleExports | undefined | null;
  const found = [exports.register, inner?.register, inner, exports].find((candidate) => typeof candidate === 'function');
  return found as ((context: PluginContext) => unknown) | undefined;
}

function createHandle(manifest: Manifest, context: PluginContext, tools: Map<string, DeclaredTool>, addresses: Addresses): PluginHandle {
  return {
    name: manifest.name,
    version: manifest.version,
    getTool: (name) => tools.get(name),
    async sendMessage(text, userId) {
      const place = currentPlace();
      const address = userId === undefined ? await addressOf(place, addresses) : await addresses.ofUser(place.platform ?? null, String(userId));
      if (address === null)
        throw new HermesError('ADDRESS_INVALID', userId === undefined ? 'there is no chat at hand here; give sendMessage a user id' : `there is no direct chat with user ${userId}, or the user is not allowed`);
      await context.sendMessage(address, text);
    },
    data: (path) => readData(resolveDeclared(context.pluginDir, path)),
    log: context.log,
  };
}

/** The session knows more of the chat (its bot account) than the payload does, so it is asked first. */
async function addressOf(place: Place, addresses: Addresses): Promise<Address | string | null> {
  const known = place.sessionId === undefined ? null : await addresses.ofSession(place.sessionId);
  if (known !== null || place.platform === undefined || place.chat === undefined) return known;
  return [place.platform, place.chat, ...(place.thread === undefined ? [] : [place.thread])].join(':');
}

function toDeclaredTool(exports: ModuleExports): DeclaredTool {
  const tool = (typeof exports.execute === 'function' ? exports : exports.default) as Partial<DeclaredTool> | undefined;
  if (typeof tool?.execute !== 'function' || typeof tool.name !== 'string')
    throw new HermesError('TOOL_INVALID', 'a tool file exports {name, description, parameters, execute(args)}');
  return tool as DeclaredTool;
}

function toFunction(exports: ModuleExports): (payload: object) => unknown {
  const callback: unknown = typeof exports === 'function' ? exports : exports.default;
  if (typeof callback !== 'function') throw new HermesError('PLUGIN_INVALID', 'a hook file exports one function: async (context) => ...');
  return callback as (payload: object) => unknown;
}

/** `{success: true, result}` becomes the JSON of result, `{success: false, error}` becomes `{"error"}`; the rest is as for any tool. */
function toResult(returned: unknown): unknown {
  if (!isRecord(returned) || typeof returned.success !== 'boolean') return returned;
  if (returned.success) return JSON.stringify(returned.result ?? null);
  const error = returned.error ?? 'the tool failed and did not say why';
  return JSON.stringify({ error: isRecord(error) && !(error instanceof Error) ? JSON.stringify(error) : toMessage(error) });
}

/** `skills/greeting.md` and `skills/greeting/SKILL.md` are both "greeting". */
function skillName(path: string): string {
  const name = basename(path, extname(path));
  return (name.toUpperCase() === 'SKILL' ? basename(dirname(path)) : name).replace(/[^\w-]/g, '-');
}
