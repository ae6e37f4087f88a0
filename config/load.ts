/**
 * config.yaml + .env + environment -> one frozen configuration. `start`, `hermes config check` and `hermes config set` all come
 * through here, so they cannot disagree. Every problem is reported at once; nothing is coerced; no value is ever shown.
 *
 * Walk: .env -> YAML with variables filled in -> variables of single keys -> schemas -> platforms on or off -> frozen.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z, type ZodType } from 'zod';
import { toMessage } from '../src/contract/errors.ts';
import { nearest } from '../src/lib/nearest.ts';
import { chatPlatformShape } from '../src/lib/platform-config.ts';
import { addToEnvironment, readEnvFile } from './env-file.ts';
import { applyEnvironment, isMapping, readGatewayAccess, type GatewayAccess } from './environment.ts';
import { childOf, mapSecrets, toKeyTree, type KeyNode } from './keys.ts';
import { parseTree, valueAt } from './parse-tree.ts';
import { toConfigError, type Place, type Problem } from './problems.ts';
import { readYaml, type Environment, type YamlTree } from './read-yaml.ts';
import { configShape, type Config } from './schema.ts';
import { toOffReason } from './tokens.ts';

export { ensureApiKey, ensureHome, resolveHome } from './home.ts';
export type { GatewayAccess } from './environment.ts';

type Schemas = Record<string, ZodType>;

export interface LoadOptions<P extends Schemas> {
  home: string;
  /** `<home>/.env` is added to it; a variable that is there already wins. */
  env: Environment;
  /** The built-in platforms' schemas by platform. */
  platforms: P;
  /** Names of plugins' platforms. `later`: not known yet; call `refuseUnknownPlatforms` once they are. Default none. */
  pluginPlatforms?: string[] | 'later';
  /** Judge this text instead of the file. */
  text?: string;
}

export interface LoadedConfig<P extends Schemas = Schemas> {
  /** Deeply frozen. `platforms` also has plugins' platforms, with the keys of every chat platform checked and others as they are. */
  config: Config & { platforms: { [K in keyof P]: z.output<P[K]> } & Record<string, unknown>; gateway_access: GatewayAccess };
  /** Platforms that are not to be started, each with the line that says what to do. */
  off: Record<string, string>;
  /** Every token, key and password that is known, for the redactor. */
  secrets: string[];
  /** Lines worth showing at start. */
  notices: string[];
  /** The file, whether or not it exists. */
  path: string;
  /** What may be written where. */
  keys: KeyNode;
  /** Throws CONFIG_INVALID when `platforms` has one that is neither built in nor in `plugins`. */
  refuseUnknownPlatforms(plugins: readonly string[]): void;
}

