/**
 * The commands that every chat has. Control commands run beside a running turn; the others wait for their place in the session's
 * lane, like any message. Each returns its reply; none knows a platform.
 */
import type { PluginCommand, PluginFacts } from '../contract/plugin.ts';
import { toMessage } from '../contract/errors.ts';
import { toPluginLines } from '../lib/plugin-lines.ts';
import type { Store } from '../store/store.ts';
import { approvalChoice } from './approvals.ts';
import { findCommand, type Command, type CommandCall, type CommandResult } from './command.ts';
import { sessionCommands, type SessionCommandDeps } from './session-commands.ts';
import type { Questions } from './questions.ts';
import type { RunningTurns, StopReason } from './running-turns.ts';

export interface CommandDeps extends SessionCommandDeps {
  store: Store;
  running: RunningTurns;
  questions: Questions;
  pluginFacts(): PluginFacts[];
  pluginCommands(): PluginCommand[];
  /** Toolset -> tool names offered to this message. */
  toolsOf(call: CommandCall): Promise<ReadonlyMap<string, string[]>>;
  skills(): { name: string; description: string }[];
  memory(): Promise<string>;
  /** What /status adds about the program: version, adapters. */
  health(): string[];
  setHome(call: CommandCall): Promise<void>;
  now(): number;
}

/** How long a stopped turn may take to end before the command goes on without it, ms. A hook cannot be interrupted. */
const stopMs = 800;

export function createCommands(deps: CommandDeps): { list(): Command[]; run(call: CommandCall): Promise<CommandResult>; isControl(name: string): boolean } {
  const own: Command[] = [...controlCommands(deps), ...sessionCommands(deps, (call, reason) => stopTurn(deps, call, reason)), ...infoCommands(deps, () => list())];
  const list = (): Command[] => [...own, ...deps.pluginCommands().map((command) => toCommand(command))];

  const run = async (call: CommandCall): Promise<CommandResult> => {
    const command = findCommand(list(), call.name);
    if (command) {
      const result = await command.run(call);
      return typeof result === 'string' ? { plain: result } : result;
    }
    const skill = findCommand(deps.skills(), call.name);
    if (skill) return { run: `Use the skill ${skill.name}: read it with skill_view and follow it.${call.args ? `\n\n${call.args}` : ''}` };
    return { plain: `Unknown command: /${call.name}. /help lists what there is.` };
  };
  return { list, run, isControl: (name) => findCommand(own, name)?.isControl ?? false };
}

async function stopTurn({ running, questions }: CommandDeps, call: CommandCall, reason: StopReason): Promise<'none' | 'ended' | 'ending'> {
  const { platform, chat, thread } = call.message.address;
  const turn = running.get(call.lane) ?? (reason === 'stop' ? running.inChat(platform, chat, thread) : undefined);
  if (!turn) return 'none';
  turn.abort(reason);
  questions.cancel(turn.lane);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'ending'>((resolve) => {
    timer = setTimeout(() => resolve('ending'), stopMs);
  });
  const outcome = await Promise.race([turn.done.then(() => 'ended' as const), late]);
  clearTimeout(timer);
  return outcome;
}

