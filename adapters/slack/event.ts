/**
 * The part of Slack's events, slash commands and interactions that this adapter reads, checked once at the edge. A field that is not as
 * documented counts as absent; only what identifies a message (channel, time stamp, author) is insisted on.
 * Sources: https://docs.slack.dev/reference/events, /interactivity/implementing-slash-commands, /reference/interaction-payloads.
 */
import { z } from 'zod';

/** An optional field that never makes its owner invalid. */
const maybe = <T extends z.ZodType>(schema: T) => schema.optional().catch(undefined);
const id = z.string().min(1).max(64);
const text = maybe(z.string());
/** Seconds and microseconds since the epoch; also the name of a message in its channel. */
const stamp = z.string().regex(/^\d{1,12}\.\d{1,9}$/);

const file = z.object({
  id,
  name: text,
  title: text,
  mimetype: text,
  size: maybe(z.int().min(0)),
  mode: text,
  subtype: text,
  url_private: text,
  url_private_download: text,
});

/** A message that was shared into this one; other attachments are previews of links. */
const attachment = z.object({ is_share: maybe(z.boolean()), is_msg_unfurl: maybe(z.boolean()), ts: maybe(stamp), author_id: maybe(id), author_name: text, text });

const bareMessage = z.object({
  ts: stamp,
  thread_ts: maybe(stamp),
  parent_user_id: maybe(id),
  user: maybe(id),
  bot_id: maybe(id),
  username: text,
  bot_profile: maybe(z.object({ name: text })),
  user_profile: maybe(z.object({ display_name: text, real_name: text })),
  text,
  subtype: text,
  edited: maybe(z.object({ ts: stamp })),
  files: maybe(z.array(maybe(file))),
  attachments: maybe(z.array(maybe(attachment))),
});

const place = { channel: id, channel_type: text };

const messageEvent = z.object({
  type: z.enum(['message', 'app_mention']),
  ...place,
  ...bareMessage.shape,
  /** For subtype `message_changed`. */
  message: maybe(bareMessage),
  previous_message: maybe(z.object({ edited: maybe(z.object({ ts: stamp })) })),
});

const reactionEvent = z.object({
  type: z.enum(['reaction_added', 'reaction_removed']),
  user: id,
  reaction: z.string().min(1).max(100),
  item: z.object({ type: z.literal('message'), channel: id, ts: stamp }),
  event_ts: stamp,
});

const joinEvent = z.object({ type: z.literal('member_joined_channel'), user: id, ...place, event_ts: stamp });

/** Slack drops events while an app gets too many of them. */
const limitedEvent = z.object({ type: z.literal('app_rate_limited'), minute_rate_limited: maybe(z.number()) });

const callback = z.object({
  type: z.literal('event_callback'),
  team_id: maybe(id),
  event: z.discriminatedUnion('type', [messageEvent, reactionEvent, joinEvent]),
});

const command = z.object({
  command: z.string().min(1),
  text: text,
  trigger_id: z.string().min(1).max(200),
  team_id: maybe(id),
  channel_id: id,
  channel_name: text,
  user_id: id,
  user_name: text,
});

const press = z.object({
  type: z.literal('block_actions'),
  team: maybe(z.object({ id })),
  user: z.object({ id, name: text, username: text }),
  channel: z.object({ id, name: text }),
  message: z.object({ ts: stamp, thread_ts: maybe(stamp) }),
  container: maybe(z.object({ thread_ts: maybe(stamp) })),
  actions: z.array(z.object({ action_id: z.string(), value: z.string(), action_ts: stamp })).min(1),
});

/** How a payload came, in Socket Mode's words: they say what its shape is. */
export type PayloadType = 'events_api' | 'slash_commands' | 'interactive';

export type SlackCallback = z.output<typeof callback>;
export type SlackCommand = z.output<typeof command>;
export type SlackPress = z.output<typeof press>;
export type MessageEvent = z.output<typeof messageEvent>;
export type ReactionEvent = z.output<typeof reactionEvent>;
export type JoinEvent = z.output<typeof joinEvent>;
export type BareMessage = z.output<typeof bareMessage>;
export type SlackFile = z.output<typeof file>;

export type Payload =
  | { type: 'events_api'; body: SlackCallback }
  | { type: 'slash_commands'; body: SlackCommand }
  | { type: 'interactive'; body: SlackPress }
  | { type: 'rate_limited' };

/** Reads any JSON; null when it is none of these. Never throws. */
export function toPayload(type: string, json: unknown): Payload | null {
  if (type === 'events_api') {
    const read = callback.safeParse(json);
    if (read.success) return { type, body: read.data };
    return limitedEvent.safeParse(json).success ? { type: 'rate_limited' } : null;
  }
  if (type === 'slash_commands') {
    const read = command.safeParse(json);
    return read.success ? { type, body: read.data } : null;
  }
  if (type === 'interactive') {
    const read = press.safeParse(json);
    return read.success ? { type, body: read.data } : null;
  }
  return null;
}

const envelope = z.object({ type: z.string(), envelope_id: maybe(z.string().min(1)), payload: z.unknown().optional(), reason: text, retry_attempt: maybe(z.number()), retry_reason: text });

export type Envelope = z.output<typeof envelope>;

/** A frame of a socket; null when it is not one of Slack's. Never throws. */
export function toEnvelope(frame: unknown): Envelope | null {
  if (typeof frame !== 'string') return null;
  try {
    const read = envelope.safeParse(JSON.parse(frame));
    return read.success ? read.data : null;
  } catch {
    return null;
  }
}
