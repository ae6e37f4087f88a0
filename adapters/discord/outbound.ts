/**
 * An OutboundPart becomes calls of the REST API. Every send carries a nonce that Discord enforces, so a send that is repeated gives the first
 * message again; every send and edit says that no mention takes effect and that no link unfolds.
 */
import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import type { RawFile } from '@discordjs/rest';
import type { SendOutcome } from '../../src/contract/adapter.ts';
import type { Address, OutboundPart } from '../../src/contract/message.ts';
import { renderDiscord } from '../../src/lib/markdown/discord.ts';
import { splitMarkdown } from '../../src/lib/split-text.ts';
import { toCode, toSendOutcome, toStatus, type DiscordApi } from './api.ts';
import { toSent } from './event.ts';

/** Characters: https://discord.com/developers/docs/resources/message#create-message. Discord counts code points; UTF-16 units are never fewer. */
const textLimit = 2000;
/** Bytes that every server takes: https://discord.com/developers/docs/reference#uploading-files. */
const uploadLimit = 10 * 1024 * 1024;
const suppressEmbeds = 1 << 2;

export function splitText(markdown: string): string[] {
  return splitMarkdown(markdown, { limit: textLimit, measure: (part) => renderDiscord(part).length });
}

export interface Outbound {
  send(part: OutboundPart, signal: AbortSignal): Promise<SendOutcome>;
  edit(messageId: string, part: OutboundPart, signal: AbortSignal): Promise<SendOutcome>;
}

/** `salt`: this home's own, so that two homes with one bot never share a nonce. */
export function createOutbound(api: DiscordApi, salt: () => Promise<string>): Outbound {
  /** Parts whose message is gone or cannot be changed: the same nonce would give it back. */
  const renewed = new Set<string>();

  async function send(part: OutboundPart, signal: AbortSignal): Promise<SendOutcome> {
    if (!part.media && part.text.trim() === '') return { status: 'permanent', error: 'The part has neither text nor file.' };
    try {
      const prepared = part.media ? await withFile(part, part.media) : { part, files: undefined };
      const outcome = await post(prepared.part, prepared.files, renewed.has(part.idempotencyKey), signal);
      if (outcome.status === 'sent') renewed.delete(part.idempotencyKey);
      return outcome;
    } catch (error) {
      if (part.media && (toStatus(error) === 413 || toCode(error) === 40005)) return send(withNote(part, 'Discord takes no file of this size here'), signal);
      // The question cannot be quoted (160002: its history may not be read); the answer can still be given.
      if (part.replyTo !== undefined && toCode(error) === 160002) return send(withoutReply(part), signal);
      return toSendOutcome(error);
    }
  }

  async function post(part: OutboundPart, files: RawFile[] | undefined, isRenewed: boolean, signal: AbortSignal): Promise<SendOutcome> {
    const text = toContent(part);
    const body = { ...text, ...toReference(part), nonce: toNonce(await salt(), part.idempotencyKey, isRenewed), enforce_nonce: true };
    const sent = toSent(await api.call('POST', `/channels/${toTarget(part.address)}/messages`, { body, signal, ...(files ? { files } : {}) }));
    if (!sent) return { status: 'unknown', error: 'Discord answered without a message' };
    if (isSame(sent.content, text.content)) return { status: 'sent', messageId: sent.id };
    // The nonce was known: this is the message of an earlier try, a preview perhaps, and gets the text of this one.
    const outcome = await edit(sent.id, part, signal);
    return isRefused(outcome) && !isRenewed ? post(part, files, true, signal) : outcome;
  }

  async function edit(messageId: string, part: OutboundPart, signal: AbortSignal): Promise<SendOutcome> {
    try {
      await api.call('PATCH', `/channels/${toTarget(part.address)}/messages/${messageId}`, { body: { components: [], ...toContent(part) }, signal });
      return { status: 'sent', messageId };
    } catch (error) {
      const outcome = toSendOutcome(error, true);
      if (isRefused(outcome)) renewed.add(part.idempotencyKey);
      return outcome;
    }
  }

  return { send, edit };
}

