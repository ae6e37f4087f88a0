/** `hermes gateway run` and `hermes start`: the daemon in the foreground. */
import type { Command } from 'commander';
import { withExample, withPluginOption, type CliContext } from './context.ts';

export function addGateway(program: Command, context: CliContext): void {
  const gateway = program.command('gateway').description('the daemon that answers on every platform');
  addRun(gateway.command('run', { isDefault: true }).description('run the daemon in the foreground'), 'hermes gateway run');
  withExample(gateway, 'hermes gateway run', 'hermes --home /srv/hermes gateway');
  addRun(program.command('start').description('the same as gateway run'), 'hermes start');

  function addRun(command: Command, example: string): void {
    withPluginOption(command).action(async (flags: { plugin: string[] }) => {
      context.finish(await context.deps.runDaemon({ ...context.globals(), pluginDirs: flags.plugin }));
    });
    withExample(command, example, `${example} --plugin ./my-plugin`);
  }
}
