/** What is shown beside messages: the status that stands for typing, and reactions. Failures cost nothing but the gesture. */
import type { SendOutcome } from '../../src/contract/adapter.ts';
import type { Log } from '../../src/contract/log.ts';
import type { Address } from '../../src/contract/message.ts';
import { toErrorCode, toReason, toRetryAfterMs, toSendOutcome, type SlackApi } from './api.ts';

export interface Gestures {
  /** Slack has no typing for bots; an assistant's status is shown in threads alone, and goes away with the next message there. */
  typing(address: Address, signal: AbortSignal): Promise<SendOutcome | void>;
  /** Puts this emoji in the place of the one before; an empty one takes it away. */
  react(address: Address, messageId: string, emoji: string, signal: AbortSignal): Promise<void>;
  /** Tells somebody, and nobody else, that the button was not theirs to press. */
  refuse(address: Address, user: string, signal: AbortSignal): Promise<void>;
}

const remembered = 1000;

export function createGestures(api: SlackApi, log: Log): Gestures {
  /** Chats in which the status was refused; `*` is everywhere. */
  const noStatus = new Set<string>();
  /** Our reaction by `channel:message`. */
  const reactions = new Map<string, string>();
  const quietly = (what: string) => (error: unknown) => log.debug(what, { reason: toReason(error) });

  return {
    async typing({ chat, thread }, signal) {
      if (thread === undefined || noStatus.has('*') || noStatus.has(chat)) return;
      try {
        await api.call(signal, (web) => web.assistant.threads.setStatus({ channel_id: chat, thread_ts: thread, status: 'is thinking...' }));
      } catch (error) {
        quietly('the status was not shown')(error);
        const code = toErrorCode(error);
        if (code === undefined || toRetryAfterMs(error) !== undefined) return toSendOutcome(error);
        if (noStatus.size >= remembered) noStatus.clear();
        noStatus.add(withoutFeature.has(code) ? '*' : chat);
      }
    },

    async refuse({ chat, thread }, user, signal) {
      const place = { channel: chat, user, ...(thread === undefined ? {} : { thread_ts: thread }) };
      await api.call(signal, (web) => web.chat.postEphemeral({ ...place, text: 'This question is somebody else\'s to answer.' })).catch(quietly('a refusal was not shown'));
    },

    async react({ chat }, messageId, emoji, signal) {
      const name = toName(emoji);
      // A slash command is no message.
      if (name === undefined || !/^\d+\.\d+$/.test(messageId)) return;
      const key = `${chat}:${messageId}`;
      const before = reactions.get(key);
      const target = { channel: chat, timestamp: messageId };
      if (name !== '') {
        for (const oldest of reactions.keys()) if (reactions.size >= remembered) reactions.delete(oldest);
        reactions.set(key, name);
        await api.call(signal, (web) => web.reactions.add({ ...target, name })).catch(quietly('a reaction was not set'));
      } else reactions.delete(key);
      if (before !== undefined && before !== name) await api.call(signal, (web) => web.reactions.remove({ ...target, name: before })).catch(quietly('a reaction was not taken away'));
    },
  };
}

/** Refusals that hold for the whole app: it has no such feature or scope. */
const withoutFeature = new Set(['missing_scope', 'unknown_method', 'no_permission', 'access_denied', 'not_allowed_token_type', 'method_deprecated', 'feature_not_enabled']);

/** Slack knows reactions by name alone. */
const emojiNames: Record<string, string> = {
  '👀': 'eyes', '👍': '+1', '👎': '-1', '✅': 'white_check_mark', '❌': 'x', '⏳': 'hourglass_flowing_sand', '⚠️': 'warning',
  '❤': 'heart', '❤️': 'heart', '🎉': 'tada', '🔥': 'fire', '🤔': 'thinking_face', '👌': 'ok_hand', '🙏': 'pray', '🚀': 'rocket', '💯': '100', '👋': 'wave',
};

/** Undefined for an emoji whose name is not known; an empty one stays empty. */
function toName(emoji: string): string | undefined {
  return emoji === '' ? '' : (/^:([a-z0-9_+'-]+):$/.exec(emoji)?.[1] ?? emojiNames[emoji]);
}
