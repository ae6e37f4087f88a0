/**
 * One message through the agent: open the session, gather what the turn needs, run it with the transcript as its journal, commit
 * its end. A turn that a former process began is taken up where its entries end.
 *
 * open session -> on_session_start -> tools, system prompt, history, files -> runTurn() -> commitTurn() -> drain -> afterwards
 */
import { readFile } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { toSummaryEntries } from '../agent/compact.ts';
import { runTurn } from '../agent/turn.ts';
import type { TurnResult, TurnTools } from '../agent/turn-input.ts';
import type { Adapter } from '../contract/adapter.ts';
import { HermesError } from '../contract/errors.ts';
import type { Log } from '../contract/log.ts';
import type { Button, InboundMessage } from '../contract/message.ts';
import type { Model, Usage } from '../contract/model.ts';
import type { Hooks } from '../contract/plugin.ts';
import type { AgentTool } from '../contract/tool.ts';
import type { Entry, UserEntry } from '../contract/transcript.ts';
import type { TurnEvent, TurnOutcome } from '../contract/turn.ts';
import type { Session } from '../store/sessions.ts';
import type { Store } from '../store/store.ts';
import type { ApprovalRequest, Consent } from './approvals.ts';
import type { Delivery } from './delivery.ts';
import type { Gates } from './gates.ts';
import type { Claimed } from './lanes.ts';
import { createLiveReply, noReply, type LiveReply, type ToolProgress } from './live-reply.ts';
import type { Media } from './media.ts';
import type { Observers } from './observers.ts';
import type { OpenFor } from './open-session.ts';
import type { OutgoingFiles } from './outgoing-files.ts';
import { createProgressReactions } from './progress-reactions.ts';
import type { Answer, Question } from './questions.ts';
import type { RunningTurn, RunningTurns, StopReason } from './running-turns.ts';
import { createTurnJournal } from './turn-journal.ts';
import { keepTyping } from './typing.ts';
import { toUserEntry } from './user-entry.ts';

export type RunAgentTurn = (rows: Claimed, message: InboundMessage) => Promise<void>;

/** What main gives the gateway to run turns with. */
export interface AgentSetup {
  /** Throws HermesError CONFIG_INVALID for a name that cannot be used. */
  modelOf(name: string | null): Model;
  toolsOf(message: InboundMessage, session: Session): Promise<TurnTools>;
  /** Tools that need this turn's own state; `ask` is absent where nobody can answer. */
  agentTools(turn: { session: Session; history: readonly Entry[]; ask?: (question: string, choices: string[], signal: AbortSignal) => Promise<string | null> }): ReadonlyMap<string, AgentTool>;
  systemPrompt(message: InboundMessage, session: Session, toolNames: string[]): Promise<string>;
}

export interface AgentTurnSettings {
  maxSteps: number;
  timeoutMs: number;
  /** Tokens in and out, asked before each call; null is without limit. */
  turnTokens: number | null;
  bufferChars: number;
  /** Per platform: may previews be shown in direct chats / groups, and which parts quote the question. */
  streaming(platform: string): { dm: boolean; group: boolean };
  toolProgress(platform: string): ToolProgress;
  replyTo(platform: string): 'off' | 'first' | 'all';
  reactions(platform: string): boolean;
  askTimeoutMs: number;
  isShared(message: InboundMessage): boolean;
}

export interface AgentTurnDeps {
  store: Store;
  agent: AgentSetup;
  settings: AgentTurnSettings;
  openFor: OpenFor;
  hooks: Hooks;
  observers: Observers;
  running: RunningTurns;
  gates: Gates;
  delivery: Delivery;
  media: Media;
  outgoing: OutgoingFiles;
  ask(question: Question, show: (buttons: Button[][]) => Promise<void> | void): Promise<Answer | null>;
  approve(request: ApprovalRequest): Promise<Consent>;
  adapterOf(platform: string): Adapter | undefined;
  redact(text: string): string;
  /** A turn was committed. */
  onTurn(turn: { platform: string; status: TurnResult['status']; seconds: number; usage: Usage }): void;
  /** True once the program stops: turns are given back at their next step. */
  isDraining(): boolean;
  home: string;
  log: Log;
  now(): number;
  crash(label: string): void;
}

