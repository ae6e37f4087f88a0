/**
 * From a chat completion request to an InboundMessage. The last user message is the message; what stands before it is the
 * history that a fresh session starts with; system and developer messages become its instructions.
 */
import { z } from 'zod';
import type { Attachment, InboundMessage, MessageOptions } from '../../src/contract/message.ts';
import type { Fault } from './faults.ts';
import type { Caller } from './router.ts';

/** The caps of one request: bytes of a file after decoding, and characters of all texts together. */
export const maxFileBytes = 20 * 1024 * 1024;
const maxTextChars = 1024 * 1024;

const part = z.union([
  z.looseObject({ type: z.literal('text'), text: z.string() }),
  z.looseObject({ type: z.literal('image_url'), image_url: z.looseObject({ url: z.string() }) }),
  z.looseObject({ type: z.literal('file'), file: z.looseObject({ file_data: z.string(), filename: z.string().optional() }) }),
]);
const message = z.looseObject({
  role: z.enum(['system', 'developer', 'user', 'assistant']),
  content: z.union([z.string(), z.array(part)]).nullish(),
});
const body = z.looseObject({
  model: z.string().nullish(),
  messages: z.array(message).min(1),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  n: z.literal(1).nullish(),
});

export interface ChatRequest {
  text: string;
  attachments: Attachment[];
  history: { role: 'user' | 'assistant'; text: string }[];
  instructions: string;
  /** As the client wrote it, null when it named none. */
  model: string | null;
  stream: boolean;
  includeUsage: boolean;
}

/** Pure. Settings of sampling (temperature and the like) are accepted and ignored: the gateway's own configuration rules them. */
export function toChatRequest(input: unknown): ChatRequest | Fault {
  if (input === undefined) return invalid('The body is no JSON; send a chat completion request with Content-Type: application/json.');
  if (typeof input === 'object' && input !== null)
    for (const field of ['tools', 'functions'] as const) {
      const offered: unknown = (input as Record<string, unknown>)[field];
      if (offered !== undefined && offered !== null && !(Array.isArray(offered) && offered.length === 0))
        return invalid(`Tools of the client are not run here; the gateway's own tools are. Leave ${field} out.`, field);
    }
  const parsed = body.safeParse(input);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const path = issue?.path.map(String).join('.') ?? '';
    return invalid(`${path || 'The body'} cannot be used: ${issue?.message ?? 'wrong type'}.`, path);
  }
  const { messages, model, stream, stream_options } = parsed.data;
  const last = messages.at(-1);
  if (last?.role !== 'user') return invalid('The last message must be of role user; it is the one that is answered.', 'messages');

  const attachments: Attachment[] = [];
  for (const item of Array.isArray(last.content) ? last.content : []) {
    if (item.type === 'text') continue;
    const attachment = item.type === 'image_url' ? toAttachment(item.image_url.url, undefined) : toAttachment(item.file.file_data, item.file.filename);
    if ('status' in attachment) return attachment;
    attachments.push(attachment);
  }
  const text = toText(last.content);
  if (!text.trim() && attachments.length === 0) return invalid('The last message is empty.', 'messages');

  const earlier = messages.slice(0, -1);
  const instructions = messages
    .filter(({ role }) => role === 'system' || role === 'developer')
    .map(({ content }) => toText(content))
    .filter(Boolean)
    .join('\n\n');
  const history: ChatRequest['history'] = [];
  for (const { role, content } of earlier) {
    const said = toText(content);
    if ((role !== 'user' && role !== 'assistant') || !said) continue;
    const before = history.at(-1);
    if (before?.role === role) before.text += `\n\n${said}`;
    else history.push({ role, text: said });
  }
  if (text.length + instructions.length + history.reduce((sum, entry) => sum + entry.text.length, 0) > maxTextChars)
    return { status: 413, code: 'text_too_long', message: 'The texts of a request may have 1,048,576 characters together.', param: 'messages' };
  return { text, attachments, history, instructions, model: model || null, stream: stream === true, includeUsage: stream_options?.include_usage === true };
}

export interface Envelope {
  /** The event key: one turn for each. */
  key: string;
  chat: string;
  messageId: string;
  caller: Caller;
  /** The model to use, when it is one that the gateway has. */
  model: string | null;
  at: number;
}

/** Pure. A person at the page can answer a question during the turn; a program cannot. */
export function toInboundMessage(request: ChatRequest, { key, chat, messageId, caller, model, at }: Envelope): InboundMessage {
  const atPage = caller === 'cookie';
  const options: MessageOptions = {
    ...(request.history.length ? { history: request.history } : {}),
    ...(request.instructions ? { instructions: request.instructions } : {}),
    ...(model ? { model } : {}),
  };
  return {
    key,
    kind: 'message',
    address: { platform: 'http', account: 'http', chat },
    chatType: 'dm',
    sender: atPage ? { id: 'page', name: 'Page', isBot: false } : { id: 'api', name: 'API', isBot: false },
    text: request.text,
    addressed: true,
    messageId,
    attachments: request.attachments,
    at,
    interactive: atPage,
    ...(Object.keys(options).length ? { options } : {}),
  };
}

/** The bytes of an attachment made here. Rejects when they are more than `maxBytes`. */
export function readDataUrl(ref: string, maxBytes: number): Uint8Array {
  const base64 = ref.slice(ref.indexOf(',') + 1);
  if (decodedSize(base64) > maxBytes) throw new Error(`the file is larger than ${maxBytes} bytes`);
  return Buffer.from(base64, 'base64');
}

/** Only data URLs: to fetch an address that a caller names would be a way into the gateway's own network. */
function toAttachment(url: string, filename: string | undefined): Attachment | Fault {
  const comma = url.indexOf(',');
  const mime = /^data:([a-z]+\/[a-z0-9.+-]+)(?:;[a-z0-9=-]+)*;base64$/i.exec(url.slice(0, Math.max(0, Math.min(comma, 200))))?.[1]?.toLowerCase();
  if (!mime) return invalid('Images and files must be data URLs in base64, e.g. data:image/png;base64,...', 'messages');
  const size = decodedSize(url.slice(comma + 1));
  if (size > maxFileBytes) return { status: 413, code: 'ATTACHMENT_TOO_LARGE', message: 'A file may have 20 MB.', param: 'messages' };
  const kind = mime.startsWith('image/') ? 'image' : mime.startsWith('audio/') ? 'audio' : mime.startsWith('video/') ? 'video' : 'file';
  return { kind, ref: url, name: toName(filename, kind), mime, size };
}

function toName(filename: string | undefined, kind: string): string {
  return filename?.replace(/[\u0000-\u001f\u007f]/g, '').slice(0, 120) || kind;
}

function decodedSize(base64: string): number {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0;
  return Math.max(0, Math.floor((base64.length * 3) / 4) - padding);
}

function toText(content: z.output<typeof message>['content']): string {
  if (typeof content === 'string') return content;
  return (content ?? []).map((item) => (item.type === 'text' ? item.text : '')).filter(Boolean).join('\n\n');
}

function invalid(message: string, param?: string): Fault {
  return { status: 400, code: 'REQUEST_INVALID', message, ...(param ? { param } : {}) };
}
