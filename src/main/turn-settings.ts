/** The configuration's keys as the gateway's parts want them. Pure. */
import type { AccessRules } from '../gateway/access.ts';
import type { AgentTurnSettings } from '../gateway/agent-turn.ts';
import type { ResetPolicy } from '../gateway/open-session.ts';
import type { ChatPlatformConfig } from '../lib/platform-config.ts';
import type { Loaded } from './open-home.ts';

type Config = Loaded['config'];

/** What a chat platform's section says; empty for a platform without one (the terminal). */
export function settingsOf(config: Config, platform: string): Partial<ChatPlatformConfig> {
  return (config.platforms[platform] ?? {}) as Partial<ChatPlatformConfig>;
}

/** A platform without rules lets nobody in; one that checks its callers itself needs none. */
export function toAccessRules(config: Config, trusted: readonly string[]): Map<string, AccessRules> {
  return new Map(Object.entries(config.platforms).filter(([name]) => !trusted.includes(name)) as [string, AccessRules][]);
}

export function toHomeChats(config: Config): string[] {
  return Object.keys(config.platforms).flatMap((name) => {
    const chat = settingsOf(config, name).home_chat;
    return chat ? [`${name}:${chat}`] : [];
  });
}

export function toResetPolicy({ sessions: { reset } }: Config): ResetPolicy {
  return { mode: reset.mode, atHour: reset.at_hour, idleMinutes: reset.idle_minutes };
}

export function toTurnSettings(config: Config, isShared: AgentTurnSettings['isShared']): AgentTurnSettings {
  return {
    maxSteps: config.agent.max_steps,
    timeoutMs: config.agent.turn_timeout_s * 1000,
    turnTokens: config.budgets.turn_tokens,
    bufferChars: config.streaming.buffer_chars,
    streaming(platform) {
      const mode = settingsOf(config, platform).streaming ?? 'auto';
      return { dm: config.streaming.enabled && mode !== 'off', group: config.streaming.enabled && mode === 'on' };
    },
    // The terminal and the page follow the turn itself; `auto` keeps chats quiet.
    toolProgress(platform) {
      const mode = settingsOf(config, platform).tool_progress ?? config.display.tool_progress;
      return mode === 'auto' ? 'off' : mode;
    },
    replyTo: (platform) => settingsOf(config, platform).reply_to ?? 'first',
    reactions: (platform) => settingsOf(config, platform).reactions ?? false,
    askTimeoutMs: config.approvals.timeout_s * 1000,
    isShared,
  };
}
