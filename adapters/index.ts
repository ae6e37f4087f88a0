/** The one list of platforms. Each platform's SDK is imported only when the platform is on. */
import type { ZodType } from 'zod';
import type { Adapter, AdapterContext } from '../src/contract/adapter.ts';
import { telegramConfig, type TelegramConfig } from './telegram/config.ts';

export interface AdapterFactory<C = never> {
  platform: string;
  config: ZodType<C>;
  create(config: C, context: AdapterContext): Promise<Adapter>;
}

/** Chat platforms: started when their token is there, reached through access rules. */
export const chatFactories = {
  telegram: {
    platform: 'telegram',
    config: telegramConfig,
    create: async (config: TelegramConfig, context) => (await import('./telegram/index.ts')).createTelegramAdapter(config, context),
  } satisfies AdapterFactory<TelegramConfig>,
} as const;
