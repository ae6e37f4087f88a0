/**
 * A gateway event becomes an InboundMessage, or null when it is not for us: our own message, a notice of Discord's, or not an event at all.
 * Pure, and never throws whatever the JSON holds. A message fetched from a channel's history is read as if it had just arrived.
 */
import type { ChatType, InboundMessage, Sender } from '../../src/contract/message.ts';
import { cleanName } from '../../src/lib/clean-name.ts';
import { isThread, type Directory, type Place } from './directory.ts';
import { toInteraction, toMessageEvent, toReactionEvent, type BareMessage, type DiscordChannel, type DiscordInteraction, type DiscordMember, type DiscordMessage, type DiscordReaction, type DiscordUser } from './event.ts';
import { toAttachments, toDescription } from './media.ts';
import { toReadable, type Names, type Readable } from './mention.ts';
import { toTime } from './snowflake.ts';

export interface Surroundings {
  /** The bot's own user id. */
  me: string;
  directory: Pick<Directory, 'place' | 'roleName' | 'isRoleOf'>;
}

export interface GatewayEvent {
  type: string;
  data: unknown;
}

/** `now` (ms since the epoch) stands in where Discord gives no time: reactions, commands, buttons. */
export function toInboundMessage({ type, data }: GatewayEvent, around: Surroundings, now: number): InboundMessage | null {
  if (type === 'MESSAGE_CREATE' || type === 'MESSAGE_UPDATE') {
    const message = toMessageEvent(data);
    return message && toMessage(message, type === 'MESSAGE_UPDATE', around);
  }
  if (type === 'MESSAGE_REACTION_ADD' || type === 'MESSAGE_REACTION_REMOVE') {
    const reaction = toReactionEvent(data);
    return reaction && toReaction(reaction, type === 'MESSAGE_REACTION_REMOVE', around, now);
  }
  if (type !== 'INTERACTION_CREATE') return null;
  const interaction = toInteraction(data);
  return interaction && toGesture(interaction, around, now);
}

/** https://discord.com/developers/docs/resources/message#message-object-message-types; all others are notices of Discord's. */
const messageTypes = { written: 0, join: 7, reply: 19 };

function toMessage(message: DiscordMessage, isUpdate: boolean, around: Surroundings): InboundMessage | null {
  const sender = toSender(message.author, message.member, message.webhook_id !== undefined);
  if (message.author.id === around.me) return null;
  const base = { ...toPlace(message.channel_id, message.guild_id, undefined, around), sender, messageId: message.id, at: toMoment(message) };
  if (message.type === messageTypes.join && !isUpdate) {
    return { key: `message:${message.id}`, kind: 'join', ...base, text: sender.name, addressed: false, attachments: [] };
  }
  if (message.type !== messageTypes.written && message.type !== messageTypes.reply) return null;
  // Discord also sends an update when it has looked at a link; only people's edits carry a time.
  const editedAt = Date.parse(message.edited_timestamp ?? '');
  if (isUpdate && Number.isNaN(editedAt)) return null;

  const { text: written, isMentioned } = toWritten(message, around);
  const attachments = [message, ...message.message_snapshots.map((snapshot) => snapshot.message)].flatMap(toAttachments);
  const text = [written, toDescription(message), ...toForwarded(message, around)].filter((part) => part !== '').join('\n');
  const quote = toQuote(message, around);
  if (text === '' && attachments.length === 0 && !isMentioned) return null;
  const isBare = text === '' && attachments.length === 0 && !quote;
  return {
    key: isUpdate ? `edit:${message.id}:${editedAt}` : `message:${message.id}`,
    kind: isUpdate ? 'edit' : 'message',
    ...base,
    // A bare mention with nothing beside it is still a message.
    text: isBare ? `@${nameOf(message.mentions.find(({ id }) => id === around.me)) || 'bot'}` : text,
    addressed: base.chatType === 'dm' || isMentioned || message.referenced_message?.author.id === around.me || isOwnThread(message.channel_id, around),
    ...(quote ? { quote } : {}),
    attachments,
    at: isUpdate ? editedAt : base.at,
  };
}

/** True when a message names the bot, or the role that is its own, in its text. */
export function isMention(message: DiscordMessage, around: Surroundings): boolean {
  return toWritten(message, around).isMentioned;
}

/** In a thread that the bot opened everything is meant for it. */
function isOwnThread(channel: string, { me, directory }: Surroundings): boolean {
  const place = directory.place(channel);
  return place !== undefined && isThread(place.type) && place.owner === me;
}

