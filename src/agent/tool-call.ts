/**
 * One step's tool calls, from what the model asked for to the results that go back to it:
 *
 *   prepareCall  arguments are an object -> tool exists -> platform may run it -> schema -> pre_tool_call -> schema -> consent
 *   runCall      journal: started -> the agent's own tool, or the registry
 *   finishCall   post_tool_call -> transform_tool_result -> redact -> loop guard -> cap -> journal: result
 *
 * Every call gets exactly one result, whatever becomes of it; a history without one is refused by the provider. Nothing here
 * throws but the journal.
 */
import { performance } from 'node:perf_hooks';
import { toMessage } from '../contract/errors.ts';
import type { ToolCall } from '../contract/model.ts';
import type { Tool, ToolArgs, ToolContext } from '../contract/tool.ts';
import type { ToolEntry } from '../contract/transcript.ts';
import { interruptedResult, noOutput } from './history.ts';
import type { LoopGuard } from './loop-guard.ts';
import type { TurnInput } from './turn-input.ts';
import { isVisible } from './visible.ts';

const sideBySide = 4;

/** What the calls of a turn share. */
export interface CallSurroundings {
  input: TurnInput;
  /** Aborted by /stop and by the turn's time limit. */
  signal: AbortSignal;
  guard: LoopGuard;
}

export interface StepResult {
  /** One per call, in call order. */
  entries: ToolEntry[];
  /** No call of the step had arguments that could be used. */
  allInvalid: boolean;
}

interface Outcome {
  text: string;
  status: 'ok' | 'error' | 'blocked';
  invalid?: boolean;
}

interface FinishedCall {
  entry: ToolEntry;
  invalid: boolean;
}

/**
 * `earlier` holds the entries that an interrupted run of this step left behind, by call id: results are kept, a call that was
 * running is run again only if its tool says so, the others run as if for the first time.
 */
export async function runCalls(calls: readonly ToolCall[], earlier: ReadonlyMap<string, ToolEntry>, around: CallSurroundings): Promise<StepResult> {
  const together = calls.every((call) => around.input.tools.get(call.name)?.parallel === true);
  const finished: FinishedCall[] = [];
  let next = 0;
  const work = async () => {
    for (let i = next++; i < calls.length; i = next++) {
      const call = calls[i] as ToolCall;
      finished[i] = await takeCall(call, earlier.get(call.id), around);
    }
  };
  // All settle before a fault of the journal goes up, so that no call outlives its turn.
  const workers = await Promise.allSettled(Array.from({ length: together ? Math.min(sideBySide, calls.length) : 1 }, work));
  for (const worker of workers) if (worker.status === 'rejected') throw worker.reason;
  return { entries: finished.map((call) => call.entry), allInvalid: finished.every((call) => call.invalid) };
}

async function takeCall(call: ToolCall, before: ToolEntry | undefined, around: CallSurroundings): Promise<FinishedCall> {
  const { input, signal } = around;
  if (before && before.text !== null) return { entry: before, invalid: false };
  const tool = input.tools.get(call.name);
  if (before && !tool?.idempotent) return finishCall(call, call.args, tool, { text: interruptedResult, status: 'error' }, 0, around);
  if (signal.aborted) return leaveCall(call, around);

  const prepared = await prepareCall(call, tool, around);
  const args = prepared.args;
  if (signal.aborted) return leaveCall(call, around);
  input.emit({ type: 'tool_started', toolCallId: call.id, name: call.name, args, emoji: tool?.emoji ?? '' });
  if (prepared.refused) return finishCall(call, args, tool, prepared.refused, 0, around);

  if (!before) await input.journal.toolStarted({ role: 'tool', turnId: input.turnId, toolCallId: call.id, name: call.name, text: null });
  const startedAt = performance.now();
  const outcome = await runCall(call, args, around);
  return finishCall(call, args, tool, outcome, performance.now() - startedAt, around);
}

async function prepareCall(call: ToolCall, tool: Tool | undefined, around: CallSurroundings): Promise<{ args: ToolArgs; refused?: Outcome }> {
  const { input } = around;
  if (call.invalid !== undefined) return { args: call.args, refused: { ...failed(call.invalid), invalid: true } };
  if (!tool) return { args: call.args, refused: failed(`Unknown tool: ${call.name}`) };
  const refusal = input.tools.refusal(call.name);
  if (refusal !== null) {
    input.log.warn('tool refused', { tool: call.name, platform: input.platform });
    return { args: call.args, refused: { text: refusal, status: 'blocked' } };
  }
  const wrong = input.tools.validate(tool, call.args);
  if (wrong !== null) return { args: call.args, refused: { ...failed(wrong), invalid: true } };

  const verdict = await askHooks(call, input);
  if ('block' in verdict) return { args: call.args, refused: blocked(verdict.block) };
  const args = verdict.args;
  if (args !== call.args) {
    const stillWrong = input.tools.validate(tool, args);
    if (stillWrong !== null) return { args, refused: failed(`A plugin changed the arguments and they no longer fit: ${stillWrong}`) };
  }
  const denial = await askConsent(call, args, tool, around);
  return denial === null ? { args } : { args, refused: blocked(denial) };
}

