/**
 * HTTP for the Bot API, on node:http instead of the SDK's own fetch, for two answers that delivery needs and fetch does not give: whether a
 * failed request can have reached the server, and the status of an answer that is not JSON (a proxy's 502 page).
 */
import { Agent as HttpAgent, request as requestHttp, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import type { Readable } from 'node:stream';

export interface WireRequest {
  method: 'GET' | 'POST';
  headers?: Record<string, string>;
  body?: string | Readable | null;
  /** Only these two members are used, so that any implementation of AbortSignal will do. */
  signal?: { readonly aborted: boolean; addEventListener(type: 'abort', listener: () => void): void; removeEventListener(type: 'abort', listener: () => void): void } | null;
  /** Bounds the whole exchange, the body of the answer too. */
  timeoutMs: number;
}

export interface Wire {
  /** Rejects with an error that toReached() understands. The reader owns the answer's body. */
  exchange<T>(url: string, request: WireRequest, read: (response: IncomingMessage) => Promise<T>): Promise<T>;
  /** Ends idle connections. Running exchanges end by themselves: replies are still sent while the program stops. */
  close(): void;
}

/** True when the request behind this error may have been received, so that it may have had an effect. */
export function toReached(error: unknown): boolean {
  return !(error instanceof Error && 'reached' in error && error.reached === false);
}

export function createWire(): Wire {
  const http = new HttpAgent({ keepAlive: true });
  const https = new HttpsAgent({ keepAlive: true });
  return {
    exchange(url, { method, headers, body, signal, timeoutMs }, read) {
      return new Promise((resolve, reject) => {
        const secure = url.startsWith('https:');
        const options = { method, headers: headers ?? {} };
        const request = secure ? requestHttps(url, { ...options, agent: https }) : requestHttp(url, { ...options, agent: http });
        let reached = false;
        const release = (): void => {
          clearTimeout(timer);
          signal?.removeEventListener('abort', onAbort);
        };
        const fail = (error: Error): void => {
          release();
          request.destroy();
          if (typeof body === 'object') body?.destroy();
          reject(Object.assign(error, { reached }));
        };
        const onAbort = (): void => fail(new Error('the call was given up'));
        const timer = setTimeout(() => fail(new Error(`no answer within ${Math.round(timeoutMs / 1000)} s`)), timeoutMs);
        request.on('socket', (socket) => {
          if (!socket.connecting) reached = true;
          else socket.once(secure ? 'secureConnect' : 'connect', () => void (reached = true));
        });
        request.on('error', fail);
        request.on('response', (response) => {
          // Wrapped, because a reader that throws inside an event would end the process.
          Promise.resolve(response)
            .then(read)
            .then((value) => {
              release();
              resolve(value);
            }, fail);
        });
        signal?.addEventListener('abort', onAbort);
        if (signal?.aborted) return onAbort();
        if (typeof body !== 'object' || body === null) return void request.end(body ?? undefined);
        body.on('error', fail);
        body.pipe(request);
      });
    },
    close() {
      for (const agent of [http, https]) for (const idle of Object.values(agent.freeSockets)) for (const socket of idle ?? []) socket.destroy();
    },
  };
}

/** The whole answer as bytes; rejects with `tooLarge` as soon as it grows over `maxBytes`. */
export async function readBytes(response: IncomingMessage, maxBytes: number, tooLarge: Error): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response) {
    const bytes = chunk as Uint8Array;
    size += bytes.length;
    if (size > maxBytes) throw tooLarge;
    chunks.push(bytes);
  }
  if (!response.complete) throw new Error('the answer was cut off');
  return Buffer.concat(chunks);
}