function toWritten(message: Pick<BareMessage, 'content' | 'mentions'>, { me, directory }: Surroundings): Readable {
  const names: Names = {
    isUs: (kind, id) => (kind === 'user' ? id === me : directory.isRoleOf(id, me)),
    user: (id) => nameOf(message.mentions.find((user) => user.id === id)),
    role: (id) => directory.roleName(id),
    channel: (id) => directory.place(id)?.name,
  };
  return toReadable(message.content, names);
}

function toForwarded({ message_snapshots }: DiscordMessage, around: Surroundings): string[] {
  return message_snapshots.map(({ message }) => {
    const text = [toWritten(message, around).text, toDescription(message)].filter((part) => part !== '').join('\n');
    return text === '' ? '[forwarded]' : `[forwarded] ${text}`;
  });
}

function toQuote({ referenced_message: replied }: DiscordMessage, around: Surroundings): InboundMessage['quote'] {
  if (!replied) return undefined;
  const written = toWritten(replied, around).text;
  const text = written || toDescription(replied) || toAttachments(replied).map(({ name }) => `[${name}]`).join(' ');
  return { messageId: replied.id, sender: nameOf(replied.author, replied.member), text };
}

function toMoment(message: BareMessage): number {
  const at = Date.parse(message.timestamp ?? '');
  return Number.isNaN(at) ? toTime(message.id) : at;
}

/**
 * A thread's chat is the channel that it belongs to, so that the channel's rules hold in it. Voice, stage and announcement channels are
 * groups like any other.
 */
function toPlace(channel: string, guild: string | undefined, given: DiscordChannel | undefined, { me, directory }: Surroundings): Pick<InboundMessage, 'address' | 'chatType' | 'parentChat'> {
  const known = directory.place(channel) ?? (given && toKnown(given));
  const base = { platform: 'discord', account: me };
  if (known && isThread(known.type) && known.parent !== undefined) {
    return { address: { ...base, chat: known.parent, thread: channel }, chatType: 'thread', parentChat: known.parent };
  }
  const chatType: ChatType = (guild ?? known?.guild) === undefined ? 'dm' : 'group';
  return { address: { ...base, chat: channel }, chatType };
}

function toKnown({ type, parent_id: parent }: DiscordChannel): Place {
  return { type, ...(parent === undefined ? {} : { parent }) };
}

function toSender(user: DiscordUser, member?: DiscordMember, isWebhook = false): Sender {
  return { id: user.id, name: nameOf(user, member) || user.id, isBot: isWebhook || user.bot === true, ...(member ? { roles: member.roles } : {}) };
}

function nameOf(user: DiscordUser | undefined, member?: DiscordMember): string {
  return cleanName(member?.nick ?? '') || cleanName(user?.global_name ?? '') || cleanName(user?.username ?? '');
}

/** Discord gives reactions no id. The same one set again after it was taken away has the same key; nothing follows from it but itself. */
function toReaction(reaction: DiscordReaction, removed: boolean, around: Surroundings, now: number): InboundMessage | null {
  const { user_id: user, channel_id, guild_id, message_id, member, emoji } = reaction;
  const name = emoji.id === undefined ? emoji.name : `:${emoji.name ?? emoji.id}:`;
  if (user === around.me || name === undefined) return null;
  const place = toPlace(channel_id, guild_id, undefined, around);
  return {
    key: `reaction:${message_id}:${user}:${emoji.id ?? name}:${removed ? 'removed' : 'added'}`,
    kind: 'reaction',
    ...place,
    sender: toSender(member?.user ?? { id: user, username: undefined, global_name: undefined, bot: undefined }, member),
    text: '',
    addressed: place.chatType === 'dm',
    messageId: message_id,
    attachments: [],
    reaction: { emoji: name, removed },
    at: now,
  };
}

/** https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-object-interaction-type */
export const interactionTypes = { command: 2, button: 3 };

function toGesture(interaction: DiscordInteraction, around: Surroundings, now: number): InboundMessage | null {
  const { id, type, data, member, message } = interaction;
  const user = member?.user ?? interaction.user;
  if (!user || user.id === around.me) return null;
  const base = {
    key: `interaction:${id}`,
    ...toPlace(interaction.channel_id, interaction.guild_id, interaction.channel, around),
    sender: toSender(user, member),
    addressed: true,
    attachments: [],
    at: now,
  };
  if (type === interactionTypes.command && data?.name !== undefined) {
    const args = data.options.map(({ value }) => String(value)).join(' ').trim();
    return { ...base, kind: 'message', text: `/${data.name}${args === '' ? '' : ` ${args}`}`, messageId: id };
  }
  if (type === interactionTypes.button && data?.custom_id !== undefined && message) {
    return { ...base, kind: 'button', text: '', messageId: message.id, button: { value: data.custom_id } };
  }
  return null;
}
