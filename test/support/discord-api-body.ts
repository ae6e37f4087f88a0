/** Reads what a call brings: JSON, or a form with `payload_json` and files. */
import type { IncomingMessage } from 'node:http';
import type { Json } from './discord-api-world.ts';

export interface UploadedFile {
  name: string;
  type: string;
  bytes: Uint8Array;
}

export async function readCall(request: IncomingMessage): Promise<{ body: Json; files: UploadedFile[] }> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  const bytes = Buffer.concat(pieces);
  const type = request.headers['content-type'] ?? '';
  if (bytes.length === 0) return { body: {}, files: [] };
  if (!type.startsWith('multipart/form-data')) return { body: JSON.parse(bytes.toString()) as Json, files: [] };
  const form = await new Response(bytes, { headers: { 'content-type': type } }).formData();
  const files: UploadedFile[] = [];
  for (const [key, value] of form) {
    if (typeof value !== 'string' && key.startsWith('files[')) files.push({ name: value.name, type: value.type, bytes: new Uint8Array(await value.arrayBuffer()) });
  }
  return { body: JSON.parse(String(form.get('payload_json') ?? '{}')) as Json, files };
}
