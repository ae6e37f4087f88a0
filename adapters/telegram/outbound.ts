/**
 * An OutboundPart becomes calls of the Bot API. Markdown goes as HTML; when Telegram refuses the markup the same text goes once as
 * plain text, and a file that cannot go leaves a note, so that a reply never ends in nothing.
 */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { InputFile } from 'grammy';
import type { SendOutcome } from '../../src/contract/adapter.ts';
import type { Address, OutboundPart } from '../../src/contract/message.ts';
import { renderTelegram, telegramLength } from '../../src/lib/markdown/telegram.ts';
import { splitMarkdown } from '../../src/lib/split-text.ts';
import { isMarkupRefusal, toSdkSignal, toSendOutcome, type TelegramApi } from './api.ts';

/** UTF-16 units after entities: https://core.telegram.org/bots/api#sendmessage and #sendphoto. */
const textLimit = 4096;
const captionLimit = 1024;
/** Bytes: https://core.telegram.org/bots/api#sending-files. A local server takes more; this is what every server takes. */
const photoLimit = 10 * 1024 * 1024;
const uploadLimit = 50 * 1024 * 1024;

/** Texts that each fit one message. Raw HTML is bounded too: the server refuses far longer sources whatever they render to. */
export function splitText(markdown: string): string[] {
  return splitMarkdown(markdown, { limit: textLimit, measure: telegramLength });
}

export async function sendPart(api: TelegramApi, part: OutboundPart, signal: AbortSignal): Promise<SendOutcome> {
  if (part.media) return sendMedia(api, part, part.media, signal);
  if (part.text.trim() === '') return { status: 'permanent', error: 'The part has neither text nor file.' };
  const sdkSignal = toSdkSignal(signal);
  return asHtmlThenPlain(part, async (text) => {
    const sent = await api.raw.sendMessage({ ...toTarget(part), ...text, link_preview_options: { is_disabled: true }, ...toKeyboard(part) }, sdkSignal);
    return { status: 'sent', messageId: String(sent.message_id) };
  });
}

export async function editPart(api: TelegramApi, messageId: string, part: OutboundPart, signal: AbortSignal): Promise<SendOutcome> {
  const sdkSignal = toSdkSignal(signal);
  const message = { chat_id: part.address.chat, message_id: Number(messageId), ...toKeyboard(part) };
  const change = async ({ text, parse_mode }: Text): Promise<SendOutcome> => {
    const mode = parse_mode ? { parse_mode } : {};
    if (part.media) await api.raw.editMessageCaption({ ...message, caption: text, ...mode }, sdkSignal);
    else await api.raw.editMessageText({ ...message, text, ...mode, link_preview_options: { is_disabled: true } }, sdkSignal);
    return { status: 'sent', messageId };
  };
  return asHtmlThenPlain(part, change, messageId);
}

interface Text {
  text: string;
  parse_mode?: 'HTML';
}

async function asHtmlThenPlain({ text, format, media }: OutboundPart, act: (text: Text) => Promise<SendOutcome>, messageId?: string): Promise<SendOutcome> {
  const rendered = format === 'markdown' ? renderTelegram(text) : null;
  const html = rendered?.includes('<') ? rendered : null;
  try {
    // Without marks there is nothing to parse, and the text goes as it is.
    return await act(html === null ? { text: rendered === null ? text : toBareText(rendered) } : { text: html, parse_mode: 'HTML' });
  } catch (error) {
    if (html === null || !isMarkupRefusal(error)) return toSendOutcome(error, messageId);
    const limit = media ? captionLimit : textLimit;
    return act({ text: text.length <= limit ? text : toBareText(html).slice(0, limit) }).catch((second: unknown) => toSendOutcome(second, messageId));
  }
}

/** What is left of HTML without its tags: within the limit where the Markdown source, with its links, is not. */
function toBareText(html: string): string {
  const named: Record<string, string> = { lt: '<', gt: '>', quot: '"', amp: '&' };
  return html.replace(/<[^>]*>/g, '').replace(/&(lt|gt|quot|amp);/g, (entity, name: string) => named[name] ?? entity);
}

function toTarget({ address, replyTo }: OutboundPart): { chat_id: string; message_thread_id?: number; reply_parameters?: { message_id: number; allow_sending_without_reply: true } } {
  const reply = Number(replyTo);
  return {
    ...toChat(address),
    ...(replyTo !== undefined && Number.isSafeInteger(reply) ? { reply_parameters: { message_id: reply, allow_sending_without_reply: true } } : {}),
  };
}

