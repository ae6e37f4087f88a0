/**
 * The plugin host: discover -> read manifests -> run every register() on a stage of its own, side by side -> commit the stages in
 * the order of folder names. What one plugin does wrong costs that plugin alone, and nothing of it stays.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { toMessage } from '../contract/errors.ts';
import type { Log } from '../contract/log.ts';
import type { Address } from '../contract/message.ts';
import type { CliCommand, MemoryProvider, PlatformDefinition, PluginCommand, PluginFacts } from '../contract/plugin.ts';
import type { ToolArgs } from '../contract/tool.ts';
import { commitStaged, createCommitted, type Committed, type ToolRegistry } from './commit-staged.ts';
import { createContext } from './context.ts';
import { runAs } from './current-plugin.ts';
import { registerDeclared, registerOf, type Addresses } from './declared-plugin.ts';
import { discover, entryFiles, type Found } from './discover.ts';
import { guardExit } from './guard-exit.ts';
import { within, type HookLists } from './hooks.ts';
import { createModuleLoader, installCommand, type PluginModules } from './load-module.ts';
import type { Manifest } from './manifest.ts';
import { createPluginState } from './plugin-state.ts';
import { createStaged, type PluginSkill, type Staged } from './staged.ts';

export interface PluginHostDeps {
  home: string;
  /** `plugins.paths` of the configuration. */
  paths: string[];
  /** `--plugin` folders. */
  extraDirs: string[];
  /** The only plugins to load; null for all that are there. */
  enabled: string[] | null;
  /** Wins over everything. */
  disabled: string[];
  env: Record<string, string | undefined>;
  log: Log;
  hooks: HookLists;
  registry: ToolRegistry;
  /** The folder of the gateway's own package.json. */
  gatewayRoot: string;
  sendMessage(address: Address | string, text: string, plugin: string): Promise<void>;
  dispatchTool(name: string, args: ToolArgs, plugin: string): Promise<string>;
  addresses: Addresses;
  /** Copies a skill file to <home>/skills/<plugin>/SKILL.md, never over a person's edit. */
  installSkill(plugin: string, file: string): void;
  /** `memory.provider`: the commands of any other provider's plugin stay hidden. */
  memoryProvider: string;
  /** Chat commands of the gateway itself, which no plugin can take. */
  reservedCommands?: string[];
  /** Settings by plugin name. */
  pluginConfig?: Record<string, Record<string, unknown>>;
  /** How long a module may load and register() may run, ms; default 5,000 each. */
  limitMs?: number;
}

export interface PluginHost {
  /** Never rejects: what went wrong is in the log and in `facts`. */
  load(): Promise<void>;
  /** In load order, those that are off too. */
  facts(): PluginFacts[];
  commands(): (PluginCommand & { plugin: string })[];
  cliCommands(): (CliCommand & { plugin: string })[];
  platforms(): (PlatformDefinition & { plugin: string })[];
  skills(): PluginSkill[];
  memoryProviders(): (MemoryProvider & { plugin: string })[];
  /** Names of toolsets that plugins' tools belong to. */
  toolsets(): string[];
  /** Takes every registration back and disposes of what plugins track. */
  dispose(): Promise<void>;
}

interface Outcome {
  found: Found;
  staged: Staged;
  state: PluginFacts['state'];
  reason: string | null;
}

