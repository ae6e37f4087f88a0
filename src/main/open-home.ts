/** A home folder read and understood: configuration, secrets known to the redactor, a log. Nothing runs yet. */
import type { ZodType } from 'zod';
import { ensureApiKey, ensureHome, loadConfig, type LoadedConfig } from '../../config/load.ts';
import { chatFactories } from '../../adapters/index.ts';
import { httpConfig } from '../../adapters/http/config.ts';
import type { Log } from '../contract/log.ts';
import { createLog, type LogLevel } from '../lib/log.ts';
import { createRedactor, type Redactor } from '../lib/redact.ts';

export type Environment = Record<string, string | undefined>;

type FactorySchemas = { [K in keyof typeof chatFactories]: (typeof chatFactories)[K]['config'] };
export type Schemas = FactorySchemas & { http: typeof httpConfig };
export type Loaded = LoadedConfig<Schemas>;

export interface Home {
  home: string;
  env: Environment;
  loaded: Loaded;
  redactor: Redactor;
  log: Log;
}

export function platformSchemas(): Schemas {
  const schemas: Record<string, ZodType> = { http: httpConfig };
  for (const factory of Object.values(chatFactories)) schemas[factory.platform] = factory.config;
  return schemas as Schemas;
}

/** Throws CONFIG_INVALID or HOME_UNUSABLE. `makeKey`: a missing HTTP key is made and kept; only under the home's lock. */
export function openHome(home: string, env: Environment, options: { logLevel: LogLevel | undefined; makeKey: boolean }): Home {
  ensureHome(home);
  // Hints and plugins name the home by this variable; --home has to be seen there too.
  env['HERMES_HOME'] = home;
  if (options.makeKey) ensureApiKey(home, env);
  const loaded = loadConfig({ home, env, platforms: platformSchemas(), pluginPlatforms: 'later' });
  const redactor = createRedactor();
  for (const secret of loaded.secrets) redactor.add(secret);
  const log = createLog({ level: options.logLevel ?? loaded.config.log.level, redactor });
  return { home, env, loaded, redactor, log };
}
