/**
 * Builds the house around one home: store, hooks, tools, plugins, agent, gateway. Everything is created here and handed on as
 * arguments; nothing is started yet. `loadExtensions` then brings tools and plugins in.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Adapter } from '../contract/adapter.ts';
import type { InboundMessage } from '../contract/message.ts';
import { createAccess, type Access } from '../gateway/access.ts';
import { createAgentTurn } from '../gateway/agent-turn.ts';
import { createApprovals } from '../gateway/approvals.ts';
import { createCommands } from '../gateway/commands.ts';
import type { CommandCall } from '../gateway/command.ts';
import { createDelivery, type Delivery } from '../gateway/delivery.ts';
import { createGateway, type Gateway } from '../gateway/gateway.ts';
import { createGates } from '../gateway/gates.ts';
import { createLanes } from '../gateway/lanes.ts';
import { createMedia } from '../gateway/media.ts';
import { createNotices, type Notices } from '../gateway/notices.ts';
import { createObservers } from '../gateway/observers.ts';
import { createOutgoingFiles } from '../gateway/outgoing-files.ts';
import { createOpenFor } from '../gateway/open-session.ts';
import { createPairing, type Pairing } from '../gateway/pairing.ts';
import { createQuestions } from '../gateway/questions.ts';
import { createRunningTurns, type RunningTurns } from '../gateway/running-turns.ts';
import { toOwner, toSessionKey, type KeyRules } from '../gateway/session-key.ts';
import { createTakeTurn } from '../gateway/take-turn.ts';
import { createCrashPoints } from '../lib/crash-point.ts';
import { createMemory, type Memory } from '../memory/memory.ts';
import { currentPlace } from '../plugins/current-plugin.ts';
import { createTranscribe } from '../model/transcribe.ts';
import { createHooks, type HookLists } from '../plugins/hooks.ts';
import { createPluginHost, type PluginHost } from '../plugins/host.ts';
import { installSkill } from '../skills/install-skill.ts';
import { createSkills, type Skills } from '../skills/skills.ts';
import { createSkillTools } from '../skills/tools.ts';
import { openStore, type Store } from '../store/store.ts';
import { discoverTools } from '../tools/discover.ts';
import { loadToolsets } from '../tools/load-toolsets.ts';
import { createRegistry, type Registry } from '../tools/registry.ts';
import { createToolsets, refusal, type Toolsets } from '../tools/toolsets.ts';
import { createAgentSetup, type Setup } from './agent-setup.ts';
import type { Assets } from './assets.ts';
import type { Home } from './open-home.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { toAccessRules, toHomeChats, toResetPolicy, toTurnSettings } from './turn-settings.ts';
import { createModuleLoader } from '../plugins/load-module.ts';

export interface CoreOptions extends Home {
  assets: Assets;
  /** Who claims inbox rows: `daemon`, or a name of its own for each terminal. */
  process: string;
  /** Platforms whose adapter has checked its callers. */
  trusted: string[];
  pluginDirs: string[];
  /** Folder for file tools and the terminal. */
  workspace: string;
}

export interface Core {
  store: Store;
  hooks: HookLists;
  registry: Registry;
  toolsets: Toolsets;
  plugins: PluginHost;
  skills: Skills;
  memory: Memory;
  metrics: Metrics;
  agent: Setup;
  access: Access;
  gateway: Gateway;
  delivery: Delivery;
  running: RunningTurns;
  notices: Notices;
  pairing: Pairing;
  /** Filled by main as adapters are built. */
  adapters: Map<string, Adapter>;
  commands(): { name: string; description: string }[];
  health: (() => string[])[];
  chatMoved(platform: string, from: string, to: string): Promise<void>;
  loadExtensions(): Promise<void>;
  /** Ends what tools and plugins left running, finalizes sessions, closes the store. */
  close(): Promise<void>;
}

/** Turns at once; each waits for a provider most of its time. */
const maxTurns = 64;
const finalizeMs = 5000;