/** The message cannot be changed, now or later; another one may still be sent. */
function isRefused(outcome: SendOutcome): boolean {
  return outcome.status === 'edit_gone' || (outcome.status === 'permanent' && !outcome.targetGone);
}

/** Where the calls for an address go: a thread is a channel of its own. */
export function toTarget({ chat, thread }: Address): string {
  return thread ?? chat;
}

interface Content {
  content: string;
  flags: number;
  allowed_mentions: { parse: []; replied_user: true };
  components?: unknown[];
}

function toContent({ text, format, buttons }: OutboundPart): Content {
  return {
    content: format === 'markdown' ? renderDiscord(text) : toPlain(text),
    flags: suppressEmbeds,
    allowed_mentions: { parse: [], replied_user: true },
    ...(buttons && buttons.length > 0 ? { components: toRows(buttons) } : {}),
  };
}

/**
 * Discord reads every text as Markdown; where that would hide characters of a plain one, they are escaped. An underscore inside a word is left
 * alone, as Discord does. A text that would then be too long goes as it is.
 */
export function toPlain(text: string): string {
  const inLines = text.replace(/\\(?=[^\w\s])|[*`]|(?<![\p{L}\p{N}_])_|_(?![\p{L}\p{N}_])|~(?=~)|\|(?=\|)/gu, '\\$&');
  const escaped = inLines.replace(/^(\s*)(?=#{1,3}\s|-#\s|>)/gm, '$1\\');
  return escaped.length <= textLimit ? escaped : text;
}

/** At most five rows of five buttons: https://discord.com/developers/docs/components/reference#action-row. */
function toRows(buttons: NonNullable<OutboundPart['buttons']>): unknown[] {
  const rows = buttons.flatMap((row) => Array.from({ length: Math.ceil(row.length / 5) }, (_, index) => row.slice(index * 5, index * 5 + 5)));
  return rows.slice(0, 5).map((row) => ({
    type: 1,
    components: row.map(({ label, value }) => ({ type: 2, style: 2, label: label.slice(0, 80), custom_id: value })),
  }));
}

/** The message that opened a thread lies outside of it and cannot be quoted there. */
function toReference({ address, replyTo }: OutboundPart): { message_reference?: { message_id: string; fail_if_not_exists: false } } {
  if (replyTo === undefined || !/^\d+$/.test(replyTo) || replyTo === address.thread) return {};
  return { message_reference: { message_id: replyTo, fail_if_not_exists: false } };
}

/** At most 25 characters. */
export function toNonce(salt: string, key: string, isRenewed: boolean): string {
  const nonce = `${salt}-${key}${isRenewed ? 'r' : ''}`;
  return nonce.length <= 25 ? nonce : createHash('sha256').update(nonce).digest('base64url').slice(0, 25);
}

/** Discord takes white space away from the ends, and may do so elsewhere. */
function isSame(a: string, b: string): boolean {
  const bare = (text: string): string => text.replace(/\s+/g, ' ').trim();
  return bare(a) === bare(b);
}

async function withFile(part: OutboundPart, media: NonNullable<OutboundPart['media']>): Promise<{ part: OutboundPart; files: RawFile[] | undefined }> {
  const size = await stat(media.path).then((found) => (found.isFile() ? found.size : 0), () => 0);
  if (size === 0) return { part: withNote(part, 'it is gone or empty'), files: undefined };
  if (size > uploadLimit) return { part: withNote(part, 'it is larger than 10 MB'), files: undefined };
  return { part, files: [{ name: media.name, data: await readFile(media.path), contentType: media.mime }] };
}

function withNote(part: OutboundPart, why: string): OutboundPart {
  const { media, ...rest } = part;
  const note = `The file ${media?.name ?? ''} could not be sent: ${why}.`;
  return { ...rest, text: part.text.trim() === '' ? note : `${part.text}\n\n${note}` };
}

function withoutReply(part: OutboundPart): OutboundPart {
  const { replyTo: _replyTo, ...rest } = part;
  return rest;
}
