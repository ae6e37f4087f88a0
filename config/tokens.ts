/** Which platforms are off, and the one line that says what would switch each on. */
import type { KeyNode } from './keys.ts';

/** Null when nothing keeps the platform off. `settings` is its parsed configuration, `variableOf` says where a value comes from. */
export function toOffReason(
  platform: string,
  keys: KeyNode,
  settings: Record<string, unknown>,
  home: string,
  variableOf: (key: string) => string | undefined,
): string | null {
  if (settings.enabled === false) return `${platform} is switched off by platforms.${platform}.enabled`;
  for (const [name, facts] of Object.entries(keys.properties ?? {})) {
    if (!isNeeded(facts.needed, settings)) continue;
    const value = settings[name];
    const key = `platforms.${platform}.${name}`;
    const variable = variableOf(name);
    if (value === '')
      return `${platform} is off: ${variable ?? key} is not set${variable ? `; put ${variable}=... into ${home}/.env` : ''}`;
    if (typeof value === 'string' && /\s/.test(value))
      return `${platform} is off: the value of ${key} contains white space; copy it again`;
  }
  return null;
}

function isNeeded(needed: KeyNode['needed'], settings: Record<string, unknown>): boolean {
  if (typeof needed !== 'object') return needed === true;
  return Object.entries(needed).every(([name, value]) => settings[name] === value);
}
