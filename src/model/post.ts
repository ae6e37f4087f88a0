/**
 * A POST over Node's own http. Through fetch and its streams the same exchange takes a third more of a turn's CPU; what is kept of
 * fetch is what providers rely on: connections that are used again, 10 s to connect, bodies that come compressed unasked.
 */
import { Agent as HttpAgent, request as requestHttp, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { pipeline, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';

export interface PostRequest {
  headers: Record<string, string>;
  body: string;
  signal: AbortSignal;
}

export interface PostAnswer {
  status: number;
  headers: Headers;
  /** Ends with an error when the connection breaks, the body cannot be decoded or the signal is aborted. */
  body: AsyncIterable<Uint8Array>;
  /** Ends what is still open; nothing when the body has come whole. */
  close(): void;
}

/** Rejects with the connection's error (its `code` tells which) or when the signal is aborted. Redirects are answers like any other. */
export type Post = (url: string, request: PostRequest) => Promise<PostAnswer>;

const connectMs = 10_000;
/** Servers close idle connections without a word; one that was idle for longer is not trusted with a request. */
const idleMs = 4000;

export function createPost(): Post {
  const http = new HttpAgent({ keepAlive: true, timeout: idleMs });
  const https = new HttpsAgent({ keepAlive: true, timeout: idleMs });
  return (url, { headers, body, signal }) =>
    new Promise((resolve, reject) => {
      const secure = url.startsWith('https:');
      const options = { method: 'POST', headers: { ...headers, 'accept-encoding': 'identity', 'content-length': Buffer.byteLength(body) } };
      const request = secure ? requestHttps(url, { ...options, agent: https }) : requestHttp(url, { ...options, agent: http });
      request.on('socket', (socket) => {
        if (!socket.connecting) return;
        const late = () => request.destroy(Object.assign(new Error(`no connection within ${connectMs / 1000} s`), { code: 'ETIMEDOUT' }));
        const timer = setTimeout(late, connectMs);
        const settle = () => clearTimeout(timer);
        socket.once(secure ? 'secureConnect' : 'connect', settle).once('close', settle);
      });
      const onAbort = () => {
        reject(new Error('the request was given up'));
        request.destroy();
      };
      request.on('error', reject);
      request.on('close', () => signal.removeEventListener('abort', onAbort));
      request.on('response', (response) => resolve({ status: response.statusCode ?? 0, headers: toHeaders(response), body: decode(response), close: () => void request.destroy() }));
      if (signal.aborted) return onAbort();
      signal.addEventListener('abort', onAbort);
      request.end(body);
    });
}

function toHeaders({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '');
  return headers;
}

function decode(response: IncomingMessage): AsyncIterable<Uint8Array> {
  const decoder = createDecoder(response.headers['content-encoding']);
  // The decoder's reader hears of a broken connection too.
  const body = decoder ? pipeline(response, decoder, () => {}) : response;
  // Whoever reads it is told by the reading; a body that nobody reads any more may break unheard.
  return body.on('error', () => {});
}

function createDecoder(encoding: string | undefined): Transform | null {
  if (encoding === 'gzip' || encoding === 'x-gzip') return createGunzip();
  if (encoding === 'deflate') return createInflate();
  return encoding === 'br' ? createBrotliDecompress() : null;
}