async function askHooks(call: ToolCall, input: TurnInput): Promise<{ block: string } | { args: ToolArgs }> {
  if (!input.hooks.has('pre_tool_call')) return { args: call.args };
  const answers = await input.hooks.fire('pre_tool_call', { tool_name: call.name, args: call.args, ...toolIds(call, input) });
  let args = call.args;
  let block: string | null = null;
  for (const { plugin, value, failedClosed } of answers) {
    const { action, message, args: changed } = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;
    if (failedClosed !== undefined) block ??= failedClosed;
    else if (action === 'block') block ??= typeof message === 'string' && message ? message : `Blocked by the plugin ${plugin}.`;
    else if (action === 'modify' && typeof changed === 'object' && changed !== null) {
      const plain = toPlain(changed);
      if (plain) args = { ...args, ...plain };
      else block ??= `The plugin ${plugin} changed the arguments into something that is no JSON.`;
    }
  }
  return block === null ? { args } : { block };
}

/** A plugin's object as JSON would carry it, or null when JSON cannot. */
function toPlain(value: object): ToolArgs | null {
  try {
    return JSON.parse(JSON.stringify(value)) as ToolArgs;
  } catch {
    return null;
  }
}

/** Why the call may not run, or null. Whatever goes wrong on the way to a yes is a no. */
async function askConsent(call: ToolCall, args: ToolArgs, tool: Tool, { input, signal }: CallSurroundings): Promise<string | null> {
  if (!tool.needsApproval) return null;
  let reason: string | null;
  try {
    reason = tool.needsApproval(args, { platform: input.platform, home: input.home });
  } catch (thrown) {
    input.log.error('approval check failed', { tool: call.name, error: toMessage(thrown) });
    return 'The check whether this call needs consent failed, so it was not run.';
  }
  if (reason === null) return null;
  try {
    const answer = await untilAborted(input.approve({ toolCallId: call.id, name: call.name, args, reason }), signal);
    if (answer === aborted) return 'Not run: the turn was stopped before anybody consented.';
    return answer.allow ? null : answer.message;
  } catch (thrown) {
    input.log.error('asking for consent failed', { tool: call.name, error: toMessage(thrown) });
    return 'Nobody could be asked for consent, so it was not run.';
  }
}

async function runCall(call: ToolCall, args: ToolArgs, { input, signal }: CallSurroundings): Promise<Outcome> {
  const context: ToolContext = {
    task_id: input.taskId,
    session_id: input.sessionId,
    turn_id: input.turnId,
    tool_call_id: call.id,
    platform: input.platform,
    signal,
    log: input.log,
    home: input.home,
  };
  const own = input.agentTools.get(call.name);
  try {
    const text = await untilAborted(own ? own(args, context) : input.tools.dispatch(call.name, args, context), signal);
    if (text === aborted) return failed('aborted; outcome unknown');
    return { text, status: isErrorResult(text) ? 'error' : 'ok' };
  } catch (thrown) {
    return failed(`Tool execution failed: ${toMessage(thrown).slice(0, 2048)}`);
  }
}

async function finishCall(call: ToolCall, args: ToolArgs, tool: Tool | undefined, outcome: Outcome, durationMs: number, around: CallSurroundings): Promise<FinishedCall> {
  const { input, guard } = around;
  const { hooks } = input;
  const { status } = outcome;
  const duration = Math.round(durationMs);
  let text = outcome.text;
  const done = () => ({ tool_name: call.name, args, result: outcome.text, duration_ms: duration, status, ...toolIds(call, input) });
  if (hooks.has('post_tool_call')) await hooks.fire('post_tool_call', done());
  if (hooks.has('transform_tool_result')) {
    const answers = await hooks.fire('transform_tool_result', done());
    const replacement = answers.find(({ value }) => typeof value === 'string');
    if (replacement) text = replacement.value as string;
  }
  text = input.redact(text);
  const warning = guard.note(call, text);
  if (tool) text = await input.tools.capResult(tool, text);
  if (!isVisible(text)) text = noOutput;

  const entry: ToolEntry = { role: 'tool', turnId: input.turnId, toolCallId: call.id, name: call.name, text: text + warning };
  await input.journal.toolResult(entry);
  input.emit({ type: 'tool_finished', toolCallId: call.id, name: call.name, status, durationMs: duration });
  return { entry, invalid: outcome.invalid === true };
}

/** A call that never began because the turn was stopped. No hook hears of it: nothing has happened. */
async function leaveCall(call: ToolCall, { input }: CallSurroundings): Promise<FinishedCall> {
  const entry: ToolEntry = { role: 'tool', turnId: input.turnId, toolCallId: call.id, name: call.name, text: failed('aborted; not run').text };
  await input.journal.toolResult(entry);
  return { entry, invalid: false };
}

function toolIds(call: ToolCall, input: TurnInput) {
  return { task_id: input.taskId, tool_call_id: call.id, session_id: input.sessionId, turn_id: input.turnId, platform: input.platform };
}

function failed(message: string): Outcome {
  return { text: JSON.stringify({ error: message }), status: 'error' };
}

function blocked(message: string): Outcome {
  return { text: JSON.stringify({ error: message }), status: 'blocked' };
}

/** Errors are `{"error": ...}` by the tool contract; the first key tells, so that long results need not be parsed. */
function isErrorResult(text: string): boolean {
  return /^\s*\{\s*"error"\s*:(?!\s*null)/.test(text);
}

const aborted = Symbol('aborted');

/** The work's result, or `aborted` as soon as the signal fires, even if the work does not listen to it. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | typeof aborted> {
  return new Promise((resolve, reject) => {
    const stop = () => resolve(aborted);
    const settle = (then: () => void) => {
      signal.removeEventListener('abort', stop);
      then();
    };
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    work.then(
      (value) => settle(() => resolve(value)),
      (thrown: unknown) => settle(() => reject(thrown as Error)),
    );
  });
}
