/**
 * What the environment says about platforms: default and overriding variables of single keys (they stand in the schemas), and
 * the allowlists by the names that the upstream system uses: `<PLATFORM>_ALLOWED_USERS`, GATEWAY_ALLOWED_USERS,
 * GATEWAY_ALLOW_ALL_USERS.
 */
import { idSchema } from '../src/lib/platform-config.ts';
import { childOf, type KeyNode } from './keys.ts';
import type { Environment, Path, YamlTree } from './read-yaml.ts';

type Values = Record<string, unknown>;

/** A tree of which some values come straight from variables; problems with them name the variable. */
export interface SourcedTree extends YamlTree {
  sourceOf(path: Path): string | undefined;
}

/** Writes the variables' values into `tree.root.platforms`, which must be done before the schemas see it. */
export function applyEnvironment(tree: YamlTree, platforms: KeyNode, env: Environment): SourcedTree {
  const sources = new Map<string, string>();
  const root = tree.root as Values;
  const section = (root.platforms ??= Object.create(null)) as unknown;
  if (isMapping(section))
    for (const [platform, keys] of Object.entries(platforms.properties ?? {})) {
      const values = (section[platform] ??= Object.create(null));
      if (!isMapping(values)) continue;
      for (const [name, facts] of Object.entries(keys.properties ?? {})) {
        const variable = [facts.override, values[name] === undefined ? facts.env : undefined].find((each) => each && env[each]?.trim());
        if (!variable) continue;
        values[name] = env[variable]?.trim();
        sources.set(['platforms', platform, name].join('.'), variable);
      }
      dropStars(values);
      addAllowedUsers(values, platform);
    }
  return { ...tree, sourceOf: (path) => sources.get(path.join('.')) };

  function addAllowedUsers(values: Values, platform: string): void {
    const variable = `${platform.toUpperCase().replace(/\W/g, '_')}_ALLOWED_USERS`;
    const ids = toIds(env[variable]).filter((id) => id !== '*' || values.allow_all !== true);
    if (ids.length === 0 || !childOf(platforms, platform)?.properties?.allowed_users) return;
    const listed = values.allowed_users ?? [];
    if (!Array.isArray(listed)) return;
    values.allowed_users = [...(listed as unknown[]), ...ids];
    for (const index of ids.keys()) sources.set(['platforms', platform, 'allowed_users', listed.length + index].join('.'), variable);
  }
}

/** `["*"]` says nothing more than allow_all and is accepted beside it alone; without it the schema refuses the star. */
function dropStars(values: Values): void {
  if (values.allow_all !== true) return;
  for (const name of ['allowed_users', 'allowed_chats', 'group_allowed_users'])
    if (Array.isArray(values[name])) values[name] = (values[name] as unknown[]).filter((id) => id !== '*');
}

export interface GatewayAccess {
  /** Ids that are allowed on every platform. */
  allowed_users: string[];
  allow_all: boolean;
}

/** `refuse` is told the variable and what is wrong with it. */
export function readGatewayAccess(env: Environment, refuse: (variable: string, reason: string) => void): GatewayAccess {
  const flag = (env.GATEWAY_ALLOW_ALL_USERS ?? '').trim().toLowerCase();
  if (!['', 'true', '1', 'yes', 'false', '0', 'no'].includes(flag)) refuse('GATEWAY_ALLOW_ALL_USERS', 'must be true or false');
  const allow_all = ['true', '1', 'yes'].includes(flag);
  const allowed_users: string[] = [];
  for (const id of toIds(env.GATEWAY_ALLOWED_USERS)) {
    const parsed = idSchema.safeParse(id);
    if (parsed.success) allowed_users.push(parsed.data);
    else if (!(id === '*' && allow_all)) refuse('GATEWAY_ALLOWED_USERS', parsed.error.issues[0]?.message ?? 'is not a list of ids');
  }
  return { allowed_users, allow_all };
}

function toIds(list: string | undefined): string[] {
  return (list ?? '').split(',').map((id) => id.trim()).filter((id) => id !== '');
}

export function isMapping(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