export function createPluginHost(deps: PluginHostDeps): PluginHost {
  const { home, log, hooks, env, limitMs = 5000 } = deps;
  const loader = createModuleLoader({ gatewayRoot: deps.gatewayRoot, cacheDir: join(home, 'cache', 'plugin-code') });
  const committed: Committed = createCommitted();
  const facts: PluginFacts[] = [];
  const outcomes: Outcome[] = [];
  let unguard = () => {};

  async function load(): Promise<void> {
    unguard = guardExit(log);
    // Side by side, so that several plugins that hang cost five seconds together and not each.
    const staged = await Promise.all(discover(deps).map(stage));
    for (const outcome of staged) {
      outcomes.push(outcome);
      facts.push(toFacts(outcome));
    }
    void hooks.fire('on_plugin_loaded', {});
  }

  async function stage(found: Found): Promise<Outcome> {
    const outcome: Outcome = { found, staged: createStaged(), state: 'loaded', reason: null };
    const { manifest, problem } = found;
    const off = whyOff(found);
    if (off !== null) return { ...outcome, state: 'disabled', reason: off };
    if (!manifest || problem !== null) return { ...outcome, state: 'failed', reason: problem };
    try {
      const late = await runAs(manifest.name, {}, () => register(manifest, found, outcome.staged));
      if (late !== null) return { ...outcome, state: 'failed', reason: `${late} took longer than ${limitMs / 1000} s` };
    } catch (thrown) {
      return { ...outcome, state: 'failed', reason: toMessage(thrown) };
    } finally {
      outcome.staged.closed = true;
    }
    return outcome;
  }

  /** Null when all went well, else what did not end in time. */
  async function register(manifest: Manifest, found: Found, staged: Staged): Promise<string | null> {
    const modules = loader.open(found.realDir);
    const plugin = manifest.name;
    const context = createContext({
      manifest,
      dir: found.realDir,
      home,
      config: deps.pluginConfig?.[plugin] ?? {},
      log: log.child({ plugin }),
      state: createPluginState(join(home, 'cache', 'plugin-state', `${plugin}.json`), log),
      staged,
      dispatchTool: (name, args) => deps.dispatchTool(name, args, plugin),
      sendMessage: (address, text) => deps.sendMessage(address, text, plugin),
    });
    if (manifest.form === 'declared') {
      sayMissing(manifest, modules, found.realDir);
      const done = await within(limitMs, () => registerDeclared({ manifest, context, modules, addresses: deps.addresses }));
      return done.late ? 'loading its files' : null;
    }
    const entry = entryFiles.map((name) => join(found.realDir, name)).find((file) => existsSync(file)) ?? '';
    const loaded = await within(limitMs, () => modules.load(entry));
    if (loaded.late) return 'loading its module';
    const registers = registerOf(loaded.value);
    if (!registers) throw new Error(`${entry} exports no register(ctx)`);
    const done = await within(limitMs, () => registers(context));
    return done.late ? 'register()' : null;
  }

  function sayMissing(manifest: Manifest, modules: PluginModules, realDir: string): void {
    const missing = modules.missing(Object.keys(manifest.dependencies));
    if (missing.length > 0) log.warn(`Plugin ${manifest.name} needs npm packages that are not installed: ${installCommand(realDir, missing)}`, { plugin: manifest.name });
  }

  function whyOff({ manifest, folder }: Found): string | null {
    const named = (list: string[]) => list.includes(manifest?.name ?? folder) || list.includes(folder);
    if (named(deps.disabled)) return 'in plugins.disabled';
    if (deps.enabled && !named(deps.enabled)) return 'not in plugins.enabled';
    const missing = (manifest?.requiresEnv ?? []).map((item) => item.name).filter((name) => !env[name]?.trim());
    return missing.length > 0 ? `missing: ${missing.join(', ')}` : null;
  }

  function toFacts({ found, staged, state, reason }: Outcome): PluginFacts {
    const name = found.manifest?.name ?? found.folder;
    const none = { tools: [], hooks: [], commands: [], skills: [] };
    const took = state === 'loaded' ? commitStaged(name, staged, committed, deps) : none;
    if (state === 'disabled' && reason?.startsWith('missing: ')) log.warn(`Plugin ${name} disabled (${reason})`, { plugin: name });
    if (state === 'failed') {
      log.error(`Plugin ${name} failed: ${reason}`, { plugin: name, dir: found.dir });
      disposeOf(name, staged);
    }
    return { name, version: found.manifest?.version ?? '', description: found.manifest?.description ?? '', state, reason, ...took, dir: found.dir };
  }

  function disposeOf(plugin: string, staged: Staged): void {
    for (const dispose of staged.disposables.splice(0).toReversed()) {
      try {
        runAs(plugin, {}, dispose);
      } catch (thrown) {
        log.warn(`Plugin ${plugin}: something it tracks could not be disposed of: ${toMessage(thrown)}`, { plugin });
      }
    }
  }

  return {
    load,
    facts: () => facts.map((fact) => ({ ...fact })),
    commands: () => committed.commands,
    cliCommands: () => committed.cliCommands,
    platforms: () => committed.platforms,
    skills: () => committed.skills,
    memoryProviders: () => committed.memoryProviders,
    toolsets: () => [...new Set(committed.tools.map((tool) => tool.toolset))],
    async dispose() {
      for (const { found, staged } of outcomes.splice(0).toReversed()) {
        const name = found.manifest?.name ?? found.folder;
        hooks.removeAll(name);
        disposeOf(name, staged);
      }
      for (const tool of committed.tools.splice(0)) deps.registry.unregister(tool.name, tool.plugin);
      unguard();
    },
  };
}
