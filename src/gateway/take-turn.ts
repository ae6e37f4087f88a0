/**
 * From claimed inbox rows to a committed turn. Live traffic, recovery and scheduled work come through this one door.
 *
 * merge -> on_message_received, pre_gateway_dispatch (the verdict is kept on the row) -> a command? run it and reply ->
 * open the session (new? on_session_start) -> runTurn(), each step appended to the transcript -> commitTurn() -> drain.
 * A row whose turn had begun before a death goes straight to runTurn() with the entries that exist.
 */
import { HermesError, toMessage, type ErrorCode } from '../contract/errors.ts';
import type { Adapter } from '../contract/adapter.ts';
import type { InboundMessage } from '../contract/message.ts';
import type { Hooks } from '../contract/plugin.ts';
import type { Log } from '../contract/log.ts';
import type { TurnOutcome } from '../contract/turn.ts';
import { sleep } from '../lib/retry.ts';
import type { Claimed } from './lanes.ts';
import type { Verdict } from '../store/inbox.ts';
import type { NewPart } from '../store/outbox.ts';
import type { Store } from '../store/store.ts';
import { parseCommand, type CommandCall, type CommandResult } from './command.ts';
import { closeTurn } from './close-turn.ts';
import type { Delivery } from './delivery.ts';
import type { Observers } from './observers.ts';
import type { RunAgentTurn } from './agent-turn.ts';
import { isControlLane, ownLane } from './control-lane.ts';

export interface TakeTurnDeps {
  store: Store;
  hooks: Hooks;
  observers: Observers;
  delivery: Delivery;
  adapterOf(platform: string): Adapter | undefined;
  toOwner(message: InboundMessage): string;
  runCommand(call: CommandCall): Promise<CommandResult>;
  runAgentTurn: RunAgentTurn;
  /** Aborted when the program has to end at once. */
  ending: AbortSignal;
  log: Log;
  now(): number;
}

