/**
 * An OutboundPart becomes calls of the Web API. Markdown goes as mrkdwn with everything escaped that Slack could take for a mention; when
 * Slack refuses buttons the same text goes once without them, and a file that cannot go leaves a note, so that a reply never ends in nothing.
 */
import { stat } from 'node:fs/promises';
import type { SendOutcome } from '../../src/contract/adapter.ts';
import type { Address, OutboundPart } from '../../src/contract/message.ts';
import { renderSlack, slackLength } from '../../src/lib/markdown/slack.ts';
import { splitMarkdown } from '../../src/lib/split-text.ts';
import { toErrorCode, toReason, toSendOutcome, type SlackApi } from './api.ts';

/** Bytes of escaped mrkdwn: chat.update takes 4,000, and a part may become an edit. */
const textLimit = 3900;
/** Characters of a section's text: https://docs.slack.dev/reference/block-kit/blocks/section-block. */
const sectionLimit = 2900;
const uploadLimit = 100 * 1024 * 1024;
/** No bare name in a text becomes a mention or a link; chat.update would do that by default. */
const asWritten = { parse: 'none', link_names: false } as const;

export function splitText(markdown: string): string[] {
  return splitMarkdown(markdown, { limit: textLimit, measure: slackLength });
}

export async function sendPart(api: SlackApi, part: OutboundPart, signal: AbortSignal): Promise<SendOutcome> {
  if (part.media) return sendMedia(api, part, part.media, signal);
  if (part.text.trim() === '') return { status: 'permanent', error: 'The part has neither text nor file.' };
  return withButtonsThenWithout(part, false, async (blocks) => {
    const text = toMrkdwn(part);
    const message = { ...toTarget(part.address), ...asWritten, text, mrkdwn: part.format === 'markdown', unfurl_links: false, unfurl_media: false };
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- Slack's method, not the window's
    const sent = await api.call(signal, (web) => web.chat.postMessage({ ...message, ...(blocks.length > 0 ? { blocks } : {}) }));
    return sent.ts === undefined ? { status: 'unknown', error: 'Slack did not name the message' } : { status: 'sent', messageId: sent.ts };
  });
}

export async function editPart(api: SlackApi, messageId: string, part: OutboundPart, signal: AbortSignal): Promise<SendOutcome> {
  return withButtonsThenWithout(part, true, async (blocks) => {
    // Without blocks Slack would keep those that the message has: an empty list takes them away.
    await api.call(signal, (web) => web.chat.update({ channel: part.address.chat, ts: messageId, ...asWritten, text: toMrkdwn(part), blocks }));
    return { status: 'sent', messageId };
  });
}

type Block = Record<string, unknown> & { type: string };

async function withButtonsThenWithout(part: OutboundPart, isEdit: boolean, act: (blocks: Block[]) => Promise<SendOutcome>): Promise<SendOutcome> {
  const blocks = toBlocks(part);
  try {
    return await act(blocks);
  } catch (error) {
    const isBlocks = /blocks/.test(toErrorCode(error) ?? '');
    if (blocks.length === 0 || !isBlocks) return toSendOutcome(error, isEdit);
    return act([]).catch((second: unknown) => toSendOutcome(second, isEdit));
  }
}

function toMrkdwn({ text, format }: OutboundPart): string {
  return format === 'markdown' ? renderSlack(text) : text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
}

function toTarget({ chat, thread }: Address): { channel: string; thread_ts?: string } {
  return { channel: chat, ...(thread === undefined ? {} : { thread_ts: thread }) };
}

