/**
 * HTTP for the REST API, on node:http under the SDK's request queue, for what delivery needs and the SDK's own fetch does not give: whether
 * a failed request can have reached the server, a 429 that is handed on instead of slept over, and connections that end with stop().
 */
import { Agent as HttpAgent, request as requestHttp, STATUS_CODES, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { Readable } from 'node:stream';
import type { RESTOptions } from '@discordjs/rest';

type MakeRequest = RESTOptions['makeRequest'];

export interface WireRequest {
  method: string;
  headers?: Record<string, string>;
  body?: Uint8Array;
  /** Ends the exchange, the reading of the answer too. */
  signal: AbortSignal;
}

export interface Wire {
  /** Rejects with an error that toReached() understands. The reader owns the answer's body. */
  exchange<T>(url: string, request: WireRequest, read: (response: IncomingMessage) => Promise<T>): Promise<T>;
  /** For the SDK's REST client. Rejects with RateLimited on a 429. */
  makeRequest: MakeRequest;
  /** Ends idle and running connections; a later exchange opens new ones. */
  close(): void;
}

/** A 429, whichever of its many shapes it had. Source: https://discord.com/developers/docs/topics/rate-limits. */
export class RateLimited extends Error {
  override readonly name = 'RateLimited';
  constructor(
    readonly retryAfterMs: number,
    /** `bot`: every call of this bot (or address) is limited. */
    readonly scope: 'chat' | 'bot',
  ) {
    super(`Discord asks to wait ${Math.ceil(retryAfterMs / 1000)} s`);
  }
}

const answerLimit = 32 * 1024 * 1024;

/** True when the request behind this error may have been received, so that it may have had an effect. */
export function toReached(error: unknown): boolean {
  return !(error instanceof Error && 'reached' in error && error.reached === false);
}

export function createWire(): Wire {
  const http = new HttpAgent({ keepAlive: true });
  const https = new HttpsAgent({ keepAlive: true });

  function exchange<T>(url: string, { method, headers, body, signal }: WireRequest, read: (response: IncomingMessage) => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const isSecure = url.startsWith('https:');
      const options = { method, headers: { ...headers, ...(body ? { 'content-length': String(body.length) } : {}) } };
      const request = isSecure ? requestHttps(url, { ...options, agent: https }) : requestHttp(url, { ...options, agent: http });
      let reached = false;
      const fail = (error: Error): void => {
        signal.removeEventListener('abort', onAbort);
        request.destroy();
        reject(Object.assign(error, { reached }));
      };
      const onAbort = (): void => fail(new Error('the call was given up, or was not answered in time'));
      request.on('socket', (socket) => {
        if (!socket.connecting) reached = true;
        else socket.once(isSecure ? 'secureConnect' : 'connect', () => void (reached = true));
      });
      request.on('error', fail);
      request.on('response', (response) => {
        // Wrapped, because a reader that throws inside an event would end the process.
        Promise.resolve(response)
          .then(read)
          .then((value) => {
            signal.removeEventListener('abort', onAbort);
            resolve(value);
          }, fail);
      });
      signal.addEventListener('abort', onAbort);
      if (signal.aborted) return onAbort();
      request.end(body);
    });
  }

  return {
    exchange,
    makeRequest: async (url, init) => {
      const { bytes, type } = await toBytes(init.body);
      const headers = { ...(init.headers as Record<string, string>), ...(type === null ? {} : { 'Content-Type': type }) };
      const signal = init.signal ?? AbortSignal.timeout(120_000);
      const request = { method: init.method ?? 'GET', headers, signal: signal as AbortSignal, ...(bytes ? { body: bytes } : {}) };
      return exchange(url, request, async (response) => toAnswer(response, await readBytes(response, answerLimit, new Error('the answer is too long'))));
    },
    close() {
      http.destroy();
      https.destroy();
    },
  };
}

/** JSON texts go as they are; a form becomes its bytes and the type that names its boundary. */
async function toBytes(body: unknown): Promise<{ bytes?: Uint8Array; type: string | null }> {
  if (body === null || body === undefined) return { type: null };
  if (typeof body === 'string') return { bytes: Buffer.from(body), type: null };
  const form = new Response(body as FormData);
  return { bytes: new Uint8Array(await form.arrayBuffer()), type: form.headers.get('content-type') };
}

/** The answer as the SDK reads it. A refusal that is no JSON object gets no type, because the SDK looks for a code in every JSON. */
function toAnswer(response: IncomingMessage, bytes: Uint8Array): Awaited<ReturnType<MakeRequest>> {
  const status = response.statusCode ?? 0;
  const refusal = status >= 400 ? toObject(bytes) : undefined;
  if (status === 429) throw toRateLimited(response, refusal);
  const headers = new Headers();
  for (const [name, value] of Object.entries(response.headers)) if (typeof value === 'string') headers.set(name, value);
  if (status >= 400 && !refusal) headers.delete('content-type');
  const text = (): string => Buffer.from(bytes).toString();
  return {
    status,
    statusText: STATUS_CODES[status] ?? '',
    ok: status >= 200 && status < 300,
    headers,
    body: Readable.from([bytes]),
    bodyUsed: false,
    text: async () => text(),
    json: async () => JSON.parse(text()) as unknown,
    arrayBuffer: async () => new Uint8Array(bytes).buffer,
  } as Awaited<ReturnType<MakeRequest>>;
}

/** A 429 without Discord's JSON comes from the guard in front of it, which limits the whole address. */
function toRateLimited({ headers }: IncomingMessage, body: Record<string, unknown> | undefined): RateLimited {
  const said = [body?.['retry_after'], headers['retry-after'], headers['x-ratelimit-reset-after']].map(Number).filter((seconds) => Number.isFinite(seconds) && seconds >= 0);
  const isGlobal = body === undefined || body['global'] === true || headers['x-ratelimit-global'] !== undefined || headers['x-ratelimit-scope'] === 'global';
  return new RateLimited(said.length > 0 ? Math.max(...said) * 1000 : 5000, isGlobal ? 'bot' : 'chat');
}

function toObject(bytes: Uint8Array): Record<string, unknown> | undefined {
  try {
    const json: unknown = JSON.parse(Buffer.from(bytes).toString());
    return typeof json === 'object' && json !== null ? (json as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
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
