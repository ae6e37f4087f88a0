/**
 * The program `hermes`: command line -> one command -> exit code. Commands know neither store nor gateway; what they need main
 * hands over in CliDeps. Exit codes: 0, 1 failure, 2 usage, 75 restart wanted, 78 configuration cannot be used.
 */
import { Command, CommanderError, Option } from 'commander';
import { resolveHome } from '../../config/load.ts';
import { HermesError, toMessage, type ErrorCode } from '../contract/errors.ts';
import type { LogLevel } from '../lib/log.ts';
import { nearest } from '../lib/nearest.ts';
import { addChat } from './chat.ts';
import { addConfig } from './config.ts';
import { withExample, type CliContext } from './context.ts';
import { addDaemonCommands } from './daemon.ts';
import type { CliDeps, GlobalOptions } from './deps.ts';
import { addDoctor } from './doctor.ts';
import { addGateway } from './gateway.ts';
import { addKnowledge } from './knowledge.ts';
import { addOutbox } from './outbox.ts';
import { addPluginCommand } from './plugin-commands.ts';
import { addPlugins } from './plugins.ts';
import { addSessions } from './sessions.ts';
import { addTools } from './tools.ts';

export interface Program {
  /** `argv` without node and script. Resolves with the exit code; never rejects. */
  run(argv: string[]): Promise<number>;
}

export function createProgram(deps: CliDeps): Program {
  return {
    async run(argv) {
      let code = 0;
      try {
        const program = createRoot(deps);
        const context: CliContext = { deps, globals: () => toGlobals(program, deps), finish: (given) => (code = given) };
        for (const add of [addChat, addGateway, addConfig, addTools, addPlugins, addSessions, addKnowledge, addOutbox, addDaemonCommands, addDoctor]) add(program, context);
        await addPluginCommands(program, argv, context);
        await program.parseAsync(argv, { from: 'user' });
        return code;
      } catch (error) {
        return toExitCode(error, deps);
      }
    },
  };
}

function createRoot(deps: CliDeps): Command {
  const root = new Command('hermes')
    .description('One tool-using agent on Telegram, Discord, Slack, a web page, an HTTP API and this terminal.')
    .option('--home <dir>', 'home folder (default: $HERMES_HOME, else ~/.hermes)')
    .addOption(new Option('--log-level <level>', 'least weight of a logged line').choices(['debug', 'info', 'warn', 'error', 'silent']))
    .version(deps.version, '-V, --version')
    .exitOverride()
    .configureOutput({ writeOut: (text) => deps.stdout(text), writeErr: (text) => deps.stderr(text) })
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError('Add --help to see how it is used.');
  return withExample(root, 'hermes', 'hermes start', 'hermes chat -q "What is on my list?"');
}

function toGlobals(program: Command, deps: CliDeps): GlobalOptions {
  const { home, logLevel } = program.opts<{ home?: string; logLevel?: LogLevel }>();
  return { home: resolveHome(home, deps.env), logLevel };
}

/** Plugins are loaded only for a name that is not our own, and for the help of the whole program. */
async function addPluginCommands(program: Command, argv: string[], context: CliContext): Promise<void> {
  // A root of its own, because parsing leaves traces in it.
  const scout = createRoot(context.deps);
  const { operands, unknown } = scout.parseOptions(argv);
  const name = operands[0];
  const own = program.commands.map((command) => command.name());
  const isHelp = name === undefined ? unknown.some((word) => word === '--help' || word === '-h') : name === 'help';
  if (!isHelp && (name === undefined || own.includes(name))) return;
  const commands = await loadPluginCommands(toGlobals(scout, context.deps), isHelp, context);
  for (const command of commands) if (!own.includes(command.name)) addPluginCommand(program, command, context);
  if (isHelp || program.commands.some((command) => command.name() === name)) return;
  const guess = nearest(name ?? '', program.commands.map((command) => command.name()));
  throw new HermesError('USAGE', `There is no command ${name}; did you mean hermes ${guess}? (hermes --help shows all)`);
}

async function loadPluginCommands(globals: GlobalOptions, isHelp: boolean, context: CliContext) {
  try {
    return await context.deps.pluginCommands(globals);
  } catch (error) {
    if (!isHelp) throw error;
    // Help must be there even when the configuration is broken.
    context.deps.stderr(`Plugins' commands are not shown: ${toMessage(error)}\n`);
    return [];
  }
}

const exitCodes: Partial<Record<ErrorCode, number>> = { CONFIG_INVALID: 78, USAGE: 2 };

function toExitCode(error: unknown, deps: CliDeps): number {
  // Commander has printed it already; help and version are no errors.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  deps.stderr(`${toMessage(error)}\n`);
  return error instanceof HermesError ? (exitCodes[error.code] ?? 1) : 1;
}
