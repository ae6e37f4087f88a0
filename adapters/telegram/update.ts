/**
 * The part of a Bot API update that this adapter reads, checked once at the edge. A field that is not as documented counts as absent;
 * only what identifies a message (its id, chat and sender) is insisted on. Source: https://core.telegram.org/bots/api#update.
 */
import { z } from 'zod';

/** An optional field that never makes its owner invalid. */
const maybe = <T extends z.ZodType>(schema: T) => schema.optional().catch(undefined);
const id = z.int();

const user = z.object({
  id,
  is_bot: z.boolean().catch(false),
  first_name: maybe(z.string()),
  last_name: maybe(z.string()),
  username: maybe(z.string()),
});

const chat = z.object({
  id,
  type: z.enum(['private', 'group', 'supergroup', 'channel']),
  title: maybe(z.string()),
});

const entity = z.object({ type: z.string(), offset: z.int().min(0), length: z.int().min(0), user: maybe(user) });
const entities = maybe(z.array(entity));

const file = z.object({
  file_id: z.string().min(1),
  file_size: maybe(z.int().min(0)),
  file_name: maybe(z.string()),
  mime_type: maybe(z.string()),
});

const bareMessage = z.object({
  message_id: id,
  date: z.int().catch(0),
  edit_date: maybe(z.int()),
  chat,
  from: maybe(user),
  sender_chat: maybe(chat),
  message_thread_id: maybe(id),
  is_topic_message: maybe(z.boolean()),
  text: maybe(z.string()),
  entities,
  caption: maybe(z.string()),
  caption_entities: entities,
  media_group_id: maybe(z.string()),
  photo: maybe(z.array(file)),
  document: maybe(file),
  animation: maybe(file),
  video: maybe(file),
  video_note: maybe(file),
  audio: maybe(file),
  voice: maybe(file),
  sticker: maybe(z.object({ ...file.shape, emoji: maybe(z.string()), is_animated: maybe(z.boolean()), is_video: maybe(z.boolean()) })),
  location: maybe(z.object({ latitude: z.number(), longitude: z.number() })),
  venue: maybe(z.object({ title: z.string(), address: z.string() })),
  contact: maybe(z.object({ phone_number: z.string(), first_name: z.string(), last_name: maybe(z.string()) })),
  poll: maybe(z.object({ question: z.string(), options: z.array(z.object({ text: z.string() })) })),
  dice: maybe(z.object({ emoji: z.string(), value: z.number() })),
  new_chat_members: maybe(z.array(user)),
  forum_topic_created: maybe(z.object({ name: z.string() })),
  migrate_to_chat_id: maybe(id),
});

const message = z.object({
  ...bareMessage.shape,
  reply_to_message: maybe(bareMessage),
  quote: maybe(z.object({ text: z.string() })),
});

const emoji = z.object({ type: z.string(), emoji: maybe(z.string()) });

export const updateSchema = z.object({
  update_id: id,
  message: maybe(message),
  edited_message: maybe(message),
  callback_query: maybe(z.object({ id: z.string(), from: user, message: maybe(bareMessage), data: maybe(z.string()) })),
  message_reaction: maybe(
    z.object({ chat, message_id: id, user: maybe(user), actor_chat: maybe(chat), date: z.int().catch(0), old_reaction: z.array(emoji).catch([]), new_reaction: z.array(emoji).catch([]) }),
  ),
  my_chat_member: maybe(z.object({ chat, from: user, new_chat_member: z.object({ status: z.string() }) })),
});

/** The kinds of update that this adapter asks Telegram for. */
export const allowedUpdates = ['message', 'edited_message', 'callback_query', 'message_reaction', 'my_chat_member'] as const;

export type TelegramUpdate = z.output<typeof updateSchema>;
export type TelegramMessage = z.output<typeof message>;
export type BareMessage = z.output<typeof bareMessage>;
export type TelegramUser = z.output<typeof user>;
export type TelegramChat = z.output<typeof chat>;
export type TelegramEntity = z.output<typeof entity>;
export type TelegramFile = z.output<typeof file>;

/** Reads any JSON; null when it is no update at all. Never throws. */
export function toUpdate(json: unknown): TelegramUpdate | null {
  const read = updateSchema.safeParse(json);
  return read.success ? read.data : null;
}
