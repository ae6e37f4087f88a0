/**
 * From the outbox to the platform: one drain per chat, in order, paced and retried by one table, given up only aloud.
 *
 * claim (attempting, committed) -> send or edit -> toSettlement() -> settle (committed). A part that waits holds back the later
 * ones of its chat and nobody else's.
 */
import { HermesError, toMessage } from '../contract/errors.ts';
import type { Adapter, SendOutcome } from '../contract/adapter.ts';
import type { Hooks } from '../contract/plugin.ts';
import type { Log } from '../contract/log.ts';
import type { OutboundPart } from '../contract/message.ts';
import { createKeyedLoop, type KeyedLoop, type Step } from '../lib/keyed-loop.ts';
import { sleep } from '../lib/retry.ts';
import type { Outbox, PartRow, Settlement } from '../store/outbox.ts';
import type { Gates } from './gates.ts';

export interface Delivery {
  /** There is something to send to this chat. */
  kick(platform: string, chat: string): void;
  /** Begins to deliver, with everything that a former process left. */
  open(): void;
  /** Lets calls in flight end, then stops. */
  close(): Promise<void>;
}

export interface DeliveryOptions {
  outbox: Outbox;
  gates: Gates;
  adapterOf(platform: string): Adapter | undefined;
  hooks: Hooks;
  log: Log;
  now(): number;
  random(): number;
  crash(label: string): void;
  /** A part was given up, or may never have arrived. */
  onTrouble(part: PartRow, state: 'dead' | 'unknown', error: string): void;
  /** The chat lives at another id; sessions and waiting parts have to move before the next attempt. */
  onMoved(platform: string, from: string, to: string): Promise<void>;
}

const callMs = 15_000;
const uploadMs = 120_000;
/** Chats of one platform delivered to at once. */
const maxChats = 64;

export function createDelivery(options: DeliveryOptions): Delivery {
  const { outbox, gates, adapterOf, hooks, log, now, crash } = options;

  const closing = new AbortController();
  let isOpen = false;

  const step = async (platform: string, chat: string): Promise<Step> => {
    const limited = gates.limitedFor({ platform, chat });
    if (limited > 0) return { at: now() + limited };
    const claim = await outbox.claim(platform, chat, now());
    if (!claim.part) return claim.at === null ? 'idle' : { at: claim.at };
    await deliver(claim.part);
    return 'again';
  };

  // One loop per platform: calls that hang on one take no place from another's.
  const loops = new Map<string, KeyedLoop>();
  const loopOf = (platform: string): KeyedLoop => {
    const known = loops.get(platform);
    if (known) return known;
    const loop = createKeyedLoop({ maxRunning: maxChats, now, log, step: (chat) => step(platform, chat) });
    if (isOpen) loop.open();
    loops.set(platform, loop);
    return loop;
  };

  const deliver = async (part: PartRow) => {
    crash('part_attempting');
    const outcome = await attempt(part, adapterOf(part.payload.address.platform));
    crash('part_answered');
    const { platform, chat } = part.payload.address;
    const isIdempotent = adapterOf(platform)?.isIdempotent ?? false;
    const limitedUntil = outcome.status === 'rate_limited' ? gates.limit({ platform, chat }, outcome.scope, outcome.retryAfterMs) : 0;
    const settlement = toSettlement(part, outcome, { now: now(), random: options.random, isIdempotent, limitedUntil });
    if (outcome.status === 'permanent' && outcome.targetGone) gates.noteGone(part.payload.address);
    await untilWritten(async () => {
      if (outcome.status === 'moved') await options.onMoved(platform, chat, outcome.chat);
      await outbox.settle(part.id, settlement, now());
    });
    crash('part_settled');
    if (outcome.status === 'moved') loopOf(platform).wake(outcome.chat);
    report(part, settlement);
  };

  /** The call has been made: what came of it must not be forgotten because the disk is full for a while. */
  const untilWritten = async (write: () => Promise<void>) => {
    for (;;) {
      try {
        return await write();
      } catch (thrown) {
        if (!(thrown instanceof HermesError) || thrown.code !== 'STORE_UNAVAILABLE' || closing.signal.aborted) throw thrown;
        log.error('what came of a delivery cannot be written; it is tried again in a second', { error: thrown.message });
        await sleep(1000, closing.signal).catch(() => {});
      }
    }
  };

  const attempt = async (part: PartRow, adapter: Adapter | undefined): Promise<SendOutcome> => {
    if (!adapter?.send) return { status: 'transient', error: 'the platform is not available' };
    const { isShown, ...payload } = part.payload;
    if (isShown && part.messageId) return { status: 'sent', messageId: part.messageId };
    const { text } = payload;
    const isRepeat = part.maybeSent === 'lost' && !part.messageId && !adapter.isIdempotent;
    const outbound = { ...payload, text: isRepeat ? withRepeatMark(text, adapter) : text, idempotencyKey: `hg${part.id}` };
    const limitMs = payload.media ? uploadMs : callMs;
    return within(callAdapter(adapter, part.messageId, outbound, AbortSignal.timeout(limitMs)), limitMs + 1000);
  };

  const report = (part: PartRow, settlement: Settlement) => {
    if (settlement.state === 'waiting') {
      log.warn('a part was not delivered yet', { part: part.id, platform: part.payload.address.platform, error: settlement.error, again: settlement.nextTryAt - now() });
      return;
    }
    const error = settlement.state === 'sent' ? null : settlement.error;
    if (settlement.state !== 'sent') options.onTrouble(part, settlement.state, settlement.error);
    if (!hooks.has('on_delivery')) return;
    void hooks.fire('on_delivery', {
      session_id: part.sessionId,
      turn_id: part.turnId,
      platform: part.payload.address.platform,
      chat: part.payload.address.chat,
      part: part.part,
      status: settlement.state === 'dead' ? 'failed' : settlement.state,
      error,
    });
  };

  return {
    kick: (platform, chat) => loopOf(platform).wake(chat),
    open() {
      for (const { platform, chat, limitedUntil, botLimitedUntil } of outbox.openChats(now())) {
        if (limitedUntil !== null) gates.limitUntil({ platform, chat }, 'chat', limitedUntil);
        if (botLimitedUntil !== null) gates.limitUntil({ platform, chat }, 'bot', botLimitedUntil);
        loopOf(platform).wake(chat);
      }
      isOpen = true;
      for (const loop of loops.values()) loop.open();
    },
    async close() {
      closing.abort();
      await Promise.all([...loops.values()].map((loop) => loop.close()));
    },
  };
}