export function createTakeTurn(deps: TakeTurnDeps): (rows: Claimed) => Promise<void> {
  const { store, hooks, observers, log, now } = deps;

  const takeTurn = async (rows: Claimed) => {
    try {
      await take(rows).catch((thrown: unknown) => (isOutage(thrown) ? Promise.reject(thrown) : fail(rows, thrown)));
    } catch (thrown) {
      if (!isOutage(thrown)) throw thrown;
      await giveBack(rows);
    }
  };

  const take = async (rows: Claimed) => {
    const [first] = rows;
    const message = mergeMessages(rows.map((row) => row.message));
    if (first.turnId !== null) return deps.runAgentTurn(rows, message);
    const verdict = isControlLane(first.lane) ? pass : await askHooks(rows, message);
    if (verdict.action === 'skip') return decline(rows);
    const text = verdict.action === 'rewrite' ? verdict.text : message.text;
    const command = parseCommand(text);
    if (!command) return deps.runAgentTurn(rows, { ...message, text });
    const result = await answerCommand(rows, message, command);
    if (result !== null) await deps.runAgentTurn(rows, { ...message, text: result.run });
  };

  const askHooks = async (rows: Claimed, message: InboundMessage): Promise<Verdict> => {
    const [first] = rows;
    if (first.verdict) return first.verdict;
    if (!hooks.has('on_message_received') && !hooks.has('pre_gateway_dispatch')) return pass;
    const { address, chatType, sender } = message;
    const payload = {
      session_id: store.sessions.live(first.lane)?.id ?? '',
      turn_id: '',
      platform: address.platform,
      message: message.text,
      sender: { id: sender.id, name: sender.name },
      chat: { id: address.chat, type: chatType, thread: address.thread ?? null },
    };
    const received = await hooks.fire('on_message_received', payload);
    const isHandled = received.some(({ value }) => isRecord(value) && value['handled'] === true);
    const verdict = isHandled ? ({ action: 'skip' } as const) : toVerdict(await hooks.fire('pre_gateway_dispatch', payload));
    await store.inbox.saveVerdict(first.id, verdict);
    return verdict;
  };

  const decline = async (rows: Claimed) => {
    await store.inbox.finish(idsOf(rows), 'declined', now());
    observers.done(idsOf(rows), { status: 'declined', text: '' });
  };

  /** Null when the command has been answered; otherwise the text to run as a turn. */
  const answerCommand = async (rows: Claimed, message: InboundMessage, command: { name: string; args: string }): Promise<{ run: string } | null> => {
    const lane = ownLane(rows[0].lane);
    const session = store.sessions.live(lane);
    if (hooks.has('pre_command'))
      await hooks.fire('pre_command', {
        session_id: session?.id ?? '',
        turn_id: '',
        platform: message.address.platform,
        command: command.name,
        args: command.args,
        sender_id: message.sender.id,
      });
    const result = await deps.runCommand({ ...command, message, lane, session, owner: deps.toOwner(message), row: rows[0].id });
    if (result !== null && 'run' in result) return result;
    const isPlain = result === null || 'plain' in result;
    const text = result === null ? '' : 'plain' in result ? result.plain : result.markdown;
    await reply(rows, message, text, isPlain ? 'plain' : 'markdown', { status: 'answered', text });
    return null;
  };

  /** Ends the rows with a text that is no turn's answer. */
  const reply = async (rows: Claimed, message: InboundMessage, text: string, format: 'plain' | 'markdown', outcome: TurnOutcome) => {
    const parts = toParts(rows, message, text, format);
    await store.finishWith(idsOf(rows), 'answered', parts, now());
    tell(rows, parts, outcome);
  };

  const toParts = (rows: Claimed, { address, messageId }: InboundMessage, text: string, format: 'plain' | 'markdown'): NewPart[] => {
    const texts = text === '' ? [] : (deps.adapterOf(address.platform)?.split?.(text) ?? []);
    const origin = { kind: 'command', id: String(rows[0].id), sessionId: null, turnId: null } as const;
    return texts.map((each, part): NewPart => ({ origin, part, payload: { address, text: each, format, ...(part === 0 ? { replyTo: messageId } : {}) } }));
  };

  const tell = (rows: Claimed, parts: NewPart[], outcome: TurnOutcome) => {
    const { platform, chat } = rows[0].message.address;
    if (parts.length > 0) deps.delivery.kick(platform, chat);
    observers.done(idsOf(rows), outcome);
  };

  /** The store could not write: an outage, nobody's fault. The rows wait until it can, then run again. */
  const giveBack = async (rows: Claimed) => {
    log.error('the database cannot be written; the message waits until it can', { lane: rows[0].lane });
    while (!deps.ending.aborted) {
      try {
        return await store.inbox.release(idsOf(rows));
      } catch {
        await sleep(1000, deps.ending).catch(() => {});
      }
    }
  };

  const fail = async (rows: Claimed, thrown: unknown) => {
    const id = String(rows[0].id);
    const { platform } = rows[0].message.address;
    log.error('a turn failed', { inbox: id, error: toMessage(thrown), stack: thrown instanceof Error ? thrown.stack : undefined });
    if (hooks.has('on_error_occurred'))
      void hooks.fire('on_error_occurred', { error: toMessage(thrown), where: 'turn', session_id: null, turn_id: null, platform });
    const known = thrown instanceof HermesError && toldCodes.has(thrown.code) ? thrown : null;
    const code = known?.code ?? 'TURN_FAILED';
    const text = known?.message ?? `Something went wrong on my side and this message was not answered (reference m${id}). Please send it again.`;
    const parts = toParts(rows, rows[0].message, text, 'plain');
    await closeTurn(store, idsOf(rows), { state: 'failed', code, text, parts, now: now() });
    tell(rows, parts, { status: 'failed', text, code });
  };

  return takeTurn;
}

const pass: Verdict = { action: 'pass' };

const isOutage = (thrown: unknown): thrown is HermesError => thrown instanceof HermesError && thrown.code === 'STORE_UNAVAILABLE';

/** Faults whose own words tell the sender what to do; of others only a reference is shown. */
const toldCodes: ReadonlySet<string> = new Set<ErrorCode>(['SESSION_UNKNOWN', 'CONFIG_INVALID']);

const idsOf = ([first, ...more]: Claimed): [number, ...number[]] => [first.id, ...more.map((row) => row.id)];

function toVerdict(results: { value: unknown }[]): Verdict {
  for (const { value } of results) {
    if (!isRecord(value)) continue;
    if (value['action'] === 'skip') return { action: 'skip' };
    if (value['action'] === 'rewrite' && typeof value['text'] === 'string') return { action: 'rewrite', text: value['text'] };
  }
  return pass;
}

/** Pictures of one album, or messages that were collected, become one message. */
export function mergeMessages(messages: InboundMessage[]): InboundMessage {
  const [first, ...rest] = messages;
  if (!first) throw new Error('nothing to merge');
  if (rest.length === 0) return first;
  return {
    ...first,
    text: messages
      .map(({ text }) => text)
      .filter((text) => text !== '')
      .join('\n'),
    attachments: messages.flatMap(({ attachments }) => attachments),
  };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