/** Blocks are shown instead of the text, so they hold the text too. Source: https://docs.slack.dev/reference/block-kit. */
function toBlocks(part: OutboundPart): Block[] {
  if (!part.buttons || part.buttons.length === 0) return [];
  const sections = splitMarkdown(part.text, { limit: sectionLimit, measure: (text) => toMrkdwn({ ...part, text }).length });
  const type = part.format === 'markdown' ? 'mrkdwn' : 'plain_text';
  return [
    ...sections.map((text) => ({ type: 'section', text: type === 'mrkdwn' ? { type, text: toMrkdwn({ ...part, text }), verbatim: true } : { type, text, emoji: false } })),
    ...part.buttons.map((row, at) => ({
      type: 'actions',
      elements: row.map(({ label, value }, index) => ({ type: 'button', action_id: `b${at}_${index}`, text: { type: 'plain_text', text: toLabel(label), emoji: false }, value })),
    })),
  ];
}

function toLabel(label: string): string {
  const letters = [...label];
  return letters.length <= 70 ? label : `${letters.slice(0, 69).join('')}…`;
}

type Media = NonNullable<OutboundPart['media']>;

async function sendMedia(api: SlackApi, part: OutboundPart, media: Media, signal: AbortSignal): Promise<SendOutcome> {
  const size = await stat(media.path).then((found) => (found.isFile() ? found.size : 0), () => 0);
  if (size === 0) return sendNote(api, part, `The file ${media.name} could not be sent: it is gone or empty.`, signal);
  if (size > uploadLimit) return sendNote(api, part, `The file ${media.name} could not be sent: it is larger than 100 MB.`, signal);
  const { media: _file, ...rest } = part;
  const isCaption = part.text.trim() !== '' && !hasLink(part) && !part.buttons?.length;
  const sent = await upload(api, isCaption ? part : { ...part, text: '' }, media, size, signal);
  if (sent.status === 'permanent' && !sent.targetGone) return sendNote(api, part, `The file ${media.name} could not be sent: ${sent.error}.`, signal);
  return sent.status === 'sent' && !isCaption && part.text.trim() !== '' ? sendPart(api, rest, signal) : sent;
}

/** The preview of a link can be switched off in a message, not in a file's caption. */
function hasLink(part: OutboundPart): boolean {
  return /https?:|www\.|<mailto:/i.test(toMrkdwn(part));
}

function sendNote(api: SlackApi, part: OutboundPart, note: string, signal: AbortSignal): Promise<SendOutcome> {
  const { media: _media, ...rest } = part;
  return sendPart(api, { ...rest, text: part.text.trim() === '' ? note : `${part.text}\n\n${note}` }, signal);
}

/** Three calls; nobody sees anything before the third. Source: https://docs.slack.dev/messaging/working-with-files#uploading-files. */
async function upload(api: SlackApi, part: OutboundPart, media: Media, size: number, signal: AbortSignal): Promise<SendOutcome> {
  let id: string;
  try {
    const place = await api.call(signal, (web) => web.files.getUploadURLExternal({ filename: media.name, length: size }));
    if (!place.upload_url || !place.file_id) return { status: 'transient', error: 'Slack gave no place for the file' };
    id = place.file_id;
    await api.upload(place.upload_url, media.path, size, signal);
  } catch (error) {
    const outcome = toSendOutcome(error);
    return outcome.status === 'unknown' ? { status: 'transient', error: toReason(error) } : outcome;
  }
  try {
    const { chat, thread } = part.address;
    const target = thread === undefined ? { channel_id: chat } : { channel_id: chat, thread_ts: thread };
    const done = await api.call(signal, (web) =>
      web.files.completeUploadExternal({ files: [{ id, title: media.name }], ...target, ...(part.text === '' ? {} : { initial_comment: toMrkdwn(part) }) }),
    );
    return { status: 'sent', messageId: toShare(done, chat) ?? id };
  } catch (error) {
    return toSendOutcome(error);
  }
}

/** The message in which the file was shared, where Slack names it at once. */
function toShare(answer: object, chat: string): string | undefined {
  const files = 'files' in answer && Array.isArray(answer.files) ? (answer.files as { shares?: Record<string, Record<string, { ts?: string }[]>> }[]) : [];
  return files.flatMap(({ shares }) => Object.values(shares ?? {}).flatMap((channels) => channels[chat] ?? [])).find(({ ts }) => ts !== undefined)?.ts;
}
