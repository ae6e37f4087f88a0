/** The keys of `platforms.slack`. */
import { z } from 'zod';
import { tokenText, url } from '../../src/lib/config-values.ts';
import { chatPlatformShape } from '../../src/lib/platform-config.ts';

export const slackConfig = z.strictObject({
  bot_token: tokenText({ description: 'bot token (xoxb-...)', env: 'SLACK_BOT_TOKEN', needed: true }),
  app_token: tokenText({ description: 'app token (xapp-...), for mode socket', env: 'SLACK_APP_TOKEN', needed: { mode: 'socket' } }),
  mode: z.enum(['socket', 'http']).default('socket').describe('how events arrive'),
  signing_secret: tokenText({ description: 'signing secret, for mode http', env: 'SLACK_SIGNING_SECRET', needed: { mode: 'http' } }),
  api_root: url('https://slack.com/api/', { description: 'address of the Web API' }),
  ...chatPlatformShape,
});

export type SlackConfig = z.output<typeof slackConfig>;
