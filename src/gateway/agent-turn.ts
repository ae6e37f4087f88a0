/**
 * One message through the agent: open the session, gather what the turn needs, run it with the transcript as its journal, commit
 * its end. A turn that a former process began is taken up where its entries end.
 *
 * openSession -> on_session_start -> tools, system prompt, history, media -> runTurn() -> commitTurn() -> drain
 */
import { readFile } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { toSummaryEntries } from '../agent/compact.ts';
import { runTurn } from '../agent/turn.ts';
import type { TurnResult, TurnTools } from '../agent/turn-input.ts';
import type { Adapter } from '../contract/adapter.ts';
import { HermesError } from '../contract/errors.ts';
import type { Log } from '../contract/log.ts';
import type { InboundMessage } from '../contract/message.ts';
import type { Model } from '../contract/model.ts';
import type { Hooks } from '../contract/plugin.ts';
import type { AgentTool } from '../contract/tool.ts';
import type { Entry, Journal, UserEntry } from '../contract/transcript.ts';
import type { TurnEvent, TurnOutcome } from '../contract/turn.ts';
import type { Session } from '../store/sessions.ts';
import type { Store } from '../store/store.ts';
import type { ApprovalRequest, Consent } from './approvals.ts';
import type { Delivery } from './delivery.ts';
import type { Gates } from './gates.ts';
import type { Claimed } from './lanes.ts';
import { createLiveReply, noReply, type LiveReply } from './live-reply.ts';
import type { Media } from './media.ts';
import type { Observers } from './observers.ts';
import type { OpenFor } from './open-session.ts';
import type { Question, Answer } from './questions.ts';
import type { RunningTurns, StopReason } from './running-turns.ts';
import { keepTyping } from './typing.ts';
import type { Button } from '../contract/message.ts';

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
  bufferChars: number;
  /** Per platform: may previews be shown in direct chats / groups, and which parts quote the question. */
  streaming(platform: string): { dm: boolean; group: boolean };
  replyTo(platform: string): 'off' | 'first' | 'all';
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
  ask(question: Question, show: (buttons: Button[][]) => Promise<void> | void): Promise<Answer | null>;
  approve(request: ApprovalRequest): Promise<Consent>;
  adapterOf(platform: string): Adapter | undefined;
  redact(text: string): string;
  /** True once the program stops: turns are given back at their next step. */
  isDraining(): boolean;
  home: string;
  log: Log;
  now(): number;
  crash(label: string): void;
}

/** A message that waited longer is marked, so that the agent does not take old news for new. */
const lateMs = 15 * 60_000;
/** Characters per token at most; the history is read by the window, and compaction keeps it far below. */
const charsPerToken = 4;

/** Ends a turn at a step boundary without an outcome; its rows are given back and it goes on after the restart. */
const interrupted = () => new HermesError('TURN_INTERRUPTED', 'The program is stopping; the turn goes on after the restart.');

