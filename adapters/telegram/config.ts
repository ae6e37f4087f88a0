/** The keys of `platforms.telegram`. */
import { z } from 'zod';
import { secretOrNull, tokenText, url, urlOrNull } from '../../src/lib/config-values.ts';
import { chatPlatformShape } from '../../src/lib/platform-config.ts';

export const telegramConfig = z.strictObject({
  token: tokenText({ description: 'bot token from @BotFather', env: 'TELEGRAM_BOT_TOKEN', needed: true }),
  api_root: url('https://api.telegram.org', { description: 'address of the Bot API server' }),
  mode: z.enum(['polling', 'webhook']).default('polling').describe('how updates arrive'),
  webhook: z
    .strictObject({
      url: urlOrNull({ description: 'public https address of this program, for mode webhook' }),
      secret: secretOrNull({ description: 'secret that Telegram sends back with each update, for mode webhook' }),
    })
    .prefault({}),
  ...chatPlatformShape,
});

export type TelegramConfig = z.output<typeof telegramConfig>;