/** Characters per token at most; the history is read by the window, and compaction keeps it far below. */
const charsPerToken = 4;

/** One turn while it runs here. */
interface Frame {
  ids: number[];
  message: InboundMessage;
  session: Session;
  model: Model;
  /** Set when a former process began the turn: what pre_llm_call gave then. */
  context: string | null;
  live: LiveReply;
  stop: AbortController;
  turn: RunningTurn;
  emit(event: TurnEvent): void;
}

export function createAgentTurn(deps: AgentTurnDeps): RunAgentTurn {
  const { store, agent, settings, hooks, observers, running, now, log, crash } = deps;

  return async (rows, message) => {
    crash('row_claimed');
    const { frame, end } = await openFrame(rows, message);
    const { session, turn, stop, model } = frame;
    const { platform } = message.address;
    const adapter = deps.adapterOf(platform);
    const typing = keepTyping(adapter, message.address, deps.gates);
    const reactions = createProgressReactions(adapter, message, settings.reactions(platform));
    running.add(turn);
    reactions.begin();
    try {
      if (frame.context === null && session.turns === 0 && hooks.has('on_session_start'))
        await hooks.fire('on_session_start', { session_id: session.id, turn_id: turn.turnId, platform, model: model.id });
      const result = await run(frame);
      if (isGivenBack(stop.signal)) return await giveBack(frame);
      await commit(frame, result);
      typing.stop();
      reactions.end(result.status);
      await result.afterwards();
    } catch (thrown) {
      if (!(thrown instanceof HermesError) || thrown.code !== 'TURN_INTERRUPTED') throw thrown;
      await giveBack(frame);
    } finally {
      typing.stop();
      // The row may be claimed again at once; a preview in flight would then be shown beside the new one.
      await frame.live.drop();
      running.remove(turn.lane);
      end();
    }
  };

  async function openFrame(rows: Claimed, message: InboundMessage): Promise<{ frame: Frame; end: () => void }> {
    const [{ lane, turnId: begunId }] = rows;
    const ids = rows.map((row) => row.id);
    const begun = begunId === null ? null : store.transcript.turn(begunId);
    const session = (begun && store.sessions.get(begun.sessionId)) ?? (await deps.openFor(message, lane));
    const model = agent.modelOf(session.model ?? message.options?.model ?? null);
    const stop = new AbortController();
    const turnId = begun?.id ?? newTurnId(now());
    const { turn, end } = toRunningTurn(lane, message, session, turnId, stop, now());
    const live = openLiveReply(message, session, turnId);
    const emit = (event: TurnEvent) => {
      observers.emit(ids, event);
      toLiveReply(live, event);
    };
    return { frame: { ids, message, session, model, context: begun?.context ?? null, live, stop, turn, emit }, end };
  }

  async function run(frame: Frame): Promise<TurnResult> {
    const { message, session, model, context, live, stop, turn, emit, ids } = frame;
    const { turnId, lane, senderId, platform } = turn;
    const { signal } = stop;
    const [stored, ...done] = context === null ? [] : store.transcript.turnEntries(turnId);
    const user = stored?.role === 'user' ? stored : await newUserEntry(frame);
    const tools = await agent.toolsOf(message, session);
    const history = loadHistory(session, turnId, model, message);
    const canAsk = message.interactive !== false;
    const show = (text: string, buttons: Button[][]) => {
      emit({ type: 'question', text, choices: buttons.flat().map(({ label }) => label) });
      return live.say(text, buttons);
    };
    return runTurn({
      turnId,
      sessionId: session.id,
      taskId: session.id,
      platform,
      senderId,
      home: deps.home,
      systemPrompt: await systemPromptOf(message, session, tools),
      history,
      user,
      ...(context === null ? {} : { resume: { entries: done, context } }),
      isFirstTurn: session.turns === 0,
      tools,
      agentTools: agent.agentTools({ session, history: [...history, ...done], ...(canAsk ? { ask: askFor(frame) } : {}) }),
      model,
      hooks,
      journal: createTurnJournal({ store, turn, modelId: model.id, inboxIds: ids, observers, mayGoOn, now, crash }),
      limits: { maxSteps: settings.maxSteps, timeoutMs: settings.timeoutMs },
      loadImages,
      approve: (request) => deps.approve({ ...request, lane, sessionId: session.id, turnId, platform, senderId, signal, ...(canAsk ? { show } : {}) }),
      steering() {
        const taken = turn.steering.splice(0);
        turn.steered.push(...taken.map(({ inboxId }) => inboxId));
        return taken.map(({ entry }) => entry);
      },
      beforeCall({ input, output }) {
        mayGoOn();
        const { turnTokens } = settings;
        if (turnTokens === null || input + output < turnTokens) return null;
        return `This turn has used up its ${turnTokens} tokens (budgets.turn_tokens) and ends here. The next message starts with as many again.`;
      },
      redact: deps.redact,
      emit,
      signal,
      log: log.child({ turn: turnId }),
    });
  }

  /** Ends a turn at a step boundary without an outcome; its rows are given back and it goes on after the restart. */
  function mayGoOn(): void {
    if (deps.isDraining()) throw new HermesError('TURN_INTERRUPTED', 'The program is stopping; the turn goes on after the restart.');
  }

  async function newUserEntry({ message, session, stop, turn }: Frame): Promise<UserEntry> {
    return toUserEntry({
      turnId: turn.turnId,
      message,
      isShared: settings.isShared(message),
      undelivered: await store.outbox.takeUntold(session.id),
      media: deps.media,
      signal: stop.signal,
      now: now(),
    });
  }

  function loadHistory(session: Session, turnId: string, model: Model, message: InboundMessage): Entry[] {
    const seed = session.turns === 0 ? toSeed(message) : [];
    const entries = store.transcript.history(session.id, session.summaryBefore, model.contextWindow * charsPerToken, turnId);
    const summary = session.summary === null ? [] : toSummaryEntries(session.summary, entries[0]?.turnId ?? null);
    return [...seed, ...summary, ...entries];
  }

  async function systemPromptOf(message: InboundMessage, session: Session, tools: TurnTools): Promise<string> {
    if (session.systemPrompt !== null) return session.systemPrompt;
    const systemPrompt = await agent.systemPrompt(message, session, tools.definitions.map(({ name }) => name));
    await store.sessions.update(session.id, { systemPrompt });
    return systemPrompt;
  }

  function openLiveReply({ address, chatType, messageId }: InboundMessage, session: Session, turnId: string): LiveReply {
    const adapter = deps.adapterOf(address.platform);
    if (!adapter?.send) return noReply;
    const streaming = settings.streaming(address.platform);
    const quoting = settings.replyTo(address.platform);
    const isGroup = chatType !== 'dm';
    return createLiveReply({
      outbox: store.outbox,
      adapter,
      gates: deps.gates,
      origin: { kind: 'turn', id: turnId, sessionId: session.id, turnId },
      base: { address, format: 'markdown' },
      replyTo: quoting === 'off' || !isGroup ? null : { messageId, parts: quoting },
      isStreaming: isGroup ? streaming.group : streaming.dm,
      toolProgress: settings.toolProgress(address.platform),
      isGroup,
      bufferChars: settings.bufferChars,
      kick: () => deps.delivery.kick(address.platform, address.chat),
      now,
      log,
      crash,
    });
  }

  function askFor({ message, turn, live, emit }: Frame) {
    return async (question: string, choices: string[], signal: AbortSignal): Promise<string | null> => {
      const { lane } = turn;
      const asked: Question = { lane, senderId: message.sender.id, kind: 'clarify', choices, timeoutMs: settings.askTimeoutMs, signal };
      const answer = await deps.ask(asked, (buttons) => {
        emit({ type: 'question', text: question, choices });
        const list = choices.map((choice, index) => `${index + 1}. ${choice}`).join('\n');
        return live.say(list === '' ? question : `${question}\n\n${list}`, buttons);
      });
      return answer?.text ?? null;
    };
  }

  async function commit({ ids, message, session, live, stop, turn }: Frame, result: TurnResult): Promise<void> {
    const { turnId } = turn;
    const { address } = message;
    // What was shown of a stopped answer stays; the command that stopped it says so itself.
    const isQuiet = result.status === 'aborted' && stop.signal.aborted;
    const { text, files } = live === noReply || isQuiet ? { text: '', files: [] } : await deps.outgoing.take(result.text);
    const { parts, preview } = await live.finish(text, files);
    const last = result.entries.at(-1);
    crash('before_commit');
    const committed = store.commitTurn({
      turnId,
      sessionId: session.id,
      state: result.status,
      answer: result.text,
      code: result.code ?? null,
      model: result.model,
      steps: result.steps,
      usage: result.usage,
      entry: last?.role === 'assistant' ? last : null,
      parts,
      preview,
      inboxIds: ids,
      inboxState: result.status === 'answered' || isQuiet ? 'answered' : 'failed',
      now: now(),
    });
    // In the same tick: the first part is then claimed for delivery in the transaction that makes it.
    if (parts.length > 0 || preview) deps.delivery.kick(address.platform, address.chat);
    await committed;
    crash('turn_committed');
    deps.onTurn({ platform: address.platform, status: result.status, seconds: (now() - turn.startedAt) / 1000, usage: result.usage });
    if (result.status === 'failed') reportFailure(result, session, turn);
    const outcome: TurnOutcome = { status: result.status, text: result.text, sessionId: session.id, turnId, model: result.model, usage: result.usage };
    observers.done(ids, result.code ? { ...outcome, code: result.code } : outcome);
  }

  function reportFailure({ code = 'TURN_FAILED' }: TurnResult, session: Session, { turnId, platform }: RunningTurn): void {
    log.warn('a turn ended without an answer', { turn: turnId, session: session.id, code });
    if (hooks.has('on_error_occurred')) void hooks.fire('on_error_occurred', { error: code, where: 'turn', session_id: session.id, turn_id: turnId, platform });
  }

  /** The program is stopping: the rows wait for the next start, and whoever follows them is told. */
  async function giveBack({ ids, session, turn }: Frame): Promise<void> {
    await store.inbox.release(ids);
    const text = 'The program is stopping; this message is answered after the restart.';
    observers.done(ids, { status: 'aborted', text, code: 'TURN_INTERRUPTED', sessionId: session.id, turnId: turn.turnId });
  }
}

