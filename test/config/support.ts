/** A home with a config.yaml and an .env, loaded with the real adapters' schemas. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { discordConfig } from '../../adapters/discord/config.ts';
import { httpConfig } from '../../adapters/http/config.ts';
import { slackConfig } from '../../adapters/slack/config.ts';
import { telegramConfig } from '../../adapters/telegram/config.ts';
import { loadConfig } from '../../config/load.ts';
import { HermesError } from '../../src/contract/errors.ts';
import { tempHome } from '../support/temp-home.ts';

export const platforms = { telegram: telegramConfig, discord: discordConfig, slack: slackConfig, http: httpConfig };

export interface Given {
  home?: string;
  dotenv?: string;
  env?: Record<string, string | undefined>;
  pluginPlatforms?: string[] | 'later';
}

export function load(yaml: string | null, given: Given = {}) {
  const home = given.home ?? tempHome();
  if (yaml !== null) writeFileSync(join(home, 'config.yaml'), yaml);
  if (given.dotenv !== undefined) writeFileSync(join(home, '.env'), given.dotenv, { mode: 0o600 });
  return loadConfig({ home, env: given.env ?? {}, platforms, ...(given.pluginPlatforms ? { pluginPlatforms: given.pluginPlatforms } : {}) });
}

/** The problem lines, each without the folder. Fails when the configuration is accepted. */
export function problems(yaml: string | null, given: Given = {}): string[] {
  try {
    load(yaml, given);
  } catch (error) {
    if (error instanceof HermesError && error.code === 'CONFIG_INVALID')
      return error.message.split('\n').map((line) => line.replace(/^\S*\/(?=[^/\s]+:\d)/, ''));
    throw error;
  }
  throw new Error(`accepted, though it should have been refused:\n${yaml}`);
}
