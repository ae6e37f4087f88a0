/** The keys of `platforms.discord`. */
import { z } from 'zod';
import { tokenText, url } from '../../src/lib/config-values.ts';
import { chatPlatformShape, idList } from '../../src/lib/platform-config.ts';

export const discordConfig = z.strictObject({
  token: tokenText({ description: 'bot token from the developer portal', env: 'DISCORD_BOT_TOKEN', needed: true }),
  api_root: url('https://discord.com/api', { description: 'address of the REST API' }),
  allowed_roles: idList.describe('ids of roles whose members may write in servers'),
  auto_thread: z.boolean().default(true).describe('answer a mention in a thread of its own'),
  ...chatPlatformShape,
});

export type DiscordConfig = z.output<typeof discordConfig>;
