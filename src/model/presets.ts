/**
 * Which provider a configuration means. One table holds what each provider needs; a ModelConfig passes through
 * `resolveProvider` and comes out as the address, name and key that requests are made with.
 */
import { HermesError } from '../contract/errors.ts';
import type { ModelConfig } from '../contract/model.ts';
import { nearest } from '../lib/nearest.ts';

/** `model` of the configuration, or one entry of its `fallbacks`. */
export type ProviderConfig = Pick<ModelConfig, 'provider' | 'name' | 'base_url' | 'api_key'>;

interface Preset {
  /** Null where it must be configured. */
  baseUrl: string | null;
  defaultName: string;
  /** The variables in which people usually keep the key, the first one being the one to recommend. */
  keyVariables: readonly string[];
}

/** In the order in which `auto` looks for keys. */
export const presets = {
  openai: { baseUrl: 'https://api.openai.com/v1', defaultName: 'gpt-5-mini', keyVariables: ['OPENAI_API_KEY'] },
  openrouter: { baseUrl: 'https://openrouter.ai/api/v1', defaultName: 'openai/gpt-5-mini', keyVariables: ['OPENROUTER_API_KEY'] },
  anthropic: { baseUrl: 'https://api.anthropic.com/v1', defaultName: 'claude-sonnet-4-5', keyVariables: ['ANTHROPIC_API_KEY'] },
  gemini: {
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
    defaultName: 'gemini-2.5-flash',
    keyVariables: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
  },
  ollama: { baseUrl: 'http://127.0.0.1:11434/v1', defaultName: 'qwen3', keyVariables: [] },
  custom: { baseUrl: null, defaultName: 'default', keyVariables: [] },
  offline: { baseUrl: null, defaultName: 'stand-in', keyVariables: [] },
} as const satisfies Record<string, Preset>;

export type ProviderName = keyof typeof presets;

/** A provider that is ready to be called. */
export interface ProviderSpec {
  provider: ProviderName;
  /** The model's name at the provider. */
  name: string;
  /** `provider/name`. */
  id: string;
  /** Without a slash at the end; empty for `offline`. */
  baseUrl: string;
  apiKey: string | null;
  /** Set when the provider would refuse every request: the line that mends it. */
  missing: string | null;
}

type Env = Record<string, string | undefined>;

/** Throws a HermesError CONFIG_INVALID for an unknown provider, `custom` without base_url, and a base_url that is no http(s) URL. */
export function resolveProvider(config: ProviderConfig, env: Env): ProviderSpec {
  const provider = config.provider === 'auto' ? chooseProvider(config, env) : toProviderName(config.provider);
  const preset: Preset = presets[provider];
  const name = config.name || preset.defaultName;
  const spec = { provider, name, id: `${provider}/${name}` };
  if (provider === 'offline') return { ...spec, baseUrl: '', apiKey: null, missing: howToConfigure(env) };

  const baseUrl = config.base_url || preset.baseUrl;
  if (!baseUrl) throw new HermesError('CONFIG_INVALID', 'model.base_url is missing: the provider custom needs the URL of an OpenAI-compatible endpoint');
  checkUrl(baseUrl);
  const apiKey = config.api_key || firstKey(preset, env);
  const [variable] = preset.keyVariables;
  // With a base_url of its own the endpoint may well ask for no key; only it can tell.
  const missing = variable && !apiKey && !config.base_url ? `${variable}=... in ${envFile(env)}` : null;
  return { ...spec, baseUrl: baseUrl.replace(/\/+$/, ''), apiKey, missing };
}

export interface ModelDescription {
  /** `provider/name`. */
  id: string;
  /** False for the offline stand-in and for a provider without its key. */
  configured: boolean;
  /** One line that says what to configure; empty when nothing is missing. */
  hint: string;
}

/** For the start-up line, `hermes status` and the doctor. Throws like `resolveProvider`. */
export function describeModel(config: ProviderConfig, env: Env): ModelDescription {
  const { id, missing } = resolveProvider(config, env);
  return { id, configured: missing === null, hint: missing ? `No model provider is configured yet. Put ${missing} and restart.` : '' };
}

/** A base_url means an endpoint of one's own: no other provider's key is sent there, save OpenAI's, as is the custom. */
function chooseProvider(config: ProviderConfig, env: Env): ProviderName {
  if (config.base_url) return firstKey(presets.openai, env) ? 'openai' : 'custom';
  for (const name of Object.keys(presets) as ProviderName[]) if (firstKey(presets[name], env)) return name;
  return config.api_key ? 'openai' : 'offline';
}

function toProviderName(text: string): ProviderName {
  if (Object.hasOwn(presets, text)) return text as ProviderName;
  const names = ['auto', ...Object.keys(presets)];
  const guess = nearest(text, names);
  throw new HermesError('CONFIG_INVALID', `model.provider "${text}" is unknown; ${guess ? `did you mean ${guess}? ` : ''}use one of ${names.join(', ')}`);
}

function firstKey(preset: Preset, env: Env): string | null {
  for (const variable of preset.keyVariables) if (env[variable]) return env[variable];
  return null;
}

function checkUrl(baseUrl: string): void {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw new HermesError('CONFIG_INVALID', 'model.base_url is no URL; write it like http://127.0.0.1:8000/v1');
  if (url.username || url.password)
    throw new HermesError('CONFIG_INVALID', 'model.base_url holds a user name or password; put the key into model.api_key');
}

function howToConfigure(env: Env): string {
  return `OPENAI_API_KEY=... in ${envFile(env)} (or another provider's key; docs/models.md names them)`;
}

function envFile(env: Env): string {
  return `${env['HERMES_HOME'] || '~/.hermes'}/.env`;
}