function toRunningTurn(lane: string, message: InboundMessage, session: Session, turnId: string, stop: AbortController, startedAt: number) {
  let end = () => {};
  const done = new Promise<void>((resolve) => {
    end = resolve;
  });
  const { platform, chat, thread } = message.address;
  const abort = (reason: StopReason) => stop.abort(reason);
  const turn: RunningTurn = { lane, turnId, sessionId: session.id, senderId: message.sender.id, platform, chat, thread, startedAt, steering: [], steered: [], abort, done };
  return { turn, end };
}

function toLiveReply(live: LiveReply, event: TurnEvent): void {
  if (event.type === 'text') live.text(event.delta);
  else if (event.type === 'retract') live.retract();
  else if (event.type === 'segment') void live.segment(event.text);
  else if (event.type === 'tool_started') live.progress(`${event.emoji} \`${event.name}\``.trim());
}

async function loadImages(user: UserEntry): Promise<{ mime: string; base64: string }[]> {
  const images = user.media?.filter(({ kind }) => kind === 'image') ?? [];
  return Promise.all(images.map(async ({ path, mime }) => ({ mime, base64: (await readFile(path)).toString('base64') })));
}

/** History that a caller brings along stands before the session's own. */
function toSeed({ options }: InboundMessage): Entry[] {
  return (options?.history ?? []).map(
    ({ role, text }, index): Entry => (role === 'user' ? { role, turnId: `given:${index}`, text } : { role, turnId: `given:${index}`, text, toolCalls: [] }),
  );
}

const isGivenBack = (signal: AbortSignal) => signal.aborted && signal.reason === ('shutdown' satisfies StopReason);

/** Begins with the time: in every index the newest turns then stand side by side, and a store that is years old costs no more than a new one. */
function newTurnId(now: number): string {
  return `t${now.toString(36)}${randomBytes(5).toString('hex')}`;
}
