/**
 * The part of a gateway event that this adapter reads, checked once at the edge. A field that is not as documented counts as absent; only
 * what identifies an event (its ids and sender) is insisted on. Source: https://discord.com/developers/docs/events/gateway-events.
 */
import { z } from 'zod';

/** An optional field that never makes its owner invalid; Discord writes null and absence alike. */
const maybe = <T extends z.ZodType>(schema: T) => schema.nullish().transform((value) => value ?? undefined).catch(undefined);
const listOf = <T extends z.ZodType>(schema: T) => z.array(schema).catch([]);
const id = z.string().regex(/^\d{1,20}$/);

const user = z.object({
  id,
  username: maybe(z.string()),
  global_name: maybe(z.string()),
  bot: maybe(z.boolean()),
});

const member = z.object({ nick: maybe(z.string()), roles: listOf(id), user: maybe(user) });

const channel = z.object({
  id,
  type: z.int().catch(0),
  guild_id: maybe(id),
  parent_id: maybe(id),
  owner_id: maybe(id),
  name: maybe(z.string()),
  // Null tells of an empty channel, absence tells nothing.
  last_message_id: id.nullable().optional().catch(undefined),
});

const attachment = z.object({
  id: z.string(),
  filename: maybe(z.string()),
  title: maybe(z.string()),
  content_type: maybe(z.string()),
  size: maybe(z.int().min(0)),
  url: z.string().min(1),
});

const poll = z.object({
  question: z.object({ text: maybe(z.string()) }),
  answers: listOf(z.object({ poll_media: z.object({ text: maybe(z.string()) }) })),
});

const content = {
  content: z.string().catch(''),
  mentions: listOf(user),
  attachments: listOf(attachment),
  sticker_items: listOf(z.object({ name: z.string() })),
  poll: maybe(poll),
  flags: maybe(z.int()),
};

const bareMessage = z.object({
  ...content,
  id,
  channel_id: id,
  guild_id: maybe(id),
  type: z.int().catch(0),
  author: user,
  member: maybe(member),
  webhook_id: maybe(id),
  timestamp: maybe(z.string()),
  edited_timestamp: maybe(z.string()),
  /** What was forwarded, as it was then. */
  message_snapshots: listOf(z.object({ message: z.object(content) })),
  thread: maybe(channel),
});

const message = z.object({ ...bareMessage.shape, referenced_message: maybe(bareMessage) });

const reaction = z.object({
  user_id: id,
  channel_id: id,
  message_id: id,
  guild_id: maybe(id),
  member: maybe(member),
  emoji: z.object({ id: maybe(id), name: maybe(z.string()) }),
});

const interaction = z.object({
  id,
  application_id: id,
  type: z.int(),
  token: z.string().min(1),
  guild_id: maybe(id),
  channel_id: id,
  channel: maybe(channel),
  member: maybe(member),
  user: maybe(user),
  message: maybe(z.object({ id })),
  data: maybe(
    z.object({
      name: maybe(z.string()),
      custom_id: maybe(z.string()),
      options: listOf(z.object({ value: z.union([z.string(), z.number(), z.boolean()]) })),
    }),
  ),
});

const role = z.object({ id, name: z.string().catch(''), tags: maybe(z.object({ bot_id: maybe(id) })) });

const guild = z.object({ id, channels: listOf(channel), threads: listOf(channel), roles: listOf(role) });

const ready = z.object({
  user,
  application: maybe(z.object({ id })),
  guilds: listOf(z.object({ id })),
});

const gatewayInfo = z.object({
  url: z.string().min(1),
  session_start_limit: z
    .object({ total: z.number(), remaining: z.number(), reset_after: z.number() })
    .catch({ total: 1000, remaining: 1000, reset_after: 0 }),
});

export type DiscordUser = z.output<typeof user>;
export type DiscordMember = z.output<typeof member>;
export type DiscordChannel = z.output<typeof channel>;
export type DiscordMessage = z.output<typeof message>;
export type BareMessage = z.output<typeof bareMessage>;
export type MessageContent = Pick<BareMessage, keyof typeof content>;
export type DiscordReaction = z.output<typeof reaction>;
export type DiscordInteraction = z.output<typeof interaction>;
export type DiscordGuild = z.output<typeof guild>;
export type DiscordRole = z.output<typeof role>;
export type GatewayInfo = z.output<typeof gatewayInfo>;

/** Each reads any JSON; null when it is not what it should be. None throws. */
const reader = <T extends z.ZodType>(schema: T) => (json: unknown): z.output<T> | null => {
  const read = schema.safeParse(json);
  return read.success ? read.data : null;
};

export const toMessageEvent = reader(message);
export const toReactionEvent = reader(reaction);
export const toInteraction = reader(interaction);
export const toChannel = reader(channel);
export const toGuild = reader(guild);
export const toMember = reader(member);
export const toReady = reader(ready);
export const toGatewayInfo = reader(gatewayInfo);
export const toThreads = reader(z.object({ threads: listOf(channel) }));
export const toRoleEvent = reader(z.object({ role }));
/** A message as the API gives it back after it was sent. */
export const toSent = reader(z.object({ id, content: z.string().catch('') }));
/** Where an event belongs, whatever it holds. */
export const toChannelId = reader(z.object({ channel_id: id }));
