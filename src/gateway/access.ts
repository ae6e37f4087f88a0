/**
 * The one gate in front of every entry path: messages, edits, buttons, reactions, commands, webhooks. Pure and in memory, so a
 * stranger costs no commit, no typing, no download and no model call. Default is nobody.
 *
 * own or other bot? -> ignored chat? -> who: allow_all -> paired (direct chats) -> allowed_users -> everywhere-allowed users;
 * in groups an allowed chat or an allowed sender -> in groups: addressed, or a chat that is free.
 */
import type { InboundMessage } from '../contract/message.ts';

/** The part of a platform's configuration that decides who may write; see lib/platform-config.ts. */
export interface AccessRules {
  allowed_users: readonly string[];
  allowed_chats: readonly string[];
  group_allowed_users: readonly string[];
  allowed_roles?: readonly string[];
  allow_all: boolean;
  unauthorized_dm: 'pair' | 'ignore';
  require_mention: boolean;
  mention_patterns: readonly string[];
  free_response_chats: readonly string[];
  ignored_chats: readonly string[];
}

export interface EverywhereRules {
  allowed_users: readonly string[];
  allow_all: boolean;
}

export type Verdict =
  | { allow: true }
  | { allow: false; reason: 'not_allowed' | 'not_addressed' | 'bot'; /** A direct message that may be answered with a pairing code. */ mayPair: boolean };

export interface Access {
  authorize(message: InboundMessage): Verdict;
  /** Without the mention rule: may this sender act in this chat at all? For buttons and platform gestures. */
  isAllowed(message: InboundMessage): boolean;
}

export interface AccessOptions {
  /** By platform. A platform without rules lets nobody in. */
  rules: ReadonlyMap<string, AccessRules>;
  everywhere: EverywhereRules;
  /** Platforms whose adapter has checked the caller already (a bearer key, the local terminal). */
  trusted: ReadonlySet<string>;
  isPaired(platform: string, userId: string): boolean;
}

export function createAccess({ rules, everywhere, trusted, isPaired }: AccessOptions): Access {
  const patterns = new Map([...rules].map(([platform, { mention_patterns }]) => [platform, mention_patterns.flatMap(toPattern)]));

  const isAllowed = (message: InboundMessage): boolean => {
    const { address, sender, chatType } = message;
    if (trusted.has(address.platform)) return true;
    const rule = rules.get(address.platform);
    if (!rule || isIn(rule.ignored_chats, message)) return false;
    if (rule.allow_all || everywhere.allow_all) return true;
    if (rule.allowed_users.includes(sender.id) || everywhere.allowed_users.includes(sender.id)) return true;
    if (sender.roles?.some((role) => rule.allowed_roles?.includes(role))) return true;
    if (chatType === 'dm') return isPaired(address.platform, sender.id);
    return rule.group_allowed_users.includes(sender.id) || isIn(rule.allowed_chats, message);
  };

  const isAddressed = (message: InboundMessage): boolean => {
    if (message.chatType === 'dm' || message.addressed || trusted.has(message.address.platform)) return true;
    const rule = rules.get(message.address.platform);
    if (!rule) return false;
    if (!rule.require_mention || isIn(rule.free_response_chats, message)) return true;
    return patterns.get(message.address.platform)?.some((pattern) => pattern.test(message.text)) ?? false;
  };

  return {
    isAllowed,
    authorize(message) {
      if (message.sender.isBot) return { allow: false, reason: 'bot', mayPair: false };
      if (!isAllowed(message)) {
        const rule = rules.get(message.address.platform);
        const mayPair = message.chatType === 'dm' && rule?.unauthorized_dm === 'pair' && !isIn(rule.ignored_chats, message);
        return { allow: false, reason: 'not_allowed', mayPair };
      }
      if (message.kind === 'message' && !isAddressed(message)) return { allow: false, reason: 'not_addressed', mayPair: false };
      return { allow: true };
    },
  };
}

/** A thread answers to its parent's rules as well as to its own. */
function isIn(list: readonly string[], { address, parentChat }: InboundMessage): boolean {
  return list.includes(address.chat) || (parentChat !== undefined && list.includes(parentChat));
}

/** An invalid expression is left out; the configuration check has named it. */
function toPattern(source: string): RegExp[] {
  try {
    return [new RegExp(source, 'i')];
  } catch {
    return [];
  }
}
