/**
 * One turn: a person's message in, an answer out.
 *
 *   gatherContext   pre_llm_call, once; kept by the journal with the message, so a resumed turn asks nobody again
 *   runSteps        ask the model -> no tool calls? done : journal the step, run its calls, add what was said meanwhile, again
 *   finishAnswer    transform_llm_output
 *   afterwards      post_llm_call (answered turns), on_session_end (every turn): called once the answer is committed
 *
 * The last assistant entry is not written here: the caller commits it together with the parts of the reply. Until then nothing is
 * promised, and a turn that dies is run again from its entries.
 */
import { HermesError, toMessage } from '../contract/errors.ts';
import type { ModelReply, ToolCall, Usage } from '../contract/model.ts';
import type { AssistantEntry, Entry, UserEntry } from '../contract/transcript.ts';
import { createAskModel, type AskModel, type Asking } from './ask-model.ts';
import * as faults from './fault-texts.ts';
import { assertHistory, fillUser, joinUsers, repairCalls, repairHistory, toHistoryMessages } from './history.ts';
import { createLoopGuard } from './loop-guard.ts';
import { runCalls, type CallSurroundings } from './tool-call.ts';
import type { TurnInput, TurnResult } from './turn-input.ts';
import { cutHead, isVisible } from './visible.ts';

export type { ApprovalRequest, TurnInput, TurnLimits, TurnResult, TurnTools } from './turn-input.ts';

const contextChars = 10_000;
const maxInvalidSteps = 3;

/** How the steps ended. */
type End = { status: 'answered'; text: string } | ({ status: 'failed' | 'aborted' } & faults.Fault);

/** A turn while it runs. */
interface Turn extends Asking, CallSurroundings {
  turnEntries: Entry[];
  /** Resolves once the turn is written down; null until that was asked for. Whatever is written after it is committed with it or later. */
  begun: Promise<void> | null;
  steps: number;
  /** Who answered last. */
  model: string;
}

/**
 * A fault inside becomes a failed turn with a fixed sentence, and goes to the log with its reference. Rejects only when the turn is
 * not over: STORE_UNAVAILABLE (it could not be written down) and TURN_INTERRUPTED (the program stops). It goes on later from its entries.
 */
export async function runTurn(input: TurnInput): Promise<TurnResult> {
  const limit = startTimeLimit(input);
  const turn = openTurn(input, limit.signal);
  input.emit({ type: 'started', turnId: input.turnId, sessionId: input.sessionId, model: input.model.id });
  let end: End;
  try {
    if (!input.resume) {
      turn.context = await gatherContext(turn);
      // What hooks did must not be done twice. Without them a death before the commit loses nothing: the model is asked meanwhile.
      await begin(turn, input.hooks.has('pre_llm_call') || (input.isFirstTurn && input.hooks.has('on_session_start')));
    }
    turn.images = await loadImages(input);
    end = await runSteps(turn, createAskModel(turn));
    if (end.status === 'answered') end = { status: 'answered', text: await finishAnswer(end.text, input) };
  } catch (thrown) {
    const code = thrown instanceof HermesError ? thrown.code : 'TURN_FAILED';
    if (code === 'STORE_UNAVAILABLE' || code === 'TURN_INTERRUPTED') throw thrown;
    input.log.error('turn failed inside', { ref: faults.toReference(input.turnId), code, error: toMessage(thrown) });
    end = fail(faults.toInternalFault(code, input.turnId));
  } finally {
    limit.clear();
  }
  await begin(turn, false);
  return endTurn(turn, end);
}

/** Once for each turn. */
async function begin(turn: Turn, isUrgent: boolean): Promise<void> {
  if (turn.begun) return;
  turn.begun = turn.input.journal.begin(turn.user, turn.context, isUrgent);
  turn.begun.catch(() => {});
  if (isUrgent) await turn.begun;
}

/** The caller's signal and the time limit as one signal. `clear` leaves no timer and no listener behind. */
function startTimeLimit({ signal, limits }: TurnInput): { signal: AbortSignal; clear(): void } {
  const controller = new AbortController();
  const stop = () => controller.abort(signal.reason);
  const timer = setTimeout(() => controller.abort(new HermesError('TURN_TIMEOUT', 'The turn took longer than agent.turn_timeout_s.')), limits.timeoutMs);
  if (signal.aborted) stop();
  else signal.addEventListener('abort', stop, { once: true });
  return {
    signal: controller.signal,
    clear() {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
    },
  };
}

