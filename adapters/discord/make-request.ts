/** Between the SDK's request queue and the wire: a 429 is handed on instead of slept over, and what is no JSON is not read as such. */
import { STATUS_CODES, type IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { RESTOptions } from '@discordjs/rest';
import { readBytes, type Wire } from '../../src/lib/http-wire.ts';

type MakeRequest = RESTOptions['makeRequest'];

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

/** What the SDK's REST client sends its requests by. Rejects with RateLimited on a 429. */
export function createMakeRequest({ exchange }: Wire): MakeRequest {
  return async (url, init) => {
    const { bytes, type } = await toBytes(init.body);
    const headers = { ...(init.headers as Record<string, string>), ...(type === null ? {} : { 'Content-Type': type }) };
    const signal = (init.signal as AbortSignal | undefined) ?? AbortSignal.timeout(120_000);
    const request = { method: init.method ?? 'GET', headers, signal, ...(bytes ? { body: bytes } : {}) };
    return exchange(url, request, async (response) => toAnswer(response, await readBytes(response, answerLimit, new Error('the answer is too long'))));
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
