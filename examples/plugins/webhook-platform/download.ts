/** Attachments: fetched from the one place that the configuration names, since an event may carry any address. */
import type { Attachment } from 'hermes-gateway';

/** Rejects with ATTACHMENT_TOO_LARGE over `maxBytes`: by what was declared, by the header, and while reading. */
export async function download({ ref, size }: Attachment, files: string | null, maxBytes: number, signal: AbortSignal): Promise<Uint8Array> {
  if (files === null || !new URL(ref).href.startsWith(files)) throw new Error('its address is not below platforms.webhook.files');
  if ((size ?? 0) > maxBytes) throw tooLarge(maxBytes);
  const response = await fetch(ref, { redirect: 'error', headers: { connection: 'close' }, signal });
  if (!response.ok || !response.body) throw new Error(`the server of the file answers ${response.status}`);
  const chunks: Uint8Array[] = [];
  let read = 0;
  for await (const chunk of response.body) {
    read += chunk.byteLength;
    // Leaving the loop closes the connection.
    if (read > maxBytes) throw tooLarge(maxBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function tooLarge(maxBytes: number): Error {
  return Object.assign(new Error(`The file is larger than ${maxBytes} bytes; send a smaller one.`), { code: 'ATTACHMENT_TOO_LARGE' });
}
