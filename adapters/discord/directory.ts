/**
 * What the gateway has told about servers: which channel is a thread of which, who opened it, how roles are called and which role is the
 * bot's own. Kept in memory only; a channel that is not there can be asked for.
 */
import { toChannel, toGuild, toRoleEvent, toThreads, type DiscordChannel, type DiscordRole } from './event.ts';

export interface Place {
  /** https://discord.com/developers/docs/resources/channel#channel-object-channel-types */
  type: number;
  guild?: string;
  parent?: string;
  /** Who opened the thread. */
  owner?: string;
  name?: string;
}

export interface Directory {
  /** Learns from an event; others pass by. Never throws. */
  take(type: string, data: unknown): void;
  add(channel: DiscordChannel, guild?: string): void;
  place(channel: string): Place | undefined;
  roleName(role: string): string | undefined;
  /** The role that Discord made for the bot with this user id. */
  isRoleOf(role: string, bot: string): boolean;
}

export const channelTypes = { text: 0, dm: 1, voice: 2, groupDm: 3, category: 4, announcement: 5, forum: 15, media: 16 } as const;
const threads = new Set([10, 11, 12]);
const withoutMessages = new Set<number>([channelTypes.category, channelTypes.forum, channelTypes.media]);

export const isThread = (type: number): boolean => threads.has(type);
/** False for channels that only hold other channels or posts. */
export const holdsMessages = (type: number): boolean => !withoutMessages.has(type);

export function createDirectory(): Directory {
  const places = new Map<string, Place>();
  const roles = new Map<string, DiscordRole>();

  const add = (channel: DiscordChannel, guild?: string): void => {
    const of = channel.guild_id ?? guild;
    const { type, parent_id: parent, owner_id: owner, name } = channel;
    places.set(channel.id, {
      type,
      ...(of === undefined ? {} : { guild: of }),
      ...(parent === undefined ? {} : { parent }),
      ...(owner === undefined ? {} : { owner }),
      ...(name === undefined ? {} : { name }),
    });
  };

  const takeGuild = (data: unknown): void => {
    const guild = toGuild(data);
    for (const channel of [...(guild?.channels ?? []), ...(guild?.threads ?? [])]) add(channel, guild?.id);
    for (const role of guild?.roles ?? []) roles.set(role.id, role);
  };

  const takeChannel = (data: unknown): void => {
    const channel = toChannel(data);
    if (channel) add(channel);
  };

  const takeRole = (data: unknown): void => {
    const event = toRoleEvent(data);
    if (event) roles.set(event.role.id, event.role);
  };

  const takers = new Map<string, (data: unknown) => void>([
    ['GUILD_CREATE', takeGuild],
    ['CHANNEL_CREATE', takeChannel],
    ['CHANNEL_UPDATE', takeChannel],
    ['THREAD_CREATE', takeChannel],
    ['THREAD_UPDATE', takeChannel],
    ['THREAD_LIST_SYNC', (data) => toThreads(data)?.threads.forEach((thread) => add(thread))],
    ['CHANNEL_DELETE', (data) => void places.delete(toChannel(data)?.id ?? '')],
    ['THREAD_DELETE', (data) => void places.delete(toChannel(data)?.id ?? '')],
    ['GUILD_ROLE_CREATE', takeRole],
    ['GUILD_ROLE_UPDATE', takeRole],
  ]);

  return {
    take: (type, data) => takers.get(type)?.(data),
    add,
    place: (channel) => places.get(channel),
    roleName: (role) => roles.get(role)?.name,
    isRoleOf: (role, bot) => roles.get(role)?.tags?.bot_id === bot,
  };
}