function openTurn(input: TurnInput, signal: AbortSignal): Turn {
  const { entries: history, repairs } = repairHistory(input.history);
  if (repairs.length > 0) input.log.warn('history repaired', { repairs: repairs.slice(0, 10), count: repairs.length });
  const turnEntries = [...(input.resume?.entries ?? [])];
  const usage: Usage = { input: 0, output: 0, cached: 0, requests: 0 };
  return {
    input,
    user: fillUser(input.user),
    signal,
    guard: createLoopGuard(),
    history,
    turnEntries,
    begun: input.resume ? Promise.resolve() : null,
    context: input.resume?.context ?? '',
    images: [],
    usage,
    steps: turnEntries.filter((entry) => entry.role === 'assistant').length,
    model: input.model.id,
  };
}

/** The history that hooks get ends with this turn's message, as everywhere in the system that this one is modelled on. */
async function gatherContext({ input, history, user }: Turn): Promise<string> {
  if (!input.hooks.has('pre_llm_call')) return '';
  const answers = await input.hooks.fire('pre_llm_call', {
    user_message: user.text,
    conversation_history: toHistoryMessages([...history, user]),
    is_first_turn: input.isFirstTurn,
    model: input.model.id,
    sender_id: input.senderId,
    ...toIds(input),
  });
  const texts = answers.flatMap(({ value }) => {
    const text = typeof value === 'object' && value !== null ? (value as Record<string, unknown>).context : value;
    return typeof text === 'string' && isVisible(text) ? [cutHead(text, contextChars)] : [];
  });
  return texts.join('\n\n');
}

async function loadImages(input: TurnInput): Promise<Asking['images']> {
  if (!input.user.media?.some((file) => file.kind === 'image')) return [];
  try {
    return await input.loadImages(input.user);
  } catch (thrown) {
    input.log.warn('photos could not be loaded', { error: toMessage(thrown) });
    return [];
  }
}

async function runSteps(turn: Turn, askModel: AskModel): Promise<End> {
  const { input, signal, turnEntries } = turn;
  let emptyAnswers = 0;
  let invalidSteps = 0;
  if (input.resume) await finishOpenStep(turn);

  for (;;) {
    if (signal.aborted) return abort(turn);
    assertHistory([turn.user, ...turnEntries], { open: true });
    const last = turn.steps >= input.limits.maxSteps;
    const reply = await askModel(last);
    if ('refused' in reply) return fail({ code: 'BUDGET_EXCEEDED', text: reply.refused });
    if (!reply.ok) return failReply(reply, turn);
    turn.steps++;
    noteModel(reply.model, turn);

    if (last || reply.toolCalls.length === 0) {
      if (isVisible(reply.text)) return { status: 'answered', text: toAnswer(reply) };
      if (reply.finish === 'content_filter') return fail(faults.toRefusalFault(input.turnId));
      if (emptyAnswers++ > 0) return fail(last ? faults.toLoopFault('all steps of this turn are used up without an answer') : faults.toEmptyAnswerFault(input.turnId));
      input.emit({ type: 'retract' });
      continue;
    }
    const { allInvalid } = await takeStep(reply, turn);
    invalidSteps = allInvalid ? invalidSteps + 1 : 0;
    if (turn.guard.stopped) return fail(faults.toLoopFault('the same tool call kept giving the same result'));
    if (invalidSteps >= maxInvalidSteps) return fail(faults.toLoopFault('three tool calls in a row had arguments that cannot be used'));
    await addSteering(turn);
  }
}

/** A step that a dead process left behind: its results are kept, the rest is run or marked. */
async function finishOpenStep(turn: Turn): Promise<void> {
  const { turnEntries } = turn;
  const at = turnEntries.findLastIndex((entry) => entry.role === 'assistant' && entry.toolCalls.length > 0);
  const step = turnEntries[at];
  if (step?.role !== 'assistant') return;
  const behind = turnEntries.slice(at + 1);
  const earlier = new Map(behind.flatMap((entry) => (entry.role === 'tool' ? [[entry.toolCallId, entry] as const] : [])));
  const steering = behind.filter((entry) => entry.role === 'user');
  // Calls that ran side by side were written in the order they began; repair puts the results of older steps into call order.
  const before = repairHistory([turn.user, ...turnEntries.slice(0, at)]).entries.slice(1, -1);
  const { entries } = await runCalls(step.toolCalls, earlier, turn);
  turnEntries.splice(0, Infinity, ...before, step, ...entries, ...steering);
  if (steering.length === 0) await addSteering(turn);
}

