/** What turns need of the rest of the house: models by name, tools by platform, the system prompt, the agent's own tools. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createAgentTools } from '../agent/agent-tools.ts';
import { buildSystemPrompt } from '../agent/prompt.ts';
import type { TurnTools } from '../agent/turn-input.ts';
import type { InboundMessage } from '../contract/message.ts';
import type { Model, ModelDeps } from '../contract/model.ts';
import type { Log } from '../contract/log.ts';
import type { AgentSetup } from '../gateway/agent-turn.ts';
import type { Memory } from '../memory/memory.ts';
import { createModel, type WarmModel } from '../model/create-model.ts';
import type { PluginHost } from '../plugins/host.ts';
import type { ChatPlatformConfig } from '../lib/platform-config.ts';
import { sleep } from '../lib/retry.ts';
import type { Skills } from '../skills/skills.ts';
import type { Session } from '../store/sessions.ts';
import type { Store } from '../store/store.ts';
import { searchSessions } from '../gateway/search-sessions.ts';
import type { Registry } from '../tools/registry.ts';
import { createTodo } from '../tools/todo.ts';
import { refusal, type PlatformTools, type Toolsets } from '../tools/toolsets.ts';
import type { Environment, Loaded } from './open-home.ts';

export interface AgentSetupDeps {
  home: string;
  env: Environment;
  config: Loaded['config'];
  store: Store;
  registry: Registry;
  toolsets: Toolsets;
  plugins(): PluginHost;
  memory: Memory;
  skills: Skills;
  hintOf(platform: string): string | null;
  log: Log;
}

export interface Setup extends AgentSetup {
  platformTools(platform: string, override?: readonly string[]): PlatformTools;
  /** Loads what the first turn would load. */
  warm(): Promise<void>;
}

export function createAgentSetup(deps: AgentSetupDeps): Setup {
  const { config, registry, toolsets, memory, skills, log } = deps;
  const modelOf = createModels(deps);

  const platformTools = (platform: string, override?: readonly string[]) =>
    toolsets.toolsForPlatform(platform, {
      platformToolsets: config.platform_toolsets,
      disabled: config.agent.disabled_toolsets,
      pluginToolsets: deps.plugins().toolsets(),
      ...(override ? { override } : {}),
    });

  const toolsOf = async (message: InboundMessage, session: Session): Promise<TurnTools> => {
    const { platform } = message.address;
    const override = message.options?.toolsets ?? session.settings.toolsets ?? chatSettings(config, message)?.toolsets;
    const { names } = platformTools(platform, override);
    const allowed = new Set(names);
    const { definitions } = await registry.definitions(names);
    return {
      definitions,
      get: (name) => registry.get(name),
      refusal(name) {
        if (allowed.has(name)) return null;
        log.warn('a tool was refused', { tool: name, platform });
        return refusal(platform, name);
      },
      validate: (tool, args) => registry.validate(tool, args),
      dispatch: (name, args, context) => registry.dispatch(name, args, context),
      capResult: (tool, text) => registry.capResult(tool, text),
    };
  };

  return {
    modelOf,
    platformTools,
    toolsOf,
    agentTools: ({ session, history, ask }) =>
      createAgentTools({
        todo: createTodo(),
        history,
        ...(config.memory.enabled ? { memory } : {}),
        sessionSearch: (args) => searchSessions(deps.store, session, args),
        ...(ask ? { ask: (question, choices, context) => ask(question, choices, context.signal) } : {}),
      }),
    async systemPrompt(message, session, toolNames) {
      const { platform } = message.address;
      const settings = config.platforms[platform] as Partial<ChatPlatformConfig> | undefined;
      const instructions = [settings?.instructions, chatSettings(config, message)?.instructions, session.settings.instructions];
      return buildSystemPrompt({
        identity: await readFile(join(deps.home, 'SOUL.md'), 'utf8').catch(() => null),
        toolNames,
        memory: config.memory.enabled ? await snapshot(deps) : null,
        skillsIndex: toolNames.includes('skill_view') ? skills.list() : [],
        platformHint: deps.hintOf(platform),
        instructions: instructions.filter(Boolean).join('\n\n') || null,
        date: new Date().toDateString(),
      });
    },
    warm: async () => (modelOf(null) as WarmModel).warm(),
  };
}

/** One Model per name, so that a provider's circuit and its connections are shared by all sessions. */
function createModels({ config, env, log }: AgentSetupDeps): (name: string | null) => Model {
  const models = new Map<string | null, Model>();
  const modelDeps: ModelDeps = { log, env, sleep, now: () => performance.now(), random: Math.random };
  return (name) => {
    const known = models.get(name);
    if (known) return known;
    const { provider, base_url, api_key, context_window, fallbacks } = config.model;
    const model = createModel({ provider, base_url, api_key, context_window, fallbacks, name: name ?? config.model.name }, modelDeps);
    models.set(name, model);
    return model;
  };
}

function chatSettings(config: Loaded['config'], { address, parentChat }: InboundMessage) {
  const settings = config.platforms[address.platform] as Partial<ChatPlatformConfig> | undefined;
  return settings?.chats?.[address.chat] ?? (parentChat === undefined ? undefined : settings?.chats?.[parentChat]);
}

async function snapshot({ config, memory, plugins }: AgentSetupDeps): Promise<string | null> {
  const provider = plugins()
    .memoryProviders()
    .find(({ name }) => name === config.memory.provider);
  return provider ? provider.snapshot() : memory.snapshot();
}
