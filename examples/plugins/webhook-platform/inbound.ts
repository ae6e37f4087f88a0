/**
 * What comes in. signed POST -> checked -> toInboundMessage() -> received and committed -> 200. Anything but 2xx says that the event
 * was not kept and may be posted again; the same `id` is taken once.
 */
import type { InboundMessage, Receive, RouteReply, RouteRequest } from 'hermes-gateway';
import { z } from 'zod';
import type { WebhookConfig } from './config.ts';
import { toSignatureFault } from './signature.ts';

/** Ids become parts of addresses (`webhook:CHAT:THREAD`), so they hold no colon and no blank. */
const id = z.union([z.string(), z.int()]).transform(String).refine((text) => /^[\w.@+-]{1,200}$/.test(text), 'may hold letters, digits and "_.@+-", 200 at most');

const eventSchema = z.object({
  type: z.enum(['message', 'edit', 'button']).default('message'),
  /** Of the event, not of the message: an edit has one of its own. */
  id,
  chat: z.object({ id, type: z.enum(['dm', 'group']).default('dm'), thread: id.optional() }),
  sender: z.object({ id, name: z.string().default(''), bot: z.boolean().default(false) }),
  text: z.string().max(100_000).default(''),
  message_id: id.optional(),
  /** `own`: it answers a message of the agent. */
  reply_to: z.object({ message_id: id, text: z.string().max(10_000).default(''), own: z.boolean().default(false) }).optional(),
  /** Value of the pressed button, as it was posted. */
  button: z.string().max(64).optional(),
  attachments: z
    .array(z.object({ url: z.url(), name: z.string().max(200), mime: z.string().max(100).default('application/octet-stream'), size: z.int().nonnegative().nullable().default(null) }))
    .max(10)
    .default([]),
});

export type WebhookEvent = z.output<typeof eventSchema>;

/** Pure. Null for what the agent posted itself and somebody passes on. */
export function toInboundMessage(event: WebhookEvent, name: string, now: number): InboundMessage | null {
  const { chat, sender, reply_to: quoted } = event;
  if (sender.id === name) return null;
  const mention = new RegExp(`(?<!\\S)@${name.replaceAll('.', '\\.')}(?![\\w.-])[,:]?\\s*`, 'i');
  return {
    key: event.id,
    kind: event.type,
    address: { platform: 'webhook', account: name, chat: chat.id, ...(chat.thread === undefined ? {} : { thread: chat.thread }) },
    chatType: chat.type,
    sender: { id: sender.id, name: toPlainName(sender.name || sender.id), isBot: sender.bot },
    text: event.text.replace(mention, '').trim(),
    addressed: chat.type === 'dm' || mention.test(event.text) || (quoted?.own ?? false),
    messageId: event.message_id ?? event.id,
    ...(quoted ? { quote: { messageId: quoted.message_id, sender: quoted.own ? name : '', text: quoted.text } } : {}),
    attachments: event.attachments.map(({ url, mime, name, size }) => ({ kind: toKind(mime), ref: url, name: toPlainName(name), mime, size })),
    ...(event.button === undefined ? {} : { button: { value: event.button } }),
    at: now,
  };
}

export async function takeIn({ headers, rawBody, body }: RouteRequest, { secret, name }: WebhookConfig, receive: Receive, now: number): Promise<RouteReply> {
  const fault = toSignatureFault(secret, headers, rawBody, now);
  if (fault !== null) return { status: 401, body: { error: fault } };
  const parsed = eventSchema.safeParse(body);
  if (!parsed.success) return { status: 400, body: { error: parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`).join('; ') } };
  const message = toInboundMessage(parsed.data, name, now);
  if (!message) return { status: 200, body: { status: 'ignored' } };
  try {
    const { status } = await receive(message);
    return { status: 200, body: { status } };
  } catch {
    return { status: 503, headers: { 'retry-after': '5' }, body: { error: 'it could not be kept; post it again' } };
  }
}

function toPlainName(name: string): string {
  return name.replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim().slice(0, 64);
}

function toKind(mime: string): 'image' | 'audio' | 'video' | 'file' {
  const kind = mime.split('/', 1)[0];
  return kind === 'image' || kind === 'audio' || kind === 'video' ? kind : 'file';
}
