/**
 * The middle of the house: what adapters hand in comes through receive(), and nothing reaches the agent any other way.
 *
 * receive() -> authorize() -> an answer to a question? -> admit (COMMIT) -> the adapter confirms -> the lane is woken
 * open(): what a former process left is recovered through the same lanes; only then do adapters open intake.
 */
import type { Receipt, Receive, TurnObserver } from '../contract/adapter.ts';
import type { InboundMessage } from '../contract/message.ts';
import type { Hooks } from '../contract/plugin.ts';
import type { Log } from '../contract/log.ts';
import type { TurnOutcome } from '../contract/turn.ts';
import type { KeyedLoop } from '../lib/keyed-loop.ts';
import type { Store } from '../store/store.ts';
import type { InboxRow } from '../store/inbox.ts';
import type { NewPart } from '../store/outbox.ts';
import type { Access } from './access.ts';
import { parseCommand } from './command.ts';
import { controlLane } from './control-lane.ts';
import type { Delivery } from './delivery.ts';
import { endsWithin } from './ends-within.ts';
import type { Observers } from './observers.ts';
import type { Questions } from './questions.ts';
import type { RunningTurns } from './running-turns.ts';

export type BusyMode = 'queue' | 'collect' | 'steer' | 'interrupt';

export interface GatewayDeps {
  store: Store;
  access: Access;
  lanes: KeyedLoop;
  delivery: Delivery;
  running: RunningTurns;
  questions: Questions;
  observers: Observers;
  hooks: Hooks;
  toKey(message: InboundMessage): string;
  isControl(command: string): boolean;
  settings: { busyMode: BusyMode; queueLimit: number };
  /** A stranger's direct message that may get a pairing code. */
  onStranger(message: InboundMessage): Promise<void>;
  /** A message in which the process died while it ran alone. */
  onPoison(row: InboxRow): Promise<void>;
  log: Log;
  now(): number;
  crash(label: string): void;
}

