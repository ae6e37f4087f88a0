/**
 * Calls over node:http, for what delivery needs and fetch does not give: whether a failed request can have reached the server, the status of
 * an answer that is not what was asked for (a proxy's 502 page), and connections that end with stop() while replies still go out.
 */
import { Agent as HttpAgent, request as requestHttp, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import type { Duplex, Readable } from 'node:stream';

export interface WireRequest {
  method: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array | Readable | null;
  /** Ends the exchange, the reading of the answer too. Only these members are used, so that any implementation of AbortSignal will do. */
  signal?: { readonly aborted: boolean; addEventListener(type: 'abort', listener: () => void): void; removeEventListener(type: 'abort', listener: () => void): void } | null;
  /** Bounds the whole exchange, the body of the answer too. */
  timeoutMs?: number;
}

export interface Wire {
  /** Rejects with an error that toReached() understands. The reader owns the answer's body. */
  exchange<T>(url: string, request: WireRequest, read: (response: IncomingMessage) => Promise<T>): Promise<T>;
  /** Ends idle connections at once, the others with their exchange. A later exchange opens new ones. */
  close(): void;
}

/** True when the request behind this error may have been received, so that it may have had an effect. */
export function toReached(error: unknown): boolean {
  return !(error instanceof Error && 'reached' in error && error.reached === false);
}

export function createWire(): Wire {
  let agents = createAgents();
  return {
    exchange(url, { method, headers = {}, body, signal, timeoutMs }, read) {
      return new Promise((resolve, reject) => {
        const secure = url.startsWith('https:');
        const stream = typeof body === 'object' && body !== null && 'pipe' in body ? body : undefined;
        const length = body instanceof Uint8Array ? { 'content-length': String(body.length) } : {};
        const options = { method, headers: { ...headers, ...length } };
        const request = secure ? requestHttps(url, { ...options, agent: agents.https }) : requestHttp(url, { ...options, agent: agents.http });
        let reached = false;
        const release = (): void => {
          clearTimeout(timer);
          signal?.removeEventListener('abort', onAbort);
        };
        const fail = (error: Error): void => {
          release();
          request.destroy();
          stream?.destroy();
          reject(Object.assign(error, { reached }));
        };
        const onAbort = (): void => fail(new Error('the call was given up, or was not answered in time'));
        const timer = timeoutMs === undefined ? undefined : setTimeout(() => fail(new Error(`no answer within ${Math.round(timeoutMs / 1000)} s`)), timeoutMs);
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
        if (!stream) return void request.end(body ?? undefined);
        stream.on('error', fail);
        stream.pipe(request);
      });
    },
    close() {
      for (const agent of Object.values(agents)) {
        // A call may be over and its connection not idle yet: that is so a moment later.
        agent.on('free', (socket: Duplex) => socket.destroy());
        for (const idle of Object.values(agent.freeSockets)) for (const socket of idle ?? []) socket.destroy();
      }
      agents = createAgents();
    },
  };
}

const createAgents = () => ({ http: new HttpAgent({ keepAlive: true }), https: new HttpsAgent({ keepAlive: true }) });

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