/** Said under a text that is sent a second time because nobody knows whether the first arrived. */
const repeatMark = '(may be a repeat)';

/** A part that the mark would make too long goes without it. */
function withRepeatMark(text: string, adapter: Adapter): string {
  const marked = `${text}\n\n${repeatMark}`;
  return adapter.split?.(marked).length === 1 ? marked : text;
}

interface SettleEnv {
  now: number;
  random: () => number;
  isIdempotent: boolean;
  limitedUntil: number;
}

/** The connection that lost the answer has others like it; a moment later the next call opens a new one, and knows what became of it. */
const repeatMs = 1000;
const quickTries = 5;
const slowTryMs = 5 * 60_000;
const giveUpMs = 3600_000;
const giveUpLimitedMs = 6 * 3600_000;

/**
 * The table of SPEC section 10. Transient: 5 tries after 1, 2, 4, 8 and 16 s, then every 5 minutes for an hour at least.
 * Limited: what the platform says plus 10 %. Unknown: resent after a second and marked, a second time it stays unknown, unless the
 * platform itself drops repeats. Permanent: never again; after an edit one new message is tried.
 */
export function toSettlement(part: PartRow, outcome: SendOutcome, env: SettleEnv): Settlement {
  const age = env.now - (part.firstTryAt ?? env.now);
  const retry = (error: string): Settlement => {
    if (part.attempts > quickTries && age >= giveUpMs) return { state: 'dead', error };
    const waitMs = part.attempts > quickTries ? slowTryMs : 1000 * 2 ** (part.attempts - 1);
    return { state: 'waiting', nextTryAt: env.now + Math.round(waitMs * (0.8 + 0.4 * env.random())), error };
  };
  switch (outcome.status) {
    case 'sent':
      return { state: 'sent', messageId: outcome.messageId };
    case 'rate_limited':
      if (age >= giveUpLimitedMs) return { state: 'dead', error: 'the platform limited this chat for too long' };
      return { state: 'waiting', nextTryAt: env.limitedUntil, error: 'rate limited', limited: outcome.scope };
    case 'transient':
      return retry(outcome.error);
    case 'unknown': {
      // An edit may be repeated freely: it puts the same text in the same place.
      if (part.messageId || env.isIdempotent) return retry(outcome.error);
      if (part.maybeSent === 'lost') return { state: 'unknown', error: outcome.error };
      return { state: 'waiting', nextTryAt: env.now + repeatMs, error: outcome.error, isLost: true };
    }
    case 'edit_gone':
      return { state: 'waiting', nextTryAt: env.now, error: outcome.error, forgetMessage: true };
    case 'moved':
      return { state: 'waiting', nextTryAt: env.now, error: `moved to ${outcome.chat}` };
    case 'permanent':
      // An edit that is refused for good says nothing about a message of its own.
      if (part.messageId && !outcome.targetGone) return { state: 'waiting', nextTryAt: env.now, error: outcome.error, forgetMessage: true };
      return { state: 'dead', error: outcome.error };
  }
}

/** Async, so that an adapter that throws at once is a rejection like any other. */
async function callAdapter(adapter: Adapter, messageId: string | null, part: OutboundPart, signal: AbortSignal): Promise<SendOutcome> {
  if (messageId && adapter.edit) return adapter.edit(messageId, part, signal);
  return (await adapter.send?.(part, signal)) ?? { status: 'transient', error: 'the platform is not available' };
}

/** An adapter has to end by itself; one that does not must not hold its chat for ever. */
async function within(call: Promise<SendOutcome>, ms: number): Promise<SendOutcome> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<SendOutcome>((resolve) => {
    timer = setTimeout(() => resolve({ status: 'unknown', error: 'the call did not end in time' }), ms);
  });
  try {
    return await Promise.race([call, late]);
  } catch (thrown) {
    return { status: 'unknown', error: toMessage(thrown) };
  } finally {
    clearTimeout(timer);
  }
}