/** Throws CONFIG_INVALID, whose message has a line `file:line:column key reason` for each problem. */
export function loadConfig<P extends Schemas>(options: LoadOptions<P>): LoadedConfig<P> {
  const { home, env, platforms, pluginPlatforms = [] } = options;
  const path = join(home, 'config.yaml');
  const envFile = readEnvFile(join(home, '.env'));
  addToEnvironment(envFile, env);
  const yaml = readYaml(path, options.text ?? readText(path), env);
  // Without a tree there is nothing more to judge.
  if (yaml.problems.length > 0) throw toConfigError([...envFile.problems, ...yaml.problems]);

  const schema = toSchema(platforms, pluginPlatforms);
  const keys = toKeyTree(schema);
  const platformKeys = childOf(keys, 'platforms') ?? {};
  const tree = applyEnvironment(yaml, platformKeys, env);
  const placeOfVariable = (variable: string): Place => ({
    file: envFile.values.get(variable)?.text === env[variable] ? join(home, '.env') : 'environment',
    line: envFile.values.get(variable)?.line ?? 1,
    column: 1,
  });
  const problems: Problem[] = [...envFile.problems];
  const parsed = parseTree(schema, tree, keys, placeOfVariable, problems);
  const gateway_access = readGatewayAccess(env, (variable, reason) => problems.push({ ...placeOfVariable(variable), key: variable, reason }));
  if (problems.length > 0 || parsed === undefined) throw toConfigError(problems);

  const config = { ...parsed, gateway_access } as LoadedConfig<P>['config'];
  const { off, notices } = toOff(config.platforms, platformKeys, home, tree);
  return {
    config: freeze(config),
    off,
    secrets: collectSecrets(config, keys, env),
    notices: [...envFile.notices, ...notices, ...toIdleKeys(config)],
    path,
    keys,
    refuseUnknownPlatforms(plugins) {
      const known = [...Object.keys(platforms), ...plugins];
      const unknown = Object.keys(config.platforms).filter((name) => !known.includes(name));
      if (unknown.length === 0) return;
      throw toConfigError(
        unknown.map((name) => ({
          ...tree.placeOf(['platforms', name]),
          key: `platforms.${name}`,
          reason: `is unknown; did you mean ${nearest(name, known) ?? 'another'}?`,
        })),
      );
    },
  };
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw toConfigError([{ file: path, line: 1, column: 1, key: '-', reason: `cannot be read: ${toMessage(error)}` }]);
  }
}

/** Plugins' platforms have the keys of every chat platform, checked, and keys of their own, which the plugin checks. */
function toSchema(platforms: Schemas, pluginPlatforms: string[] | 'later'): ZodType {
  const pluginPlatform = z.looseObject(chatPlatformShape);
  const all =
    pluginPlatforms === 'later'
      ? z.object(platforms).catchall(pluginPlatform)
      : z.strictObject({ ...Object.fromEntries(pluginPlatforms.map((name) => [name, pluginPlatform.prefault({})])), ...platforms });
  return z.strictObject({ ...configShape, platforms: all });
}

function toOff(platforms: Record<string, unknown>, keys: KeyNode, home: string, tree: YamlTree): Pick<LoadedConfig, 'off' | 'notices'> {
  const off: Record<string, string> = {};
  const notices: string[] = [];
  for (const [name, settings] of Object.entries(platforms)) {
    if (!isMapping(settings)) continue;
    const facts = childOf(keys, name) ?? {};
    const isWritten = (key: string) => valueAt(tree.root, ['platforms', name, key]) !== undefined;
    const variableOf = (key: string) =>
      tree.variablesAt(['platforms', name, key])[0] ?? (isWritten(key) ? undefined : childOf(facts, key)?.env);
    const reason = toOffReason(name, facts, settings, home, variableOf);
    if (reason === null) continue;
    off[name] = reason;
    // Who switched it off by hand needs no reminder.
    if (settings.enabled !== false) notices.push(reason);
  }
  return { off, notices };
}

/** Keys that are checked and kept but change nothing in this version: who sets one is told so. */
function toIdleKeys({ budgets, mcp_servers: servers, cron }: Pick<Config, 'budgets' | 'mcp_servers' | 'cron'>): string[] {
  const set = [
    ...(['session_day_usd', 'sender_day_usd', 'day_usd'] as const).filter((key) => budgets[key] !== null).map((key) => `budgets.${key}`),
    ...Object.keys(servers).map((name) => `mcp_servers.${name}`),
    ...(cron.enabled ? [] : ['cron.enabled']),
  ];
  return set.map((key) => `${key} is set and has no effect in this version.`);
}

const secretVariable = /(^|_)(TOKEN|KEY|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$/i;

function collectSecrets(config: unknown, keys: KeyNode, env: Environment): string[] {
  const secrets = new Set<string>();
  mapSecrets(config, keys, (secret) => {
    secrets.add(secret);
    return secret;
  });
  for (const [name, value] of Object.entries(env)) if (value?.trim() && secretVariable.test(name)) secrets.add(value.trim());
  return [...secrets];
}

function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) freeze(inner);
  return value;
}
