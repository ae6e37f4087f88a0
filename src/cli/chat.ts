/** `hermes` and `hermes chat`: a conversation in this terminal, or one question with -q. */
import { InvalidArgumentError, type Command } from 'commander';
import { HermesError } from '../contract/errors.ts';
import { withExample, withPluginOption, type CliContext } from './context.ts';
import type { ChatOptions } from './deps.ts';

interface ChatFlags {
  query?: string;
  toolsets?: string[];
  model?: string;
  resume?: string;
  continue?: boolean;
  plugin: string[];
  json?: boolean;
}

export function addChat(program: Command, context: CliContext): void {
  const chat = program
    .command('chat', { isDefault: true })
    .description('chat in the terminal (the default command)')
    .option('-q, --query <text>', 'one turn: the answer alone on stdout, exit 1 on failure')
    .option('-t, --toolsets <names>', 'toolsets instead of the terminal\'s own, separated by commas', toNames)
    .option('-m, --model <name>', 'model for this chat')
    .option('-r, --resume <id>', 'go on with this session')
    .option('-c, --continue', 'go on with the last session')
    .option('--json', 'with -q: print {text, session_id, turn_id, model, usage, status}');
  withPluginOption(chat).action(async (flags: ChatFlags) => {
    context.finish(await context.deps.runChat(toChatOptions(flags, context)));
  });
  withExample(chat, 'hermes', 'hermes chat -q "What is 2 to the power of 16?"', 'hermes chat --continue --toolsets core,web');
}

function toChatOptions(flags: ChatFlags, context: CliContext): ChatOptions {
  if (flags.query?.trim() === '') throw new HermesError('USAGE', '-q needs a text, e.g. hermes chat -q "What time is it in Lima?"');
  if (flags.json && flags.query === undefined) throw new HermesError('USAGE', '--json goes with -q alone');
  if (flags.resume !== undefined && flags.continue) throw new HermesError('USAGE', 'take either --resume ID or --continue');
  const { query, toolsets, model, resume } = flags;
  return {
    ...context.globals(),
    ...(query === undefined ? {} : { query }),
    ...(toolsets ? { toolsets } : {}),
    ...(model === undefined ? {} : { model }),
    ...(resume === undefined ? {} : { resume }),
    continue: flags.continue ?? false,
    pluginDirs: flags.plugin,
    json: flags.json ?? false,
  };
}

function toNames(list: string): string[] {
  const names = list.split(',').map((name) => name.trim()).filter(Boolean);
  if (names.length === 0) throw new InvalidArgumentError('It must be names separated by commas.');
  return names;
}