export function createCore(options: CoreOptions): Core {
  const { home, env, loaded, redactor, log, assets } = options;
  const { config } = loaded;
  const now = Date.now;
  const startedAt = now();
  const crash = createCrashPoints(env['HERMES_CRASH_AT']);
  const adapters = new Map<string, Adapter>();
  const adapterOf = (platform: string) => adapters.get(platform);
  const health: (() => string[])[] = [];
  const ending = new AbortController();
  let isDraining = false;

  const store = openStore({ path: join(home, 'state.db'), process: options.process });
  const { pre, post } = config.plugins.hook_timeout_s;
  const hooks = createHooks({ log, limits: { preMs: pre * 1000, postMs: post * 1000 } });
  const redact = (text: string) => redactor.text(text);
  const registry = createRegistry({ log, home, env, redact });
  const toolsets = createToolsets({ definitions: loadToolsets(readFileSync(assets.toolsetsFile, 'utf8')), registry, log });
  const memory = createMemory({ home });
  const keyRules: KeyRules = { groupPerUser: config.sessions.group_sessions_per_user, threadPerUser: config.sessions.thread_sessions_per_user };
  const ownerOf = (message: InboundMessage) => toOwner(message, keyRules);

  const gates = createGates(now);
  const running = createRunningTurns();
  const metrics = createMetrics(startedAt);
  const questions = createQuestions();
  const observers = createObservers();
  const notices = createNotices({ store, operator: config.operator, homeChats: toHomeChats(config), kick: (platform, chat) => delivery.kick(platform, chat), adapterOf, log, now });
  const delivery = createDelivery({
    outbox: store.outbox,
    gates,
    adapterOf,
    hooks,
    log,
    now,
    random: Math.random,
    crash,
    onTrouble: (part, state, error) => void notices.undelivered(part, state, error, gates.isGone(part.payload.address)),
    onMoved: chatMoved,
  });

  // Filled below: the commands need the plugins, whose own commands must not take these names.
  const reservedCommands: string[] = [];
  const plugins = createPluginHost({
    home,
    paths: config.plugins.paths,
    extraDirs: options.pluginDirs,
    enabled: config.plugins.enabled,
    disabled: config.plugins.disabled,
    env,
    log,
    hooks,
    registry,
    gatewayRoot: assets.root,
    sendMessage: (address, text, plugin) => notices.send(address, text, { kind: 'plugin', name: plugin }),
    dispatchTool: (name, args, plugin) => dispatchForPlugin(name, args, plugin),
    addresses: notices.addresses,
    installSkill: (plugin, file) => void installSkill({ home, plugin, file }),
    memoryProvider: config.memory.provider,
    pluginConfig: config.plugins.config,
    reservedCommands,
  });
  const skills = createSkills({ home, paths: config.skills.paths, pluginSkills: () => plugins.skills(), log });
  const agent = createAgentSetup({ home, env, config, store, registry, toolsets, plugins: () => plugins, memory, skills, hintOf: (platform) => adapters.get(platform)?.hint ?? null, log });

  const pairing = createPairing({ store: store.pairing, adapterOf, gates, log, now });
  const access = createAccess({
    rules: toAccessRules(config, options.trusted),
    everywhere: config.gateway_access,
    trusted: new Set(options.trusted),
    isPaired: pairing.isPaired,
  });
  const approve = createApprovals({
    questions,
    settings: { mode: config.approvals.mode, timeoutMs: config.approvals.timeout_s * 1000, allow: config.approvals.allow },
    state: store.state('gateway'),
    hooks,
  });
  const runAgentTurn = createAgentTurn({
    store,
    agent,
    settings: toTurnSettings(config, (message) => message.chatType !== 'dm' && ownerOf(message).includes(':chat:')),
    openFor: createOpenFor({ sessions: store.sessions, policy: toResetPolicy(config), hooks, toOwner: ownerOf, now }),
    hooks,
    observers,
    running,
    gates,
    delivery,
    media: createMedia({ home, adapterOf, log, ...(config.audio.transcription ? { transcribe: createTranscribe(config.audio.transcription, log) } : {}) }),
    outgoing: createOutgoingFiles({ home, workspace: options.workspace }),
    ask: questions.ask,
    approve,
    adapterOf,
    redact,
    onTurn: metrics.turn,
    isDraining: () => isDraining,
    home,
    log,
    now,
    crash,
  });
  const commands = createCommands({
    store,
    hooks,
    running,
    questions,
    modelOf: agent.modelOf,
    pluginFacts: () => plugins.facts(),
    pluginCommands: () => plugins.commands(),
    toolsOf: async (call) => byToolset(await offeredTools(call), registry),
    skills: () => skills.list(),
    memory: () => memory.snapshot(),
    health: () => health.flatMap((each) => each()),
    setHome: ({ message }) => notices.setHome(message.address),
    now,
  });
  reservedCommands.push(...commands.list().flatMap(({ name, aliases = [] }) => [name, ...aliases]));
  const lanes = createLanes({
    claim: (lane) => store.inbox.claimNext(lane, now(), config.gateway.busy_mode === 'collect'),
    run: createTakeTurn({ store, hooks, observers, delivery, adapterOf, toOwner: ownerOf, runCommand: commands.run, runAgentTurn, ending: ending.signal, log, now }),
    markAlone: async (rows) => {
      for (const row of rows) await store.inbox.markAlone(row.id);
    },
    maxRunning: maxTurns,
    log,
    now,
  });
  const gateway = createGateway({
    store,
    access,
    lanes,
    delivery,
    running,
    questions,
    observers,
    hooks,
    toKey: (message) => toSessionKey(message, keyRules),
    isControl: commands.isControl,
    settings: { busyMode: config.gateway.busy_mode, queueLimit: config.gateway.queue_limit },
    onStranger: pairing.request,
    onPoison: notices.poison,
    log,
    now,
    crash,
  });

  async function chatMoved(platform: string, from: string, to: string): Promise<void> {
    await store.sessions.migrateChat(platform, from, to);
    await store.outbox.migrateChat(platform, from, to);
    delivery.kick(platform, to);
  }

  /** A plugin calls a tool: in a turn with that platform's tools alone, and never one that a person would have to consent to. */
  async function dispatchForPlugin(name: string, args: Record<string, unknown>, plugin: string): Promise<string> {
    const platform = currentPlace()?.platform ?? `plugin:${plugin}`;
    const tool = registry.get(name);
    if (tool && currentPlace()?.platform && !agent.platformTools(platform).names.includes(name)) return refusal(platform, name);
    const reason = tool?.needsApproval?.(args, { platform, home });
    if (reason) return JSON.stringify({ error: `Not run: ${reason}, and a plugin cannot consent to it.` });
    const { signal } = new AbortController();
    const sessionId = currentPlace()?.sessionId ?? '';
    return registry.dispatch(name, args, { task_id: sessionId, session_id: sessionId, turn_id: '', tool_call_id: '', platform, signal, log, home });
  }

  async function offeredTools(call: CommandCall): Promise<string[]> {
    const { names } = agent.platformTools(call.message.address.platform, call.message.options?.toolsets);
    const { definitions } = await registry.definitions(names);
    return definitions.map(({ name }) => name);
  }

  let stopTools = async () => {};
  return {
    store,
    hooks,
    registry,
    toolsets,
    plugins,
    skills,
    memory,
    metrics,
    agent,
    access,
    gateway: {
      ...gateway,
      close(graceMs) {
        isDraining = true;
        return gateway.close(graceMs);
      },
    },
    delivery,
    running,
    notices,
    pairing,
    adapters,
    commands: () => commands.list().map(({ name, description }) => ({ name, description })),
    health,
    chatMoved,
    async loadExtensions() {
      const deps = { home, workspace: options.workspace, env, web: config.web, log };
      const loader = createModuleLoader({ gatewayRoot: assets.root, cacheDir: join(home, 'cache', 'plugin-code') });
      for (const tool of createSkillTools(skills)) registry.register(tool, 'skills');
      const builtin = await discoverTools(registry, [assets.toolsDir], deps);
      const own = await discoverTools(registry, [join(home, 'tools')], deps, (path) => loader.open(join(home, 'tools')).load(path));
      stopTools = async () => {
        await builtin.stop();
        await own.stop();
      };
      await plugins.load();
      for (const problem of toolsets.problems([...Object.values(config.platform_toolsets).flat(), ...config.agent.disabled_toolsets])) log.warn(problem);
    },
    async close() {
      ending.abort();
      await finalizeSessions(store, hooks, startedAt, adapters);
      await stopTools();
      await plugins.dispose();
      await store.close();
    },
  };
}

/** Only sessions used since the start, 5 s in all. */
async function finalizeSessions(store: Store, hooks: HookLists, since: number, adapters: ReadonlyMap<string, Adapter>): Promise<void> {
  if (!hooks.has('on_session_finalize')) return;
  const end = performance.now() + finalizeMs;
  for (const { id, platform } of store.sessions.usedSince(since)) {
    if (performance.now() > end) return;
    // Other processes may share the store; their sessions are theirs to finalize.
    if (!adapters.has(platform)) continue;
    await hooks.fire('on_session_finalize', { session_id: id, old_session_id: id, new_session_id: null, platform, reason: 'shutdown' });
  }
}

function byToolset(names: string[], registry: Registry): Map<string, string[]> {
  const sets = new Map<string, string[]>();
  for (const name of names) {
    const toolset = registry.get(name)?.toolset ?? 'other';
    sets.set(toolset, [...(sets.get(toolset) ?? []), name]);
  }
  return sets;
}