function controlCommands(deps: CommandDeps): Command[] {
  const { store, running, questions, now } = deps;
  return [
    {
      name: 'stop',
      description: 'Stop what is running in this chat',
      isControl: true,
      async run(call) {
        const stopped = await stopTurn(deps, call, 'stop');
        return stopped === 'none' ? 'Nothing is running here.' : stopped === 'ended' ? 'Stopped.' : 'Stopping; what it is doing ends in a moment.';
      },
    },
    {
      name: 'approve',
      description: 'Allow what the agent asks for: once, "session" or "always"',
      isControl: true,
      run({ lane, message, args }) {
        const scope = args.toLowerCase() || 'once';
        if (scope !== 'once' && scope !== 'session' && scope !== 'always') return 'Say /approve, /approve session or /approve always.';
        return questions.answerApproval(lane, message.sender.id, approvalChoice[scope]) ? null : 'Nothing of yours waits for consent here.';
      },
    },
    {
      name: 'deny',
      description: 'Refuse what the agent asks for',
      isControl: true,
      run: ({ lane, message }) =>
        questions.answerApproval(lane, message.sender.id, approvalChoice.deny) ? null : 'Nothing of yours waits for consent here.',
    },
    { name: 'queue', aliases: ['q'], description: 'Answer TEXT after what is running: /queue TEXT', isControl: true, run: () => 'Say /queue and a text.' },
    { name: 'steer', description: 'Tell the running turn something: /steer TEXT', isControl: true, run: () => 'Say /steer and a text.' },
    {
      name: 'status',
      description: 'What is running and waiting here',
      isControl: true,
      run({ lane, session }) {
        const turn = running.get(lane);
        const waiting = store.inbox.waiting(lane);
        const counts = store.outbox.counts();
        return [
          session ? `Session ${session.id}${session.title ? `, "${session.title}"` : ''}: ${session.turns} turns` : 'No session yet: the next message starts one.',
          turn ? `Running for ${Math.round((now() - turn.startedAt) / 1000)} s` : 'Idle',
          `${waiting} messages waiting`,
          `Deliveries: ${counts['sent'] ?? 0} sent, ${counts['resent'] ?? 0} sent again, ${counts['waiting'] ?? 0} waiting, ${counts['unknown'] ?? 0} unknown, ${counts['dead'] ?? 0} failed`,
          ...deps.health(),
        ].join('\n');
      },
    },
  ];
}

function infoCommands(deps: CommandDeps, list: () => Command[]): Command[] {
  return [
    {
      name: 'help',
      aliases: ['start'],
      description: 'List the commands',
      run: () => [...list().map(({ name, description }) => `/${name} - ${description}`), ...deps.skills().map(({ name, description }) => `/${name} - ${description}`)].join('\n'),
    },
    { name: 'plugins', description: 'List the plugins', run: () => toPluginLines(deps.pluginFacts()).join('\n') },
    {
      name: 'tools',
      description: 'List the tools that the agent has here',
      async run(call) {
        const toolsets = [...(await deps.toolsOf(call))];
        return toolsets.length === 0 ? 'No tools here.' : toolsets.map(([toolset, names]) => `${toolset}: ${names.join(', ')}`).join('\n');
      },
    },
    {
      name: 'skills',
      description: 'List the skills',
      run: () => deps.skills().map(({ name, description }) => `/${name} - ${description}`).join('\n') || 'No skills are installed.',
    },
    { name: 'memory', description: 'Show what is remembered', run: async () => (await deps.memory()) || 'Nothing is remembered yet.' },
    {
      name: 'whoami',
      description: 'Show your id and this chat\'s',
      run: ({ message: { sender, address, chatType } }) =>
        `You are ${sender.name} (id ${sender.id}) in ${chatType} ${address.chat}${address.thread ? `, thread ${address.thread}` : ''} on ${address.platform}.`,
    },
    {
      name: 'sethome',
      description: 'Send notices and scheduled results to this chat',
      async run(call) {
        await deps.setHome(call);
        return 'This chat is home now: notices and scheduled results come here.';
      },
    },
  ];
}

function toCommand({ name, description, handler }: PluginCommand): Command {
  return {
    name,
    description,
    async run({ args, message, session }) {
      const { address, chatType, sender } = message;
      try {
        const reply = await handler(args, {
          platform: address.platform,
          session_id: session?.id ?? null,
          sender: { id: sender.id, name: sender.name },
          chat: { id: address.chat, type: chatType, thread: address.thread ?? null },
        });
        if (reply === undefined || reply === null || reply === '') return null;
        return { markdown: typeof reply === 'string' ? reply : JSON.stringify(reply) };
      } catch (thrown) {
        return `/${name} failed: ${toMessage(thrown)}`;
      }
    },
  };
}
