/** Reads the parameters of a Bot API call in every form that the real one takes: query, JSON, urlencoded and multipart. */
import type { IncomingMessage } from 'node:http';

export interface UploadedFile {
  name: string;
  bytes: Buffer;
}

export interface Params {
  [name: string]: unknown;
}

export interface CallBody {
  params: Params;
  /** Uploaded files by the name of their part (`attach://name` points here). */
  files: Map<string, UploadedFile>;
}

export async function readParams(request: IncomingMessage, query: URLSearchParams): Promise<CallBody> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  const type = request.headers['content-type'] ?? '';
  const params: Params = {};
  const files = new Map<string, UploadedFile>();
  const put = (name: string, value: string): void => void (params[name] = /^[[{]/.test(value) && /[\]}]$/.test(value) ? parsed(value) : value);
  for (const [name, value] of query) put(name, value);
  if (type.startsWith('multipart/form-data')) readMultipart(body, type, put, files);
  else if (type.startsWith('application/x-www-form-urlencoded')) for (const [name, value] of new URLSearchParams(body.toString())) put(name, value);
  else if (body.length > 0) Object.assign(params, parsed(body.toString()));
  return { params, files };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function readMultipart(body: Buffer, type: string, put: (name: string, value: string) => void, files: Map<string, UploadedFile>): void {
  const boundary = /boundary="?([^";]+)"?/.exec(type)?.[1];
  if (boundary === undefined) return;
  const marker = Buffer.from(`--${boundary}`);
  let at = body.indexOf(marker);
  while (at !== -1) {
    const start = at + marker.length + 2;
    const next = body.indexOf(marker, start);
    if (next === -1) return;
    const headEnd = body.indexOf('\r\n\r\n', start);
    const head = body.subarray(start, headEnd).toString();
    const bytes = body.subarray(headEnd + 4, next - 2);
    const name = /[; ]name="?([^";\r\n]+)"?/i.exec(head)?.[1];
    const filename = /filename=(?:"([^"]*)"|([^;\r\n]*))/i.exec(head);
    if (name !== undefined && filename) files.set(name, { name: filename[1] ?? filename[2] ?? '', bytes: Buffer.from(bytes) });
    else if (name !== undefined) put(name, bytes.toString());
    at = next;
  }
}

export function number(value: unknown): number | undefined {
  const parsedNumber = typeof value === 'number' ? value : typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN;
  return Number.isFinite(parsedNumber) ? parsedNumber : undefined;
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

export function object(value: unknown): Params {
  return typeof value === 'object' && value !== null ? (value as Params) : {};
}
