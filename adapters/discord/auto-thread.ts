/**
 * A mention in a server's channel opens a thread, and the conversation goes on there. The thread of a message has the message's own id, so the
 * same event leads to the same thread however often it comes. Source: https://discord.com/developers/docs/resources/channel#start-thread-from-message.
 */
import type { InboundMessage } from '../../src/contract/message.ts';
import { cleanName } from '../../src/lib/clean-name.ts';
import { toCode, type DiscordApi } from './api.ts';
import { channelTypes, type Directory } from './directory.ts';
import { toChannel, type DiscordMessage } from './event.ts';
import { isMention, type Surroundings } from './inbound.ts';

const archiveMinutes = 1440;
const alreadyThere = 160004;
const publicThread = 11;

/** Pure. A command is answered where it was given; a thread for it would be another session than the one it is about. */
export function wantsThread(inbound: InboundMessage, message: DiscordMessage, around: Surroundings): boolean {
  const type = around.directory.place(message.channel_id)?.type ?? channelTypes.text;
  return (
    inbound.kind === 'message' &&
    inbound.chatType === 'group' &&
    !inbound.sender.isBot &&
    !inbound.text.startsWith('/') &&
    (type === channelTypes.text || type === channelTypes.announcement) &&
    isMention(message, around)
  );
}

/** Opens the message's thread unless it is there; resolves with its id. Rejects when Discord does not allow it. */
export async function openThread(api: DiscordApi, directory: Directory, inbound: InboundMessage, message: DiscordMessage, signal: AbortSignal): Promise<string> {
  const { id, channel_id: parent, guild_id: guild } = message;
  if (message.thread) directory.add({ ...message.thread, parent_id: parent }, guild);
  if (directory.place(id)) return id;
  const name = cleanName(inbound.text) || `Question of ${inbound.sender.name}`;
  const opened = await api.call('POST', `/channels/${parent}/messages/${id}/threads`, { body: { name, auto_archive_duration: archiveMinutes }, signal }).catch((error: unknown) => {
    if (toCode(error) !== alreadyThere) throw error;
  });
  const thread = toChannel(opened);
  const made = thread?.id ?? id;
  directory.add({ id: made, type: thread?.type ?? publicThread, guild_id: guild, parent_id: parent, owner_id: thread?.owner_id ?? inbound.address.account, name, last_message_id: undefined });
  return made;
}

/** The same message in its thread. Pure. */
export function inThread(inbound: InboundMessage, thread: string): InboundMessage {
  return { ...inbound, address: { ...inbound.address, thread }, chatType: 'thread', parentChat: inbound.address.chat };
}