export function createAgentTurn(deps: AgentTurnDeps): RunAgentTurn {
  const { store, agent, settings, hooks, observers, running, now, log, crash } = deps;

  return async (rows, message) => {
    const ids = rows.map((row) => row.id);
    const begun = rows[0].turnId === null ? null : store.transcript.turn(rows[0].turnId);
    const turnId = begun?.id ?? newTurnId();
    const session = (begun && store.sessions.get(begun.sessionId)) ?? (await deps.openFor(message, rows[0].lane));
    const model = agent.modelOf(session.model ?? message.options?.model ?? null);
    const emit = (event: TurnEvent) => {
      observers.emit(ids, event);
      toLiveReply(live, event);
    };
    const live = openLiveReply(message, session, turnId);
    const stop = new AbortController();
    const turn = registerTurn(rows, message, session, turnId, stop);
    const typing = keepTyping(deps.adapterOf(message.address.platform), message.address, deps.gates);
    try {
      if (!begun && session.turns === 0 && hooks.has('on_session_start'))
        await hooks.fire('on_session_start', { session_id: session.id, turn_id: turnId, platform: message.address.platform, model: model.id });
      const result = await run(rows, message, session, turnId, begun?.context ?? null, model, live, stop.signal, emit);
      if (isGivenBack(stop.signal)) return await giveBack(ids, session, turnId);
      await commit(rows, session, turnId, result, live, stop.signal);
      typing.stop();
      await result.afterwards();
    } catch (thrown) {
      if (!(thrown instanceof HermesError) || thrown.code !== 'TURN_INTERRUPTED') throw thrown;
      await giveBack(ids, session, turnId);
    } finally {
      typing.stop();
      running.remove(turn.lane);
      turn.end();
    }
  };

  async function run(
    rows: Claimed,
    message: InboundMessage,
    session: Session,
    turnId: string,
    context: string | null,
    model: Model,
    live: LiveReply,
    signal: AbortSignal,
    emit: (event: TurnEvent) => void,
  ): Promise<TurnResult> {
    const { platform } = message.address;
    const entries = context === null ? [] : store.transcript.turnEntries(turnId);
    const [storedUser, ...done] = entries;
    const user = storedUser?.role === 'user' ? storedUser : await toUserEntry(message, session, turnId, signal);
    const tools = await agent.toolsOf(message, session);
    const history = loadHistory(session, turnId, model, message);
    const ask = canAnswer(message) ? askFor(message, rows[0].lane, live, emit) : undefined;
    const show = canAnswer(message) ? showFor(live, emit) : undefined;
    const turn = running.get(rows[0].lane);
    return runTurn({
      turnId,
      sessionId: session.id,
      taskId: session.id,
      platform,
      senderId: message.sender.id,
      home: deps.home,
      systemPrompt: await systemPromptOf(message, session, tools),
      history,
      user,
      ...(context === null ? {} : { resume: { entries: done, context } }),
      isFirstTurn: session.turns === 0,
      tools,
      agentTools: agent.agentTools({ session, history, ...(ask ? { ask } : {}) }),
      model,
      hooks,
      journal: openJournal(rows, session, model.id),
      limits: { maxSteps: settings.maxSteps, timeoutMs: settings.timeoutMs },
      loadImages,
      approve: (request) =>
        deps.approve({
          ...request,
          lane: rows[0].lane,
          sessionId: session.id,
          turnId,
          platform,
          senderId: message.sender.id,
          signal,
          ...(show ? { show } : {}),
        }),
      steering: () => turn?.steering.map(({ entry }) => entry) ?? [],
      beforeCall: () => {
        if (deps.isDraining()) throw interrupted();
        return null;
      },
      redact: deps.redact,
      emit,
      signal,
      log: log.child({ turn: turnId }),
    });
  }

  async function toUserEntry(message: InboundMessage, session: Session, turnId: string, signal: AbortSignal): Promise<UserEntry> {
    const { media, text } = await deps.media.receive(message, signal);
    const notes = [
      ...(await store.outbox.takeUntold(session.id)).map((part) => `your reply "${part.payload.text.slice(0, 80)}" ${part.state === 'dead' ? 'was not delivered' : 'may not have been delivered'} (${part.error ?? 'unknown reason'})`),
      ...(message.quote ? [`in reply to ${JSON.stringify(message.quote.sender)}: ${JSON.stringify(message.quote.text.slice(0, 500))}`] : []),
      ...(now() - message.at > lateMs ? [`sent ${Math.round((now() - message.at) / 60_000)} minutes ago`] : []),
    ];
    // In a session that several people share the model has to know who speaks; names hold no line breaks.
    const said = settings.isShared(message) ? `${message.sender.name}: ${message.text}` : message.text;
    const entry: UserEntry = { role: 'user', turnId, text: [said, ...text].filter((each) => each !== '').join('\n\n') || '(no text)' };
    if (media.length > 0) entry.media = media;
    if (notes.length > 0) entry.note = notes.join('; ');
    return entry;
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

  function openLiveReply(message: InboundMessage, session: Session, turnId: string): LiveReply {
    const { address, chatType, messageId } = message;
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
      isGroup,
      bufferChars: settings.bufferChars,
      kick: () => deps.delivery.kick(address.platform, address.chat),
      now,
      log,
      crash,
    });
  }

  function registerTurn(rows: Claimed, message: InboundMessage, session: Session, turnId: string, stop: AbortController) {
    let end = () => {};
    const done = new Promise<void>((resolve) => {
      end = resolve;
    });
    const { platform, chat, thread } = message.address;
    const turn = {
      lane: rows[0].lane,
      turnId,
      sessionId: session.id,
      senderId: message.sender.id,
      platform,
      chat,
      thread,
      startedAt: now(),
      steering: [],
      abort: (reason: StopReason) => stop.abort(reason),
      done,
      end,
    };
    running.add(turn);
    return turn;
  }

  /** The turn writes itself down here; each append is awaited, so the next step never begins before the last is durable. */
  function openJournal(rows: Claimed, session: Session, modelId: string): Journal {
    const { transcript } = store;
    return {
      async begin(entry, context) {
        await transcript.beginTurn({ turnId: entry.turnId, sessionId: session.id, model: modelId, context, entry, inboxIds: rows.map((row) => row.id), now: now() });
        crash('turn_begun');
      },
      async step(entry) {
        await transcript.append(session.id, entry, now());
        crash('step_stored');
        if (deps.isDraining()) throw interrupted();
      },
      async toolStarted(entry) {
        await transcript.append(session.id, entry, now());
        crash('tool_started');
      },
      async toolResult(entry) {
        crash('tool_done');
        await transcript.finishTool(session.id, entry, now());
        crash('tool_stored');
      },
      async steered(entry) {
        const turn = running.get(rows[0].lane);
        const taken = turn?.steering.findIndex((each) => each.entry === entry) ?? -1;
        const [steered] = taken >= 0 ? (turn?.steering.splice(taken, 1) ?? []) : [];
        await transcript.append(session.id, entry, now(), steered ? [steered.inboxId] : []);
        if (steered) observers.done([steered.inboxId], { status: 'answered', text: '', sessionId: session.id, turnId: entry.turnId });
      },
      async compacted(summary, firstKeptTurnId) {
        const first = store.transcript.firstEntryOf(firstKeptTurnId);
        if (first !== null) await store.sessions.compacted(session.id, summary, first);
      },
    };
  }

  async function commit(rows: Claimed, session: Session, turnId: string, result: TurnResult, live: LiveReply, signal: AbortSignal): Promise<void> {
    const ids = rows.map((row) => row.id);
    const isQuiet = result.status === 'aborted' && signal.aborted;
    // What was shown of a stopped answer stays; the command that stopped it says so itself.
    const { parts, preview } = await live.finish(isQuiet ? '' : result.text);
    const last = result.entries.at(-1);
    crash('before_commit');
    await store.commitTurn({
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
      inboxState: result.status === 'failed' ? 'failed' : 'answered',
      now: now(),
    });
    crash('turn_committed');
    const { address } = rows[0].message;
    if (parts.length > 0 || preview) deps.delivery.kick(address.platform, address.chat);
    if (result.status === 'failed') reportFailure(result, session, turnId, address.platform);
    const outcome: TurnOutcome = { status: result.status, text: result.text, sessionId: session.id, turnId, model: result.model, usage: result.usage };
    observers.done(ids, result.code ? { ...outcome, code: result.code } : outcome);
  }

  function reportFailure(result: TurnResult, session: Session, turnId: string, platform: string): void {
    log.warn('a turn ended without an answer', { turn: turnId, session: session.id, code: result.code });
    if (hooks.has('on_error_occurred'))
      void hooks.fire('on_error_occurred', { error: result.code ?? 'TURN_FAILED', where: 'turn', session_id: session.id, turn_id: turnId, platform });
  }

  /** The program is stopping: the rows wait for the next start, and the caller is told. */
  async function giveBack(ids: number[], session: Session, turnId: string): Promise<void> {
    await store.inbox.release(ids);
    observers.done(ids, {
      status: 'aborted',
      text: 'The program is stopping; this message is answered after the restart.',
      code: 'TURN_INTERRUPTED',
      sessionId: session.id,
      turnId,
    });
  }

  function askFor(message: InboundMessage, lane: string, live: LiveReply, emit: (event: TurnEvent) => void) {
    return async (question: string, choices: string[], signal: AbortSignal): Promise<string | null> => {
      const answer = await deps.ask({ lane, senderId: message.sender.id, kind: 'clarify', choices, timeoutMs: settings.askTimeoutMs, signal }, (buttons) => {
        emit({ type: 'question', text: question, choices });
        const list = choices.map((choice, index) => `${index + 1}. ${choice}`).join('\n');
        return live.say(list === '' ? question : `${question}\n\n${list}`, buttons);
      });
      return answer?.text ?? null;
    };
  }
}

function showFor(live: LiveReply, emit: (event: TurnEvent) => void) {
  return (text: string, buttons: Button[][]) => {
    emit({ type: 'question', text, choices: buttons.flat().map(({ label }) => label) });
    return live.say(text, buttons);
  };
}

function toLiveReply(live: LiveReply, event: TurnEvent): void {
  if (event.type === 'text') live.text(event.delta);
  else if (event.type === 'retract') live.retract();
  else if (event.type === 'segment') void live.segment(event.text);
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
const canAnswer = (message: InboundMessage) => message.interactive !== false;

function newTurnId(): string {
  return `t${randomBytes(8).toString('hex')}`;
}

