/** What Discord's servers remember: people, servers, channels, threads and messages, in the platform's own JSON. */

export type Json = Record<string, unknown>;

export interface DiscordUser {
  id: string;
  username: string;
  global_name: string | null;
  bot?: true;
}

export interface DiscordChannel {
  id: string;
  type: number;
  name?: string;
  guild_id?: string;
  parent_id?: string;
  owner_id?: string;
  last_message_id: string | null;
  recipients?: DiscordUser[];
  thread_metadata?: { archived: boolean; locked: boolean; auto_archive_duration: number };
}

export interface DiscordGuild {
  id: string;
  name: string;
  roles: { id: string; name: string; managed?: boolean; tags?: { bot_id: string } }[];
  members: Map<string, { nick: string | null; roles: string[] }>;
}

/** A message as the server keeps it. */
export interface DiscordMessage {
  id: string;
  channel_id: string;
  type: number;
  content: string;
  author: DiscordUser;
  timestamp: string;
  edited_timestamp: string | null;
  mentions: DiscordUser[];
  mention_roles: string[];
  attachments: Json[];
  components: Json[];
  flags: number;
  message_reference?: { message_id: string; channel_id: string };
  webhook_id?: string;
  nonce?: string;
  [more: string]: unknown;
}

/** A message that the bot sent and Discord accepted, as people see it now. */
export interface SentMessage {
  channel: string;
  id: string;
  content: string;
  /** Earlier texts, oldest first. */
  edits: string[];
  replyTo?: string;
  buttons: { label: string; custom_id: string }[][];
  nonce?: string;
  files: { name: string; bytes: Uint8Array }[];
  /** Who got a notification of it: user ids, role ids, `everyone`. */
  pinged: string[];
  embedsSuppressed: boolean;
  reactions: string[];
  /** ms since the epoch. */
  at: number;
}

export interface Call {
  /** What the simulator calls the route: send, edit, typing, thread ... */
  name: string;
  method: string;
  path: string;
  query: Record<string, string>;
  body: Json;
  at: number;
}

export interface World {
  me: DiscordUser;
  users: Map<string, DiscordUser>;
  guilds: Map<string, DiscordGuild>;
  channels: Map<string, DiscordChannel>;
  messages: Map<string, DiscordMessage[]>;
  /** Channels that the bot may not use, with Discord's code for it. */
  closed: Map<string, number>;
  /** `channel:nonce` to message; a deleted message stays in it. */
  nonces: Map<string, DiscordMessage>;
  sent: SentMessage[];
  calls: Call[];
  commands: Json[];
  typing: string[];
  /** Answers to interactions, by interaction id. */
  responses: Map<string, { type: number; data: Json; isDeleted: boolean }>;
  files: Map<string, { bytes: Uint8Array; declaresSize: boolean }>;
  nextId(): string;
}

const epoch = 1_420_070_400_000;

export function createWorld(name: string): World {
  let last = 0n;
  const nextId = (): string => {
    const first = BigInt(Date.now() - epoch) << 22n;
    last = first > last ? first : last + 1n;
    return String(last);
  };
  const me: DiscordUser = { id: nextId(), username: name, global_name: null, bot: true };
  return {
    me,
    users: new Map([[me.id, me]]),
    guilds: new Map(),
    channels: new Map(),
    messages: new Map(),
    closed: new Map(),
    nonces: new Map(),
    sent: [],
    calls: [],
    commands: [],
    typing: [],
    responses: new Map(),
    files: new Map(),
    nextId,
  };
}

export function findMessage(world: World, channel: string, id: string): DiscordMessage | undefined {
  return world.messages.get(channel)?.find((message) => message.id === id);
}

/** Keeps a message and moves its channel's newest id. */
export function keepMessage(world: World, message: DiscordMessage): void {
  const channel = world.channels.get(message.channel_id);
  const list = world.messages.get(message.channel_id) ?? [];
  list.push(message);
  world.messages.set(message.channel_id, list);
  if (channel) channel.last_message_id = message.id;
}

export function createMessage(world: World, given: { channel: string; author: DiscordUser; content: string } & Partial<DiscordMessage>): DiscordMessage {
  const { channel, author, content, ...rest } = given;
  const users = [...content.matchAll(/<@!?(\d+)>/g)].flatMap(([, id]) => world.users.get(id ?? '') ?? []);
  return {
    id: world.nextId(),
    channel_id: channel,
    type: rest.message_reference ? 19 : 0,
    content,
    author,
    timestamp: new Date().toISOString(),
    edited_timestamp: null,
    mentions: users,
    mention_roles: [...content.matchAll(/<@&(\d+)>/g)].map(([, id]) => id ?? ''),
    attachments: [],
    components: [],
    flags: 0,
    ...rest,
  };
}

/** As the REST API gives it: with the message it answers, without server and member. */
export function toRestMessage(world: World, message: DiscordMessage): Json {
  const { message_reference: reference } = message;
  const thread = world.channels.get(message.id);
  return {
    ...message,
    ...(reference ? { referenced_message: findMessage(world, reference.channel_id, reference.message_id) ?? null } : {}),
    ...(thread ? { thread } : {}),
  };
}

/** As the gateway tells it: with the server and the sender's place in it. */
export function toGatewayMessage(world: World, message: DiscordMessage): Json {
  const channel = world.channels.get(message.channel_id);
  const member = channel?.guild_id === undefined ? undefined : world.guilds.get(channel.guild_id)?.members.get(message.author.id);
  return {
    ...toRestMessage(world, message),
    channel_type: channel?.type ?? 0,
    ...(channel?.guild_id === undefined ? {} : { guild_id: channel.guild_id, ...(message.webhook_id ? {} : { member: { nick: null, roles: [], ...member } }) }),
  };
}

export function toGuildCreate(world: World, guild: DiscordGuild): Json {
  const channels = [...world.channels.values()].filter((channel) => channel.guild_id === guild.id);
  const isThread = ({ type }: DiscordChannel): boolean => type >= 10 && type <= 12;
  const bare = ({ guild_id: _guild, ...channel }: DiscordChannel): Json => channel;
  return {
    id: guild.id,
    name: guild.name,
    roles: guild.roles,
    unavailable: false,
    member_count: guild.members.size,
    members: [{ user: world.me, ...guild.members.get(world.me.id) }],
    channels: channels.filter((channel) => !isThread(channel)).map(bare),
    threads: channels.filter((channel) => isThread(channel) && !channel.thread_metadata?.archived),
  };
}
