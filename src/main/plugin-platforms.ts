/** Platforms that plugins bring: built like the gateway's own, under the same rules, each failing alone. */
import type { Adapter, AdapterContext } from '../contract/adapter.ts';
import { HermesError, toMessage } from '../contract/errors.ts';
import type { PlatformDefinition } from '../contract/plugin.ts';
import type { Supervisor } from '../gateway/supervise-adapters.ts';
import type { Core } from './core.ts';
import { platformSchemas, type Home } from './open-home.ts';

/** Names that a plugin cannot take: those of the gateway's own platforms, and of callers that are no platform. */
const reserved = new Set([...Object.keys(platformSchemas()), 'cli', 'cron']);

/** Call it once plugins are loaded. Throws CONFIG_INVALID when `platforms` names one that nobody brings. */
export function buildPluginAdapters({ loaded, log }: Home, core: Core, supervisor: Supervisor, contextOf: (platform: string) => AdapterContext): Adapter[] {
  const offered = core.plugins.platforms();
  const names = offered.map(({ name }) => name);
  // With a plugin off nobody knows what it would have brought, and one broken plugin must not keep the rest from starting.
  if (core.plugins.facts().every(({ state }) => state === 'loaded')) loaded.refuseUnknownPlatforms(names);
  for (const name of Object.keys(loaded.config.platforms))
    if (!reserved.has(name) && !names.includes(name)) turnOff(name, `no plugin that is loaded brings the platform ${name}; hermes plugins list shows which are off`);

  return offered.flatMap((definition): Adapter[] => {
    const { name, plugin } = definition;
    if (reserved.has(name)) {
      log.error(`Plugin ${plugin}: the platform name ${name} is taken by the gateway itself; give it another`);
      return [];
    }
    const reason = loaded.off[name];
    if (reason !== undefined) {
      supervisor.off(name, reason);
      return [];
    }
    try {
      return [build(definition, (loaded.config.platforms[name] ?? {}) as Record<string, unknown>, contextOf(name))];
    } catch (thrown) {
      turnOff(name, `plugin ${plugin}: ${toMessage(thrown)}`);
      return [];
    }
  });

  function turnOff(name: string, reason: string): void {
    log.error(`${name} is off: ${reason}`);
    supervisor.off(name, reason);
  }
}

function build({ name, createAdapter }: PlatformDefinition, settings: Record<string, unknown>, context: AdapterContext): Adapter {
  const adapter = createAdapter(settings, context);
  if (adapter.platform === name) return adapter;
  throw new HermesError('PLUGIN_INVALID', `it registers the platform ${name}, but its adapter says that it is ${adapter.platform}`);
}
