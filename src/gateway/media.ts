/**
 * Attachments of an authorised message, fetched when its turn begins: pictures are kept for the model, small texts are put into
 * the message, speech is transcribed where that is configured, everything else is named. Files get names of our own; what people called them is only ever shown.
 */
import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Adapter } from '../contract/adapter.ts';
import { toMessage } from '../contract/errors.ts';
import type { Log } from '../contract/log.ts';
import type { Attachment, InboundMessage } from '../contract/message.ts';
import type { UserEntry } from '../contract/transcript.ts';

export interface Media {
  /** Never rejects: what cannot be had is said in a line of text. */
  receive(message: InboundMessage, signal: AbortSignal): Promise<{ media: NonNullable<UserEntry['media']>; text: string[] }>;
}

const maxBytes = 20 * 1024 * 1024;
const inlineBytes = 100 * 1024;
const timeoutMs = 60_000;
const extensions: Record<string, string> = { 'image/jpeg': '.jpg', 'image/png': '.png', 'image/webp': '.webp', 'image/gif': '.gif' };
const textTypes = /^(text\/|application\/(json|xml|yaml|x-yaml|toml|javascript|x-sh))/;

export interface MediaDeps {
  home: string;
  adapterOf(platform: string): Adapter | undefined;
  /** Absent without a configured transcriber. */
  transcribe?: (bytes: Uint8Array, mime: string, signal: AbortSignal) => Promise<string | null>;
  log: Log;
}

export function createMedia({ home, adapterOf, transcribe, log }: MediaDeps): Media {
  const folder = join(home, 'cache', 'media');

  const store = async (bytes: Uint8Array, mime: string): Promise<string> => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const path = join(folder, createHash('sha256').update(bytes).digest('hex') + (extensions[mime] ?? ''));
    await writeFile(path, bytes, { mode: 0o600 });
    return path;
  };

  return {
    async receive({ attachments, address }, signal) {
      const media: NonNullable<UserEntry['media']> = [];
      const text: string[] = [];
      for (const attachment of attachments) {
        const label = `${attachment.kind} ${JSON.stringify(attachment.name)}`;
        const isImage = attachment.kind === 'image' && attachment.mime in extensions;
        const isText = textTypes.test(attachment.mime) && (attachment.size ?? 0) <= inlineBytes;
        const isSpoken = attachment.kind === 'voice' && transcribe !== undefined;
        if (!isImage && !isText && !isSpoken) {
          text.push(`[${label} was sent; its content cannot be read here]`);
          continue;
        }
        try {
          const bytes = await download(adapterOf(address.platform), attachment, isText ? inlineBytes : maxBytes, signal);
          if (isSpoken) {
            const spoken = await transcribe(bytes, attachment.mime, signal);
            text.push(spoken ? `[voice message] ${spoken}` : `[${label} was sent but could not be transcribed]`);
          } else if (isImage) media.push({ path: await store(bytes, attachment.mime), mime: attachment.mime, name: attachment.name, kind: 'image' });
          else text.push(`[${label}]\n${new TextDecoder().decode(bytes)}`);
        } catch (thrown) {
          log.warn('an attachment could not be fetched', { platform: address.platform, error: toMessage(thrown) });
          text.push(`[${label} was sent but could not be fetched]`);
        }
      }
      return { media, text };
    },
  };
}

async function download(adapter: Adapter | undefined, attachment: Attachment, limit: number, signal: AbortSignal): Promise<Uint8Array> {
  if (!adapter?.download) throw new Error('the platform gives no files');
  const bytes = await adapter.download(attachment, limit, AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]));
  if (bytes.byteLength > limit) throw new Error('the file is too large');
  return bytes;
}