export interface Gateway {
  receive: Receive;
  /** Recovers what a former process left and lets lanes and deliveries run. */
  open(): Promise<void>;
  /** Turns end or are given back at their next step, then calls in flight end; all of it within `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** Pictures of one album arrive one by one within about a second. */
const albumMs = 1000;
const oldestMs = 48 * 3600_000;
/** Kept of the time to close: for turns that were told to stop, and as much again for calls in flight. */
const lastMs = 2000;

export function createGateway(deps: GatewayDeps): Gateway {
  const { store, access, lanes, delivery, running, questions, observers, hooks, settings, now, crash } = deps;
  const fullText = `${settings.queueLimit} messages are waiting here already; this one was not taken. Please send it again later.`;

  const receive = async (message: InboundMessage, observer?: TurnObserver): Promise<Receipt> => {
    const verdict = access.authorize(message);
    if (!verdict.allow) {
      if (verdict.mayPair) await deps.onStranger(message);
      return { status: 'refused', reason: verdict.reason };
    }
    if (message.kind === 'edit') return amend(message);
    if (message.kind === 'button') return press(message);
    if (message.kind === 'join') return tellJoin(message);
    if (message.kind !== 'message') return { status: 'refused', reason: 'unsupported' };
    return admit(message, observer);
  };

  /** An edit changes a message that still waits; it never starts a turn. */
  const amend = async (message: InboundMessage): Promise<Receipt> => {
    await store.inbox.amend(message);
    return { status: 'refused', reason: 'unsupported' };
  };

  /** Kept as a row only so that a redelivery tells nobody twice. */
  const tellJoin = async (message: InboundMessage): Promise<Receipt> => {
    const { id, outcome } = await store.inbox.admit({ lane: deps.toKey(message), message, now: now(), isSettled: true });
    if (outcome === 'duplicate') return { status: 'duplicate', id };
    const { address, sender } = message;
    if (hooks.has('on_user_joined')) void hooks.fire('on_user_joined', { user: { id: sender.id, name: sender.name }, chat: address.chat, platform: address.platform });
    return { status: 'accepted', id };
  };

  const press = async (message: InboundMessage): Promise<Receipt> => {
    const outcome = questions.answerByButton(message.button?.value ?? '', deps.toKey(message), message.sender.id);
    return outcome === 'answered' ? { status: 'accepted', id: 0 } : { status: 'refused', reason: outcome === 'not_yours' ? 'not_yours' : 'unsupported' };
  };

  const admit = async (received: InboundMessage, observer?: TurnObserver): Promise<Receipt> => {
    const key = deps.toKey(received);
    const command = parseCommand(received.text);
    const isQueued = command?.name === 'queue' || command?.name === 'q';
    const isSteered = command?.name === 'steer';
    // /queue and /steer only say how their text is to be taken while a turn runs.
    const isTaken = isQueued || isSteered ? command?.args !== '' : false;
    const message = { ...received, at: toPlausibleTime(received.at, now()), ...(isTaken && command ? { text: command.args } : {}) };
    const isControl = command !== null && !isTaken && deps.isControl(command.name);
    const lane = isControl ? controlLane(key) : key;
    crash('received');
    const admitted = store.inbox.admit({
      lane,
      message,
      now: now(),
      ...(message.albumId === undefined ? {} : { readyAt: now() + albumMs }),
      // The row that an idle lane is about to claim does not count as waiting.
      ...(isControl ? {} : { limit: settings.queueLimit + (lanes.isRunning(lane) ? 0 : 1) }),
      // Whoever follows the message hears of it that way.
      tellFull: (row) => (observer ? [] : [toFullNotice(row, message)]),
      isAnswer: () => !command && questions.answerByText(key, message.sender.id, message.text),
    });
    // Woken in the same tick, an idle lane claims the row in the transaction that admits it: one commit instead of two. The admission
    // resolves first, so what follows here is done before the row's turn begins. A row that is not to run is simply not found.
    lanes.wake(lane);
    const { id, outcome } = await admitted;
    crash('admitted');
    if (outcome === 'duplicate') return followDuplicate(id, observer);
    if (observer) observers.follow(id, observer);
    if (outcome === 'answer') observers.done([id], { status: 'answered', text: '' });
    else if (outcome === 'full') tellFull(id, message);
    else {
      if (!isControl && !command) applyBusyMode(key, id, message, isQueued ? 'queue' : settings.busyMode);
      else if (isSteered) applyBusyMode(key, id, message, 'steer');
    }
    return { status: 'accepted', id };
  };

  const applyBusyMode = (key: string, id: number, message: InboundMessage, mode: BusyMode) => {
    const turn = running.get(key);
    if (!turn) return;
    if (mode === 'interrupt') {
      turn.abort('interrupt');
      questions.cancel(key);
    } else if (mode === 'steer' && message.attachments.length === 0) {
      turn.steering.push({ inboxId: id, entry: { role: 'user', turnId: turn.turnId, text: message.text } });
    }
  };

  const toFullNotice = (id: number, { address, messageId }: InboundMessage): NewPart => {
    const origin = { kind: 'notice', id: `full:${id}`, sessionId: null, turnId: null } as const;
    return { origin, part: 0, payload: { address, text: fullText, format: 'plain', replyTo: messageId } };
  };

  const tellFull = (id: number, { address }: InboundMessage) => {
    delivery.kick(address.platform, address.chat);
    observers.done([id], { status: 'declined', text: fullText, code: 'QUEUE_FULL' });
  };

  /** The same event again: whoever follows it gets the first delivery's answer, now or when there is one. */
  const followDuplicate = (id: number, observer?: TurnObserver): Receipt => {
    if (observer) {
      const row = store.inbox.look(id);
      const turn = row?.turnId ? store.transcript.turn(row.turnId) : null;
      if (!row || row.state === 'waiting' || row.state === 'running') observers.follow(id, observer);
      else observer.onDone(toOutcome(row.state, turn));
    }
    return { status: 'duplicate', id };
  };

  return {
    receive,
    async open() {
      await store.outbox.recover();
      const { lanes: left, poison } = await store.inbox.recover();
      for (const row of poison) await deps.onPoison(row);
      delivery.open();
      for (const lane of left) lanes.wake(lane);
      lanes.open();
    },
    async close(graceMs) {
      const begun = performance.now();
      const left = (spare: number) => Math.max(0, graceMs - spare - (performance.now() - begun));
      const closed = lanes.close();
      const timer = setTimeout(() => {
        for (const turn of running.all()) turn.abort('shutdown');
      }, left(2 * lastMs));
      // What does not end even then (a store that cannot be written, a call that hangs) is left as a death would leave it.
      await endsWithin(closed, left(lastMs));
      clearTimeout(timer);
      await endsWithin(delivery.close(), left(0));
    },
  };
}

/** No platform delivers what is older than a day or two; such a time was never the sender's. */
function toPlausibleTime(at: number, now: number): number {
  return now - at > oldestMs ? now : at;
}

function toOutcome(state: string, turn: ReturnType<Store['transcript']['turn']>): TurnOutcome {
  if (!turn) return state === 'declined' ? { status: 'declined', text: '' } : { status: state === 'answered' ? 'answered' : 'failed', text: '', code: 'TURN_FAILED' };
  const status = turn.state === 'running' ? 'failed' : turn.state;
  return {
    status,
    text: turn.answer ?? '',
    ...(turn.code === null ? {} : { code: turn.code }),
    sessionId: turn.sessionId,
    turnId: turn.id,
    model: turn.model,
    usage: { input: turn.inputTokens, output: turn.outputTokens, cached: turn.cachedTokens, requests: 0 },
  };
}
