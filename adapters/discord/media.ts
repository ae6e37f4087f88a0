/** Files of a message as attachments, and what has no file (a sticker, a poll) as a line of text. */
import type { Attachment } from '../../src/contract/message.ts';
import { cleanName } from '../../src/lib/clean-name.ts';
import type { MessageContent } from './event.ts';

/** Message flag of a voice message: https://discord.com/developers/docs/resources/message#message-object-message-flags. */
const isVoiceMessage = 1 << 13;

export function toAttachments({ attachments, flags = 0 }: MessageContent): Attachment[] {
  return attachments.map(({ url, filename = '', content_type = '', size }) => {
    const mime = (content_type.split(';')[0] ?? '').trim() || 'application/octet-stream';
    const kind = (flags & isVoiceMessage) !== 0 ? 'voice' : toKind(mime);
    return { kind, ref: url, name: cleanName(filename) || 'file', mime, size: size ?? null };
  });
}

function toKind(mime: string): Attachment['kind'] {
  const kind = /^(image|audio|video)\//.exec(mime)?.[1];
  return kind === 'image' || kind === 'audio' || kind === 'video' ? kind : 'file';
}

/** Readable lines, or nothing. */
export function toDescription({ sticker_items, poll }: MessageContent): string {
  const stickers = sticker_items.map(({ name }) => `[sticker ${cleanName(name)}]`);
  const answers = (poll?.answers ?? []).map(({ poll_media }) => `(${cleanName(poll_media.text ?? '')})`);
  const question = poll ? [`[poll: ${[cleanName(poll.question.text ?? ''), ...answers].join(' ')}]`] : [];
  return [...stickers, ...question].join('\n');
}
