/** Files of a message as attachments, and what has no file (a place, a contact, a poll) as a line of text. */
import type { Attachment } from '../../src/contract/message.ts';
import { cleanName } from '../../src/lib/clean-name.ts';
import type { BareMessage, TelegramFile } from './update.ts';

export function toAttachments(message: BareMessage): Attachment[] {
  const { sticker } = message;
  // Telegram lists a photo's sizes from small to large.
  const photo = message.photo?.at(-1);
  if (photo) return [toAttachment(photo, 'image', 'photo.jpg', 'image/jpeg')];
  if (message.animation) return [toAttachment(message.animation, 'video', 'animation.mp4', 'video/mp4')];
  if (message.video) return [toAttachment(message.video, 'video', 'video.mp4', 'video/mp4')];
  if (message.video_note) return [toAttachment(message.video_note, 'video', 'video-note.mp4', 'video/mp4')];
  if (message.voice) return [toAttachment(message.voice, 'voice', 'voice.ogg', 'audio/ogg')];
  if (message.audio) return [toAttachment(message.audio, 'audio', 'audio.mp3', 'audio/mpeg')];
  if (sticker) {
    const [name, mime] = sticker.is_animated ? ['sticker.tgs', 'application/x-tgsticker'] : sticker.is_video ? ['sticker.webm', 'video/webm'] : ['sticker.webp', 'image/webp'];
    return [toAttachment(sticker, 'sticker', name, mime)];
  }
  if (message.document) return [toAttachment(message.document, toKind(message.document.mime_type), 'file', 'application/octet-stream')];
  return [];
}

function toAttachment(file: TelegramFile, kind: Attachment['kind'], name: string, mime: string): Attachment {
  return { kind, ref: file.file_id, name: cleanName(file.file_name ?? '') || name, mime: file.mime_type ?? mime, size: file.file_size ?? null };
}

function toKind(mime = ''): Attachment['kind'] {
  const kind = /^(image|audio|video)\//.exec(mime)?.[1];
  return kind === 'image' || kind === 'audio' || kind === 'video' ? kind : 'file';
}

/** One readable line, or nothing. */
export function toDescription({ sticker, location, venue, contact, poll, dice }: BareMessage): string {
  const place = location ? `${location.latitude}, ${location.longitude}` : '';
  if (sticker) return `[sticker ${cleanName(sticker.emoji ?? '')}]`.replace(' ]', ']');
  if (venue) return `[place: ${[cleanName(venue.title), cleanName(venue.address), place].filter(Boolean).join(', ')}]`;
  if (location) return `[location: ${place}]`;
  if (contact) return `[contact: ${cleanName(`${contact.first_name} ${contact.last_name ?? ''}`)}, ${cleanName(contact.phone_number)}]`;
  if (poll) return `[poll: ${cleanName(poll.question)} ${poll.options.map(({ text }) => `(${cleanName(text)})`).join(' ')}]`;
  if (dice) return `[dice ${cleanName(dice.emoji)} ${dice.value}]`;
  return '';
}
