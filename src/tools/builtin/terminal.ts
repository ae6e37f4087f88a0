/** Runs a shell command in the workspace, to its end or in the background. */
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Tool, ToolContext } from '../../contract/tool.ts';
import { answer } from '../answer.ts';
import { dangerOf } from '../danger.ts';
import type { BuiltinDeps } from '../discover.ts';
import { ownerPlatforms } from '../owner-platforms.ts';
import { startShell, toChildEnv, type ShellEnd } from '../shell.ts';

const defaultSeconds = 120;
/** Below the registry's own limit, so that the output so far is not lost with the call. */
const mostSeconds = 590;
/** What coreutils' timeout answers. */
const timedOutCode = 124;

interface TerminalArgs {
  command: string;
  timeout?: number;
  workdir?: string;
  background?: boolean;
}

export default function terminalTool(deps: BuiltinDeps): Tool {
  return {
    name: 'terminal',
    toolset: 'terminal',
    emoji: '💻',
    timeoutMs: 600_000,
    schema: {
      name: 'terminal',
      description: 'Run a shell command. It gets no keyboard input. Use background for servers and long jobs, and look after them with process.',
      parameters: {
        type: 'object',
        properties: {
          command: { type: 'string', minLength: 1 },
          timeout: { type: 'integer', minimum: 1, maximum: mostSeconds, description: `Seconds, default ${defaultSeconds}` },
          workdir: { type: 'string', description: 'Default the workspace' },
          background: { type: 'boolean' },
        },
        required: ['command'],
      },
    },
    needsApproval: (args, { platform }) => {
      const command = String(args['command']);
      return ownerPlatforms.has(platform) ? dangerOf(command) : 'runs a command on the machine of the bot';
    },
    handler: (args, context) => answer(() => run(args as unknown as TerminalArgs, context, deps)),
  };
}

async function run({ command, timeout = defaultSeconds, workdir, background }: TerminalArgs, { task_id, signal }: ToolContext, deps: BuiltinDeps) {
  if (command.includes('\0')) throw new Error('The command holds a NUL character.');
  const cwd = resolve(deps.workspace, workdir ?? '.');
  if (!(await stat(cwd).then((found) => found.isDirectory(), () => false))) throw new Error(`The working folder ${workdir ?? cwd} does not exist.`);
  const options = { command, cwd, env: toChildEnv(deps.env) };

  if (background) {
    const started = deps.processes.start(task_id, options);
    if (!started) throw new Error('Too many background processes are running; end one with process first.');
    return { session_id: started.id, status: 'running' };
  }

  const shell = startShell({ ...options, input: false });
  signal.addEventListener('abort', shell.stop, { once: true });
  if (signal.aborted) shell.stop();
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    shell.stop();
  }, timeout * 1000);
  const end = await shell.ended;
  clearTimeout(timer);
  signal.removeEventListener('abort', shell.stop);
  if (end.fault) throw new Error(`The shell cannot be started: ${end.fault}`);
  return toResult(shell.text(), end, timedOut ? timeout : null);
}

function toResult(output: string, { exitCode, signal, flooded, leftBehind }: ShellEnd, timedOutAfter: number | null): Record<string, unknown> {
  if (timedOutAfter !== null) return { output, exit_code: timedOutCode, error: `The command was ended after ${timedOutAfter} s.` };
  if (flooded) return { output, exit_code: exitCode, error: 'The command was ended: it produced more than 50 MB of output.' };
  return {
    output,
    exit_code: exitCode,
    ...(signal ? { signal } : {}),
    ...(leftBehind ? { note: 'Background children were still running and were ended; use background: true to keep one.' } : {}),
  };
}
