/** Commands that plugins bring: `hermes <name> ...`. They are commander commands; commander itself stays on this side. */
import { Command } from 'commander';
import { HermesError, toMessage } from '../contract/errors.ts';
import type { CliContext } from './context.ts';
import type { PluginCli } from './deps.ts';

/**
 * Adds one plugin's command. `setupFn` may add options, arguments and sub-commands. Every command in the tree that has no action
 * of its own calls `handlerFn` with its options and arguments by name, and `subcommand`, the names below the top one.
 * A handler that returns a number gives the exit code.
 */
export function addPluginCommand(program: Command, plugin: PluginCli, context: CliContext): void {
  const command = new HandledCommand(plugin.name, '', async (args) => {
    try {
      const result = await plugin.handlerFn(args);
      if (typeof result === 'number') context.finish(result);
    } catch (cause) {
      throw new HermesError('PLUGIN_INVALID', `plugin ${plugin.plugin}: ${toMessage(cause)}`, { cause });
    }
  });
  command.copyInheritedSettings(program).description(plugin.help);
  try {
    plugin.setupFn?.(command);
  } catch (error) {
    // One plugin's mistake must not take `hermes --help` away.
    context.deps.stderr(`plugin ${plugin.plugin}: the command ${plugin.name} cannot be set up: ${toMessage(error)}\n`);
    return;
  }
  program.addCommand(command);
}

type Handler = (args: Record<string, unknown>) => Promise<void>;

class HandledCommand extends Command {
  constructor(
    name: string,
    private readonly place: string,
    private readonly handler: Handler,
  ) {
    super(name);
    this.action(() => this.handler(this.collect()));
  }

  override createCommand(name = ''): Command {
    return new HandledCommand(name, `${this.place} ${name}`.trim(), this.handler);
  }

  private collect(): Record<string, unknown> {
    const named = this.registeredArguments.map((argument, index) => [argument.name(), this.processedArgs[index]] as const);
    return { ...this.optsWithGlobals(), ...Object.fromEntries(named), ...(this.place ? { subcommand: this.place } : {}) };
  }
}
