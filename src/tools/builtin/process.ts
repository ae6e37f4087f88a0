/** Looks after background processes that terminal started. */
import type { Tool, ToolContext } from '../../contract/tool.ts';
import { sleep } from '../../lib/retry.ts';
import { answer } from '../answer.ts';
import { dangerOf } from '../danger.ts';
import type { BuiltinDeps } from '../discover.ts';
import { ownerPlatforms } from '../owner-platforms.ts';
import type { BackgroundProcess } from '../processes.ts';
import { cutStart } from '../result-text.ts';

const defaultWaitSeconds = 30;
const mostWaitSeconds = 300;
const tailChars = 2_000;

interface ProcessArgs {
  action: 'list' | 'poll' | 'log' | 'wait' | 'kill' | 'write';
  session_id?: string;
  data?: string;
  timeout?: number;
}

export default function processTool(deps: BuiltinDeps): Tool {
  return {
    name: 'process',
    toolset: 'terminal',
    emoji: '⚙️',
    timeoutMs: (mostWaitSeconds + 10) * 1000,
    schema: {
      name: 'process',
      description: 'Background processes: list them, poll the state and last output, log the whole output, wait for the end, kill, write to the input.',
      parameters: {
        type: 'object',
        properties: {
          action: { type: 'string', enum: ['list', 'poll', 'log', 'wait', 'kill', 'write'] },
          session_id: { type: 'string', description: 'From terminal or list' },
          data: { type: 'string', description: 'For write; end it with a newline' },
          timeout: { type: 'integer', minimum: 1, maximum: mostWaitSeconds, description: 'Seconds to wait' },
        },
        required: ['action'],
      },
    },
    needsApproval: (args, { platform }) => {
      if (args['action'] !== 'write') return null;
      return ownerPlatforms.has(platform) ? dangerOf(String(args['data'] ?? '')) : 'types into a program on the machine of the bot';
    },
    handler: (args, context) => answer(() => run(args as unknown as ProcessArgs, context, deps)),
  };
}

async function run({ action, session_id, data, timeout = defaultWaitSeconds }: ProcessArgs, { task_id, signal }: ToolContext, { processes }: BuiltinDeps) {
  if (action === 'list') return { processes: processes.list(task_id).map(toState) };
  const found = processes.get(task_id, session_id ?? '');
  if (!found) throw new Error(`No background process ${session_id ?? '(session_id is missing)'}; list shows those of this session.`);
  if (action === 'log') return { ...toState(found), output: found.shell.text() };
  if (action === 'write' && !found.shell.write(data ?? '')) throw new Error(`${found.id} has ended and takes no input.`);
  if (action === 'kill') {
    found.shell.stop();
    await found.shell.ended;
  }
  if (action === 'wait') {
    const over = new AbortController();
    await Promise.race([found.shell.ended, sleep(timeout * 1000, AbortSignal.any([signal, over.signal])).catch(() => undefined)]);
    over.abort();
  }
  return { ...toState(found), output: cutStart(found.shell.text(), tailChars) };
}

function toState({ id, command, startedAt, end }: BackgroundProcess): Record<string, unknown> {
  const state = end === null ? { status: 'running' } : { status: 'ended', exit_code: end.exitCode, ...(end.signal ? { signal: end.signal } : {}), ...(end.fault ? { error: end.fault } : {}) };
  return { session_id: id, command, seconds: Math.round((Date.now() - startedAt) / 1000), ...state };
}
