/**
 * A Telegram update becomes an InboundMessage, or null when it is not for us: our own message, a kind we do not handle, or not an
 * update at all. Pure, and never throws whatever the JSON holds. Source: https://core.telegram.org/bots/api#available-types.
 */
import type { Attachment, ChatType, InboundMessage, Sender } from '../../src/contract/message.ts';
import { cleanName } from '../../src/lib/clean-name.ts';
import { toAttachments, toDescription } from './media.ts';
import { stripMention, toMention, type Me } from './mention.ts';
import { toUpdate, type BareMessage, type TelegramChat, type TelegramMessage, type TelegramUpdate, type TelegramUser } from './update.ts';

export type { Me };

/** `now` (ms since the epoch) stands in where Telegram gives no time: presses of buttons. */
export function toInboundMessage(json: unknown, me: Me, now: number): InboundMessage | null {
  const update = toUpdate(json);
  if (!update) return null;
  if (update.message?.new_chat_members) return toJoin(update, update.message, me);
  if (update.message) return toMessage(update, update.message, 'message', me);
  if (update.edited_message) return toMessage(update, update.edited_message, 'edit', me);
  if (update.callback_query) return toButton(update, update.callback_query, me, now);
  if (update.message_reaction) return toReaction(update, update.message_reaction, me);
  return null;
}

function toMessage(update: TelegramUpdate, message: TelegramMessage, kind: 'message' | 'edit', me: Me): InboundMessage | null {
  const sender = toSender(message);
  if (!sender || sender.id === String(me.id) || message.chat.type === 'channel') return null;
  const attachments = toAttachments(message);
  const written = message.text ?? message.caption ?? '';
  const entities = (message.text === undefined ? message.caption_entities : message.entities) ?? [];
  const mention = toMention(written, entities, me);
  const description = toDescription(message);
  const rest = stripMention(written, mention);
  const quote = toQuote(message);
  if (written === '' && description === '' && attachments.length === 0) return null;
  // A bare mention with nothing beside it is still a message: it keeps its text.
  const isBare = rest === '' && description === '' && attachments.length === 0 && !quote;
  const text = [isBare ? written.trim() : rest, description].filter((part) => part !== '').join('\n');
  const isReplyToUs = message.reply_to_message?.from?.id === me.id && !message.reply_to_message.forum_topic_created;
  const isNamed = mention.command === 'ours' || mention.ranges.length > 0 || isReplyToUs;
  return {
    ...toBase(update, message, me),
    kind,
    sender,
    text,
    addressed: message.chat.type === 'private' || (isNamed && mention.command !== 'other'),
    ...(quote ? { quote } : {}),
    attachments,
    ...(message.media_group_id === undefined ? {} : { albumId: message.media_group_id }),
    at: (kind === 'edit' ? (message.edit_date ?? message.date) : message.date) * 1000,
  };
}

type Base = Pick<InboundMessage, 'key' | 'address' | 'chatType' | 'messageId' | 'at'> & { attachments: Attachment[]; text: string };

function toBase(update: TelegramUpdate, message: BareMessage, me: Me): Base {
  return {
    key: `update:${update.update_id}`,
    ...toPlace(message.chat, toThread(message), me),
    messageId: String(message.message_id),
    attachments: [],
    text: '',
    at: message.date * 1000,
  };
}

/**
 * A thread is a forum topic. Telegram also puts message_thread_id on plain replies in groups, so it counts only with
 * is_topic_message; the General topic has neither.
 */
function toThread(message: BareMessage): string | undefined {
  return message.is_topic_message === true && message.message_thread_id !== undefined ? String(message.message_thread_id) : undefined;
}

function toPlace(chat: TelegramChat, thread: string | undefined, me: Me): Pick<InboundMessage, 'address' | 'chatType'> {
  const chatType: ChatType = chat.type === 'private' ? 'dm' : thread === undefined ? 'group' : 'thread';
  return { address: { platform: 'telegram', account: String(me.id), chat: String(chat.id), ...(thread === undefined ? {} : { thread }) }, chatType };
}

/** People who write as a chat (anonymous admins, linked channels) are known by that chat's id. */
function toSender({ from, sender_chat: chat }: { from?: TelegramUser | undefined; sender_chat?: TelegramChat | undefined }): Sender | null {
  if (chat) return { id: String(chat.id), name: cleanName(chat.title ?? '') || String(chat.id), isBot: false };
  return from ? toPerson(from) : null;
}

function toPerson(user: TelegramUser): Sender {
  const name = cleanName([user.first_name, user.last_name].filter(Boolean).join(' ')) || cleanName(user.username ?? '') || String(user.id);
  return { id: String(user.id), name, isBot: user.is_bot };
}

/** In a topic every message answers the one that opened the topic; that is no quote. */
function toQuote(message: TelegramMessage): InboundMessage['quote'] {
  const replied = message.reply_to_message;
  if (!replied || replied.forum_topic_created) return undefined;
  const written = message.quote?.text ?? replied.text ?? replied.caption ?? '';
  const text = [written, written === '' ? toDescription(replied) || toAttachments(replied).map(({ name }) => `[${name}]`).join(' ') : ''].join('');
  return { messageId: String(replied.message_id), sender: toSender(replied)?.name ?? '', text };
}

function toJoin(update: TelegramUpdate, message: TelegramMessage, me: Me): InboundMessage | null {
  const people = (message.new_chat_members ?? []).filter((user) => user.id !== me.id).map(toPerson);
  const first = people.find((person) => !person.isBot) ?? people[0];
  if (!first) return null;
  return { ...toBase(update, message, me), kind: 'join', sender: first, text: people.map(({ name }) => name).join(', '), addressed: false };
}

function toButton(update: TelegramUpdate, query: NonNullable<TelegramUpdate['callback_query']>, me: Me, now: number): InboundMessage | null {
  if (!query.message || query.data === undefined || query.from.id === me.id) return null;
  return { ...toBase(update, query.message, me), kind: 'button', sender: toPerson(query.from), addressed: true, button: { value: query.data }, at: now };
}

function toReaction(update: TelegramUpdate, change: NonNullable<TelegramUpdate['message_reaction']>, me: Me): InboundMessage | null {
  const sender = toSender({ from: change.user, sender_chat: change.actor_chat });
  const before = change.old_reaction.flatMap(({ emoji }) => emoji ?? []);
  const after = change.new_reaction.flatMap(({ emoji }) => emoji ?? []);
  const added = after.find((emoji) => !before.includes(emoji));
  const emoji = added ?? before.find((old) => !after.includes(old));
  if (!sender || sender.id === String(me.id) || emoji === undefined || change.chat.type === 'channel') return null;
  return {
    key: `update:${update.update_id}`,
    kind: 'reaction',
    ...toPlace(change.chat, undefined, me),
    sender,
    text: '',
    addressed: change.chat.type === 'private',
    messageId: String(change.message_id),
    attachments: [],
    reaction: { emoji, removed: added === undefined },
    at: change.date * 1000,
  };
}
