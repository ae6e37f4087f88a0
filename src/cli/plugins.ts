/** `hermes plugins list|info|enable|disable`, and what authors need. Switching writes config.yaml and takes effect at the next start. */
import type { Command } from 'commander';
import { HermesError } from '../contract/errors.ts';
import type { PluginFacts } from '../contract/plugin.ts';
import { nearest } from '../lib/nearest.ts';
import { toPluginLines } from '../lib/plugin-lines.ts';
import { addAuthoring } from './author-plugins.ts';
import { inspecting, print, withExample, withPluginOption, type CliContext } from './context.ts';
import { writeKey } from './write-key.ts';

export function addPlugins(program: Command, context: CliContext): void {
  const plugins = withExample(program.command('plugins').description('plugins of this home'), 'hermes plugins list');
  const list = plugins.command('list').description('every plugin, with the reason where one is off').option('--json', 'print JSON');
  withPluginOption(list).action(async (flags: { json?: boolean; plugin: string[] }) => {
    await inspecting(context, flags.plugin, (home) => {
      const facts = home.plugins();
      print(context, flags.json ? JSON.stringify(facts, null, 2) : toPluginLines(facts).join('\n'));
    });
  });
  withExample(list, 'hermes plugins list');

  const info = plugins.command('info <name>').description('what one plugin brings');
  withPluginOption(info).action(async (name: string, flags: { plugin: string[] }) => {
    await inspecting(context, flags.plugin, (home) => print(context, toInfo(find(home.plugins(), name))));
  });
  withExample(info, 'hermes plugins info calculator');

  addAuthoring(plugins, context);
  addSwitch('enable', 'load a plugin again', (name, { enabled, disabled }) => ({
    enabled: enabled && !enabled.includes(name) ? [...enabled, name] : enabled,
    disabled: disabled.filter((other) => other !== name),
  }));
  addSwitch('disable', 'load a plugin no more', (name, { enabled, disabled }) => ({
    enabled,
    disabled: disabled.includes(name) ? disabled : [...disabled, name],
  }));

  function addSwitch(verb: string, description: string, change: (name: string, lists: Lists) => Lists): void {
    const command = plugins.command(`${verb} <name>`).description(description);
    command.action(async (name: string) => {
      await inspecting(context, [], (home) => void find(home.plugins(), name));
      const { config } = await context.deps.loadConfig(context.globals());
      const before: Lists = { enabled: config.plugins.enabled, disabled: config.plugins.disabled };
      const after = change(name, before);
      for (const key of ['enabled', 'disabled'] as const)
        if (after[key] !== before[key] && after[key]?.join() !== before[key]?.join()) await writeKey(context, `plugins.${key}`, JSON.stringify(after[key]));
      print(context, `${name} is ${verb}d; it takes effect at the next start`);
    });
    withExample(command, `hermes plugins ${verb} calculator`);
  }
}

interface Lists {
  /** Null: all that are present. */
  enabled: string[] | null;
  disabled: string[];
}

function find(plugins: PluginFacts[], name: string): PluginFacts {
  const found = plugins.find((plugin) => plugin.name === name);
  if (found) return found;
  const guess = nearest(name, plugins.map((plugin) => plugin.name));
  throw new HermesError('PLUGIN_INVALID', `There is no plugin ${name}${guess ? `; did you mean ${guess}?` : ''} (hermes plugins list shows all)`);
}

function toInfo(plugin: PluginFacts): string {
  const rows = [
    ['', `${plugin.name}${plugin.version ? ` v${plugin.version}` : ''}`],
    ['', plugin.description],
    ['state', plugin.reason ? `${plugin.state} (${plugin.reason})` : plugin.state],
    ['tools', plugin.tools.join(', ')],
    ['hooks', plugin.hooks.join(', ')],
    ['commands', plugin.commands.map((name) => `/${name}`).join(', ')],
    ['skills', plugin.skills.join(', ')],
    ['folder', plugin.dir],
  ];
  return rows
    .filter(([, value]) => value)
    .map(([label, value]) => (label ? `${label}: ${value}` : value))
    .join('\n');
}
