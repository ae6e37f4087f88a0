/**
 * HTTP for the Web API: one pool of connections that stop() can end, and for failed requests the answer to the question that delivery
 * asks, whether they can have reached the server.
 */
import { createReadStream } from 'node:fs';
import { Agent, fetch as fetchByPool, request, type Dispatcher } from 'undici';
import { HermesError } from '../../src/contract/errors.ts';

/** What the SDK asks of a fetch. */
export type Fetch = (url: string | URL | Request, init?: RequestInit) => Promise<Response>;

export interface Wire {
  fetch: Fetch;
  /** Sends a file's bytes as the body; rejects unless the answer is 2xx. */
  upload(url: string, path: string, size: number, signal: AbortSignal): Promise<void>;
  /** The whole answer; rejects with ATTACHMENT_TOO_LARGE as soon as it grows over `maxBytes`. `type` is its content type. */
  download(url: string, headers: Record<string, string>, maxBytes: number, signal: AbortSignal): Promise<{ bytes: Uint8Array; type: string }>;
  /** Ends idle and running connections; a later call opens new ones. */
  close(): void;
}

export function createWire(): Wire {
  let pool: Agent | undefined;
  const dispatcher = (): Dispatcher => (pool ??= new Agent({ connect: { timeout: 10_000 } }));

  return {
    // The pool's own fetch is the one that Node bundles, under types of its own.
    fetch: ((url: string, init: object) => fetchByPool(url, { ...init, dispatcher: dispatcher() })) as unknown as Fetch,

    async upload(url, path, size, signal) {
      const headers = { 'content-type': 'application/octet-stream', 'content-length': String(size) };
      const answer = await request(url, { method: 'POST', headers, body: createReadStream(path), dispatcher: dispatcher(), signal });
      await answer.body.dump();
      if (answer.statusCode < 200 || answer.statusCode > 299) throw new Error(`the upload was answered with HTTP ${answer.statusCode}`);
    },

    async download(url, headers, maxBytes, signal) {
      const answer = await request(url, { headers, dispatcher: dispatcher(), signal });
      const chunks: Uint8Array[] = [];
      let size = 0;
      // Leaving the loop early destroys the body, and with it the connection.
      for await (const chunk of answer.body) {
        if (answer.statusCode !== 200) throw new Error(`HTTP ${answer.statusCode}`);
        const bytes = chunk as Uint8Array;
        size += bytes.length;
        if (size > maxBytes) throw tooLarge(maxBytes);
        chunks.push(bytes);
      }
      if (answer.statusCode !== 200) throw new Error(`HTTP ${answer.statusCode}`);
      return { bytes: Buffer.concat(chunks), type: String(answer.headers['content-type'] ?? '') };
    },

    close() {
      const old = pool;
      pool = undefined;
      // Calls in flight go on to their end: replies are still sent while the program stops.
      void old?.close().catch(() => undefined);
    },
  };
}

export function tooLarge(maxBytes: number): HermesError {
  return new HermesError('ATTACHMENT_TOO_LARGE', `The file is larger than ${maxBytes} bytes; send a smaller one.`);
}

const beforeSending = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'EPROTO', 'ERR_TLS_CERT_ALTNAME_INVALID', 'UND_ERR_CONNECT_TIMEOUT']);

/** False when the request behind this error certainly never left; true when it may have had an effect. */
export function toReached(error: unknown): boolean {
  for (let each: unknown = error; each instanceof Error; each = each.cause) {
    if ('code' in each && typeof each.code === 'string' && (beforeSending.has(each.code) || /^CERT_|_CERT|SELF_SIGNED/.test(each.code))) return false;
  }
  return true;
}

/** The innermost words of an error: fetch says only "fetch failed". */
export function toCause(error: unknown): string {
  let inner = error;
  while (inner instanceof Error && inner.cause instanceof Error) inner = inner.cause;
  if (!(inner instanceof Error)) return String(inner);
  if (inner.name === 'TimeoutError') return 'no answer in time';
  if (inner.name === 'AbortError') return 'the call was given up';
  // An attempt on several addresses has no words of its own.
  return inner.message || ('code' in inner ? String(inner.code) : inner.name);
}
