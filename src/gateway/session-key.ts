/** Which session a message belongs to. Pure, and made of ids only: no text of a message ever becomes part of a key. */
import type { InboundMessage } from '../contract/message.ts';

export interface KeyRules {
  /** In groups and channels each person has a session of their own. */
  groupPerUser: boolean;
  /** In threads too. */
  threadPerUser: boolean;
}

/** `agent:main:<platform>:<type>[:<workspace>]:<chat>[:<thread>][:<user>]`. */
export function toSessionKey(message: InboundMessage, rules: KeyRules): string {
  const { address, chatType, workspace, sender } = message;
  const parts = ['agent', 'main', address.platform, chatType];
  if (workspace) parts.push(workspace);
  parts.push(address.chat);
  if (address.thread) parts.push(address.thread);
  if (isPerUser(message, rules)) parts.push(sender.id);
  return parts.join(':');
}

/** Who may list, search and resume the session: one person, or everybody of the shared chat. */
export function toOwner(message: InboundMessage, rules: KeyRules): string {
  const { address, chatType, workspace, sender } = message;
  if (chatType === 'dm' || isPerUser(message, rules)) return [address.platform, 'user', workspace ?? '', sender.id].join(':');
  return [address.platform, 'chat', workspace ?? '', address.chat, address.thread ?? ''].join(':');
}

function isPerUser({ address, chatType }: InboundMessage, { groupPerUser, threadPerUser }: KeyRules): boolean {
  if (chatType === 'dm') return false;
  return chatType === 'thread' || address.thread !== undefined ? threadPerUser : groupPerUser;
}
