/** What `/plugins` in a chat and `hermes plugins list` print. */
import type { PluginFacts } from '../contract/plugin.ts';

/** `Plugins (1):` and one line per plugin; counts of zero are left out. */
export function toPluginLines(facts: readonly PluginFacts[]): string[] {
  return [`Plugins (${facts.length}):`, ...facts.map(toLine)];
}

function toLine({ name, version, state, reason, tools, hooks }: PluginFacts): string {
  const title = version ? `${name} v${version}` : name;
  if (state !== 'loaded') return `  ✗ ${title} - disabled${reason ? ` (${reason})` : ''}`;
  const counts = [tools.length > 0 ? `${tools.length} tools` : '', hooks.length > 0 ? `${hooks.length} hooks` : ''].filter(Boolean);
  return `  ✓ ${title}${counts.length > 0 ? ` (${counts.join(', ')})` : ''}`;
}