async function takeStep(reply: Extract<ModelReply, { ok: true }>, turn: Turn): Promise<{ allInvalid: boolean }> {
  const { input, turnEntries } = turn;
  const text = isVisible(reply.text) ? reply.text.trim() : '';
  if (text) input.emit({ type: 'segment', text });
  const step: AssistantEntry = { role: 'assistant', turnId: input.turnId, text, toolCalls: toOwnCalls(reply.toolCalls, turnEntries) };
  // Both are asked for in one tick; no tool runs before both are there.
  await Promise.all([turn.begun, input.journal.step(step)]);
  const { entries, allInvalid } = await runCalls(step.toolCalls, new Map(), turn);
  turnEntries.push(step, ...entries);
  return { allInvalid };
}

/** Ids become unique within the turn (some providers count from 0 in each answer), and a name that no tool can have never runs. */
function toOwnCalls(calls: ToolCall[], before: readonly Entry[]): ToolCall[] {
  const used = new Set(before.flatMap((entry) => (entry.role === 'tool' ? [entry.toolCallId] : [])));
  return repairCalls(calls).map((call, position) => {
    const asked = calls[position]?.name ?? '';
    let id = call.id;
    for (let copy = 2; used.has(id); copy++) id = `${call.id}_${copy}`;
    used.add(id);
    const invalid = call.name === asked ? call.invalid : `Unknown tool: ${asked.slice(0, 64)}`;
    return { ...call, id, ...(invalid !== undefined && { invalid }) };
  });
}

async function addSteering({ input, signal, turnEntries }: Turn): Promise<void> {
  if (signal.aborted) return;
  const [first, ...more] = input.steering();
  if (!first) return;
  const entry: UserEntry = { ...joinUsers([first, ...more]), turnId: input.turnId };
  await input.journal.steered(entry);
  turnEntries.push(entry);
}

function noteModel(model: string, turn: Turn): void {
  if (model !== turn.model && model !== turn.input.model.id) turn.input.emit({ type: 'notice', text: `Answered by ${model}.` });
  turn.model = model;
}

function toAnswer(reply: Extract<ModelReply, { ok: true }>): string {
  const text = reply.text.trim();
  return reply.finish === 'length' ? `${text}\n\n${faults.lengthNote}` : text;
}

function failReply(reply: Extract<ModelReply, { ok: false }>, turn: Turn): End {
  const { turnId, log } = turn.input;
  if (turn.signal.aborted || reply.failure === 'aborted') return abort(turn);
  log.warn('model call failed', { ref: faults.toReference(turnId), failure: reply.failure, status: reply.status, detail: reply.detail });
  return fail(isVisible(reply.partialText) ? faults.toCutFault(reply.partialText) : faults.toModelFault(reply.failure, turnId));
}

function fail(fault: faults.Fault): End {
  return { status: 'failed', ...fault };
}

function abort({ input, signal }: Turn): End {
  const late = signal.reason instanceof HermesError && signal.reason.code === 'TURN_TIMEOUT';
  return { status: 'aborted', ...(late ? faults.toTimeoutFault(input.limits.timeoutMs) : faults.stopped) };
}

async function finishAnswer(text: string, input: TurnInput): Promise<string> {
  if (!input.hooks.has('transform_llm_output')) return text;
  const answers = await input.hooks.fire('transform_llm_output', { response_text: text, model: input.model.id, ...toIds(input) });
  const replacement = answers.find(({ value }) => typeof value === 'string' && isVisible(value));
  return replacement ? (replacement.value as string) : text;
}

function endTurn(turn: Turn, end: End): TurnResult {
  const { input, user, history, turnEntries, usage, steps, model } = turn;
  const { hooks } = input;
  const answer: AssistantEntry = { role: 'assistant', turnId: input.turnId, text: end.text, toolCalls: [] };
  const entries: Entry[] = [user, ...turnEntries, answer];
  const afterwards = async () => {
    if (end.status === 'answered' && hooks.has('post_llm_call'))
      await hooks.fire('post_llm_call', {
        user_message: user.text,
        assistant_response: end.text,
        conversation_history: toHistoryMessages([...history, ...entries]),
        model: input.model.id,
        ...toIds(input),
      });
    if (hooks.has('on_session_end'))
      await hooks.fire('on_session_end', {
        completed: end.status === 'answered',
        interrupted: end.status === 'aborted',
        model: input.model.id,
        ...toIds(input),
      });
  };
  const result = { status: end.status, text: end.text, usage, steps, model, entries, userMessage: user.text, afterwards };
  return end.status === 'answered' ? result : { ...result, code: end.code };
}

function toIds({ sessionId, turnId, platform }: TurnInput) {
  return { session_id: sessionId, turn_id: turnId, platform };
}
