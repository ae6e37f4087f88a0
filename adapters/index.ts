/** The one list of platforms. Each platform's SDK is imported only when the platform is on. */
import type { ZodType } from 'zod';
import type { Adapter, AdapterContext } from '../src/contract/adapter.ts';
import { discordConfig, type DiscordConfig } from './discord/config.ts';
import { slackConfig, type SlackConfig } from './slack/config.ts';
import { telegramConfig, type TelegramConfig } from './telegram/config.ts';

export interface AdapterFactory<C = never> {
  platform: string;
  config: ZodType<C>;
  create(config: C, context: AdapterContext): Promise<Adapter>;
}

/** Chat platforms: started when their token is there, reached through access rules. */
export const chatFactories = {
  slack: {
    platform: 'slack',
    config: slackConfig,
    create: async (config: SlackConfig, context) => (await import('./slack/index.ts')).createSlackAdapter(config, context),
  } satisfies AdapterFactory<SlackConfig>,
  telegram: {
    platform: 'telegram',
    config: telegramConfig,
    create: async (config: TelegramConfig, context) => (await import('./telegram/index.ts')).createTelegramAdapter(config, context),
  } satisfies AdapterFactory<TelegramConfig>,
  discord: {
    platform: 'discord',
    config: discordConfig,
    create: async (config: DiscordConfig, context) => (await import('./discord/index.ts')).createDiscordAdapter(config, context),
  } satisfies AdapterFactory<DiscordConfig>,
} as const;
