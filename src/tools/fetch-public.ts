/**
 * Fetches one page from the public internet: hop by hop, each hop judged by the guard and connected to a judged address.
 * No cookies, no credentials and no proxy take part, so there is nothing to leak to the next hop. Size and time are capped.
 */
import { lookup as resolveName } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import { pipeline, type Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Destination, Guard } from './ssrf.ts';

export interface Page {
  /** After redirects. */
  url: string;
  /** Lower case, without parameters; empty when the server did not say. */
  contentType: string;
  /** From the content type's charset, if any. */
  charset: string | null;
  body: Uint8Array;
  /** The page was larger; this is its beginning. */
  cut: boolean;
}

const mostHops = 5;
const mostBytes = 5 * 1024 * 1024;
const mostMs = 20_000;

const requestHeaders = {
  'user-agent': 'Mozilla/5.0 (compatible; HermesGateway/1.0)',
  accept: 'text/html, text/plain, application/json, */*;q=0.5',
  'accept-encoding': 'gzip, deflate, br',
};

/** Rejects with an Error for the model. */
export async function fetchPublic(text: string, guard: Guard, outer: AbortSignal): Promise<Page> {
  // Loaded at the first call: it takes longer than the rest of the start.
  const { Agent, request } = await import('undici');
  const signal = AbortSignal.any([outer, AbortSignal.timeout(mostMs)]);
  let next = text;
  for (let hop = 0; hop <= mostHops; hop++) {
    const destination = await beforeAbort(guard.check(next), signal);
    const agent = new Agent({ connect: { lookup: pinned(destination), timeout: mostMs } });
    try {
      const { statusCode, headers, body } = await request(destination.url, { dispatcher: agent, signal, headers: requestHeaders });
      const location = single(headers['location']);
      if (statusCode >= 300 && location === undefined) {
        body.on('error', ignore).destroy();
        throw new Error(`The server answered with status ${statusCode}.`);
      }
      if (statusCode >= 300 && statusCode < 400 && location !== undefined) {
        body.on('error', ignore).destroy();
        next = URL.canParse(location, destination.url.href) ? new URL(location, destination.url).href : location;
        continue;
      }
      const read = await readCapped(decoded(body, single(headers['content-encoding'])));
      return { url: destination.url.href, ...toType(single(headers['content-type'])), ...read };
    } catch (thrown) {
      throw toReadable(thrown, signal);
    } finally {
      await agent.destroy().catch(() => undefined);
    }
  }
  throw new Error(`The page redirects more than ${mostHops} times.`);
}

/** Every address that the system's resolver knows for a name. */
export function lookupAll(hostname: string) {
  return resolveName(hostname, { all: true, verbatim: true });
}

/** Answers every question for a name with the addresses that were judged; a second look-up could give others. */
function pinned({ addresses }: Destination): LookupFunction {
  return (_hostname, options, callback) => {
    const first = addresses[0];
    if (options.all) callback(null, addresses);
    else callback(null, first?.address ?? '', first?.family);
  };
}

/** Decoded as it streams, so that the cap counts what comes out: a small body may unpack to anything. */
function decoded(body: Readable, encoding = 'identity'): Readable {
  const decoders: Record<string, () => Transform> = { gzip: createGunzip, 'x-gzip': createGunzip, deflate: createInflate, br: createBrotliDecompress };
  const create = Object.hasOwn(decoders, encoding.toLowerCase()) ? decoders[encoding.toLowerCase()] : undefined;
  if (create) return pipeline(body, create(), ignore);
  if (encoding.toLowerCase() === 'identity') return body;
  body.on('error', ignore).destroy();
  throw new Error(`The page is sent in the encoding ${encoding.slice(0, 50)}, which was not asked for.`);
}

function ignore(): void {}

async function readCapped(body: AsyncIterable<Uint8Array>): Promise<{ body: Uint8Array; cut: boolean }> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > mostBytes) break;
  }
  const whole = Buffer.concat(chunks);
  return { body: whole.subarray(0, mostBytes), cut: whole.length > mostBytes };
}

function toType(header: string | undefined): { contentType: string; charset: string | null } {
  const [type = '', ...parameters] = (header ?? '').toLowerCase().split(';');
  const charset = /charset\s*=\s*"?([^\s";]+)/.exec(parameters.join(';'))?.[1];
  return { contentType: type.trim(), charset: charset ?? null };
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

/** Name resolution cannot be aborted; waiting for it can. */
function beforeAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(toReadable(signal.reason, signal));
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** Network errors name addresses and ports, which the model has no use for. */
function toReadable(thrown: unknown, signal: AbortSignal): Error {
  if (signal.aborted) return new Error(`The page did not arrive within ${mostMs / 1000} s.`);
  if (!(thrown instanceof Error)) return new Error(String(thrown));
  const code = 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : null;
  return code === null ? thrown : new Error(`The page cannot be fetched (${code}).`);
}