export function toChat({ chat, thread }: Address): { chat_id: string; message_thread_id?: number } {
  return { chat_id: chat, ...(thread === undefined ? {} : { message_thread_id: Number(thread) }) };
}

function toKeyboard({ buttons }: OutboundPart): { reply_markup?: { inline_keyboard: { text: string; callback_data: string }[][] } } {
  if (!buttons || buttons.length === 0) return {};
  return { reply_markup: { inline_keyboard: buttons.map((row) => row.map(({ label, value }) => ({ text: label, callback_data: value }))) } };
}

async function sendMedia(api: TelegramApi, part: OutboundPart, media: NonNullable<OutboundPart['media']>, signal: AbortSignal): Promise<SendOutcome> {
  const size = await stat(media.path).then((found) => (found.isFile() ? found.size : 0), () => 0);
  if (size === 0) return sendNote(api, part, `The file ${media.name} could not be sent: it is gone or empty.`, signal);
  if (size > uploadLimit) return sendNote(api, part, `The file ${media.name} could not be sent: it is larger than 50 MB.`, signal);
  // A text too long for a caption follows as a message of its own.
  if (telegramLength(part.text) > captionLimit) {
    const file = await upload(api, { ...part, text: '' }, media, size, signal);
    const { media: _file, ...rest } = part;
    return file.status === 'sent' ? sendPart(api, rest, signal) : file;
  }
  return upload(api, part, media, size, signal);
}

function sendNote(api: TelegramApi, part: OutboundPart, note: string, signal: AbortSignal): Promise<SendOutcome> {
  const { media: _media, ...rest } = part;
  return sendPart(api, { ...rest, text: part.text.trim() === '' ? note : `${part.text}\n\n${note}` }, signal);
}

async function upload(api: TelegramApi, part: OutboundPart, media: NonNullable<OutboundPart['media']>, size: number, signal: AbortSignal): Promise<SendOutcome> {
  const method = toMethod(media, size);
  const outcome = await asHtmlThenPlain(part, async ({ text, parse_mode }) => {
    // Quoted here because the SDK does not, and a name may hold spaces and semicolons. A stream can be read once, so each try opens its own.
    const name = `"${media.name.replace(/["\\\r\n]/g, '_')}"`;
    const sent = await uploads[method](api.raw, new InputFile(createReadStream(media.path), name), {
      ...toTarget(part),
      ...(text === '' ? {} : { caption: text }),
      ...(parse_mode && text !== '' ? { parse_mode } : {}),
      ...toKeyboard(part),
    }, signal);
    return { status: 'sent', messageId: String(sent.message_id) };
  });
  // What cannot be shown as a picture can still be handed over as a file.
  const isRefused = outcome.status === 'permanent' && /PHOTO_|IMAGE_|VOICE_|wrong file|can't be/i.test(outcome.error);
  return isRefused && method !== 'document' ? upload(api, part, { ...media, kind: 'file' }, size, signal) : outcome;
}

type Caption = ReturnType<typeof toTarget> & { caption?: string; parse_mode?: 'HTML' } & ReturnType<typeof toKeyboard>;
type Upload = (raw: TelegramApi['raw'], file: InputFile, rest: Caption, signal: AbortSignal) => Promise<{ message_id: number }>;

const uploads = {
  photo: (raw, file, rest, signal) => raw.sendPhoto({ ...rest, photo: file }, toSdkSignal(signal)),
  animation: (raw, file, rest, signal) => raw.sendAnimation({ ...rest, animation: file }, toSdkSignal(signal)),
  video: (raw, file, rest, signal) => raw.sendVideo({ ...rest, video: file }, toSdkSignal(signal)),
  audio: (raw, file, rest, signal) => raw.sendAudio({ ...rest, audio: file }, toSdkSignal(signal)),
  voice: (raw, file, rest, signal) => raw.sendVoice({ ...rest, voice: file }, toSdkSignal(signal)),
  document: (raw, file, rest, signal) => raw.sendDocument({ ...rest, document: file }, toSdkSignal(signal)),
} satisfies Record<string, Upload>;

function toMethod({ kind, mime }: NonNullable<OutboundPart['media']>, size: number): keyof typeof uploads {
  if (kind === 'image') return mime === 'image/gif' ? 'animation' : /^image\/(jpeg|png|webp)$/.test(mime) && size <= photoLimit ? 'photo' : 'document';
  return kind === 'voice' || kind === 'audio' || kind === 'video' ? kind : 'document';
}
