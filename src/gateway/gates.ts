/**
 * Which chats may not be called now. Shared by finals, previews, status lines and typing, so that none of them calls into
 * another's rate limit. In memory; a limit that must survive a restart stands on the outbox row that met it.
 */
import type { Address } from '../contract/message.ts';

type Chat = Pick<Address, 'platform' | 'chat'>;

export interface Gates {
  /** Ms until the platform takes calls for this chat again; 0 is now. */
  limitedFor(chat: Chat): number;
  /** The platform said to wait; 10 % and a quarter of a second are added. Returns the moment at which to try again. */
  limit(chat: Chat, scope: 'chat' | 'bot', retryAfterMs: number): number;
  /** The same, for a limit that a former process met. */
  limitUntil(chat: Chat, scope: 'chat' | 'bot', until: number): void;
  /** True while previews and typing to the chat are pointless: limited, or the chat is gone. */
  isShut(chat: Chat): boolean;
  /** True for a day after noteGone(). */
  isGone(chat: Chat): boolean;
  /** The chat was deleted or has blocked us; previews and typing leave it alone for a day. */
  noteGone(chat: Chat): void;
}

const goneMs = 24 * 3600 * 1000;
/** Beyond so many entries those that are over are swept out. */
const sweepAt = 1000;

export function createGates(now: () => number): Gates {
  const notBefore = new Map<string, number>();
  const goneUntil = new Map<string, number>();
  const chatKey = ({ platform, chat }: Chat) => `${platform}:${chat}`;
  const bucket = (chat: Chat, scope: 'chat' | 'bot') => (scope === 'bot' ? chat.platform : chatKey(chat));
  const limitedFor = (chat: Chat) => Math.max(0, (notBefore.get(chatKey(chat)) ?? 0) - now(), (notBefore.get(chat.platform) ?? 0) - now());
  const isGone = (chat: Chat) => (goneUntil.get(chatKey(chat)) ?? 0) > now();
  const raise = (key: string, until: number) => {
    if (notBefore.size > sweepAt) sweep(notBefore, now());
    notBefore.set(key, Math.max(notBefore.get(key) ?? 0, until));
  };

  return {
    limitedFor,
    limit(chat, scope, retryAfterMs) {
      const until = now() + Math.ceil(retryAfterMs * 1.1) + 250;
      raise(bucket(chat, scope), until);
      return until;
    },
    limitUntil: (chat, scope, until) => raise(bucket(chat, scope), until),
    isShut: (chat) => limitedFor(chat) > 0 || isGone(chat),
    isGone,
    noteGone(chat) {
      if (goneUntil.size > sweepAt) sweep(goneUntil, now());
      goneUntil.set(chatKey(chat), now() + goneMs);
    },
  };
}

function sweep(moments: Map<string, number>, now: number): void {
  for (const [key, at] of moments) if (at <= now) moments.delete(key);
}
