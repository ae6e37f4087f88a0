/**
 * The door to Discord's REST API: the SDK's client with its retries and its sleeping over rate limits switched off, over our own wire, and no
 * token in any error. What a failed call means for delivery is decided here, once, by one table.
 * Source: https://discord.com/developers/docs/topics/opcodes-and-status-codes#json.
 */
import { DiscordAPIError, HTTPError, RateLimitError, REST, RequestMethod, type RawFile } from '@discordjs/rest';
import type { SendOutcome } from '../../src/contract/adapter.ts';
import { HermesError, toMessage } from '../../src/contract/errors.ts';
import { createWire, readBytes, toReached } from '../../src/lib/http-wire.ts';
import { createMakeRequest, RateLimited } from './make-request.ts';

const callMs = 15_000;
const uploadMs = 120_000;
const downloadMs = 60_000;

const methods = { GET: RequestMethod.Get, POST: RequestMethod.Post, PUT: RequestMethod.Put, PATCH: RequestMethod.Patch, DELETE: RequestMethod.Delete };

export interface CallOptions {
  body?: unknown;
  files?: RawFile[];
  query?: Record<string, string>;
  signal?: AbortSignal;
}

export interface DiscordApi {
  /** One request, never repeated. Resolves with the answer's JSON; rejects with errors for toSendOutcome() and toReason(). */
  call(method: keyof typeof methods, route: `/${string}`, options?: CallOptions): Promise<unknown>;
  /** Bytes of an attachment by the address that its message carried; rejects with ATTACHMENT_TOO_LARGE over `maxBytes`. */
  download(url: string, maxBytes: number, signal: AbortSignal): Promise<Uint8Array>;
  /** Ends every connection. Later calls open new ones. */
  close(): void;
}

export function createDiscordApi({ token, apiRoot }: { token: string; apiRoot: string }): DiscordApi {
  // People copy the address with its version; the SDK adds it by itself.
  const root = apiRoot.replace(/(\/v\d+)?\/*$/, '');
  const wire = createWire();
  const rest = new REST({
    api: root,
    version: '10',
    retries: 0,
    // Longer than any call of ours: each brings its own signal.
    timeout: uploadMs + 1000,
    rejectOnRateLimit: () => true,
    makeRequest: createMakeRequest(wire),
  });

  async function call(method: keyof typeof methods, route: `/${string}`, { body, files, query, signal }: CallOptions = {}): Promise<unknown> {
    const limit = AbortSignal.timeout(files ? uploadMs : callMs);
    // Set for every call: after one 401 the SDK would forget it for good.
    rest.setToken(token);
    try {
      return await rest.request({
        method: methods[method],
        fullRoute: route,
        signal: signal ? AbortSignal.any([signal, limit]) : limit,
        ...(body === undefined ? {} : { body }),
        ...(files === undefined ? {} : { files }),
        ...(query === undefined ? {} : { query: new URLSearchParams(query) }),
      });
    } catch (error) {
      if (error instanceof Error) error.message = error.message.replaceAll(token, '[token]').slice(0, 300);
      throw error;
    }
  }

  async function download(url: string, maxBytes: number, signal: AbortSignal): Promise<Uint8Array> {
    const tooLarge = new HermesError('ATTACHMENT_TOO_LARGE', `The file is larger than ${maxBytes} bytes; send a smaller one.`);
    try {
      if (!isFileAddress(url, root)) throw new Error('its address is not one of Discord');
      return await wire.exchange(url, { method: 'GET', signal: AbortSignal.any([signal, AbortSignal.timeout(downloadMs)]) }, (response) => {
        if (response.statusCode !== 200) throw new Error(`HTTP ${response.statusCode}`);
        if (Number(response.headers['content-length'] ?? 0) > maxBytes) throw tooLarge;
        return readBytes(response, maxBytes, tooLarge);
      });
    } catch (error) {
      if (error === tooLarge) throw tooLarge;
      throw new HermesError('REQUEST_INVALID', `Discord did not give the file: ${toReason(error)}. Send it again.`);
    }
  }

  return { call, download, close: () => wire.close() };
}

/** Files lie on Discord's own hosts; where the API root is another one (a proxy, a test), on that one's host too. */
export function isFileAddress(address: string, root: string): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, hostname, username } = new URL(address);
  if (username !== '') return false;
  if (protocol === 'https:' && discordHost.test(hostname)) return true;
  const home = new URL(root).hostname;
  return !discordHost.test(home) && hostname === home && /^https?:$/.test(protocol);
}

const discordHost = /(^|\.)(discordapp\.(com|net)|discord\.com)$/;

/** What a failed call means, in one line without secrets. */
export function toReason(error: unknown): string {
  if (error instanceof DiscordAPIError) return `Discord says ${error.status} (${error.code}): ${error.message.replaceAll('\n', ' ')}`;
  if (error instanceof HTTPError) return `Discord says ${error.status}: ${error.message}`;
  if (error instanceof RateLimitError) return `Discord asks to wait ${Math.ceil(toWaitMs(error) / 1000)} s`;
  return toMessage(error);
}

/** Status of Discord's refusal (401, 404 ...), undefined when there was no answer. */
export function toStatus(error: unknown): number | undefined {
  if (error instanceof DiscordAPIError || error instanceof HTTPError) return error.status;
  return error instanceof RateLimited || error instanceof RateLimitError ? 429 : undefined;
}

/** Discord's own code in a refusal (10008 ...). */
export function toCode(error: unknown): number | undefined {
  return error instanceof DiscordAPIError && typeof error.code === 'number' ? error.code : undefined;
}

/** How long a refused call has to wait; undefined when it was not refused for its rate. */
export function toRetryAfterMs(error: unknown): number | undefined {
  if (error instanceof RateLimited) return error.retryAfterMs;
  return error instanceof RateLimitError ? toWaitMs(error) : undefined;
}

/** The SDK knows from earlier answers that a bucket is empty, and did not make the call. */
function toWaitMs({ retryAfter, timeToReset }: RateLimitError): number {
  return Math.max(250, retryAfter, timeToReset);
}

/** Unknown message, not its author, too many edits of an old message, archived thread: a new message does what the edit cannot. */
const editGone = new Set([10008, 50005, 30046, 50083]);
/** Unknown channel or server, no access, no permission, direct messages closed, thread locked. */
const targetGone = new Set([10003, 10004, 50001, 50013, 50007, 50083, 160005]);

/** The table for calls that send or edit; `isEdit` tells which. */
export function toSendOutcome(error: unknown, isEdit = false): SendOutcome {
  const reason = toReason(error);
  const retryAfterMs = toRetryAfterMs(error);
  if (retryAfterMs !== undefined) {
    const isBot = error instanceof RateLimited ? error.scope === 'bot' : error instanceof RateLimitError && error.global;
    return { status: 'rate_limited', retryAfterMs, scope: isBot ? 'bot' : 'chat' };
  }
  const status = toStatus(error);
  if (status === undefined) return { status: toReached(error) ? 'unknown' : 'transient', error: reason };
  if (status >= 500 || status === 408) return { status: 'transient', error: reason };
  const code = toCode(error) ?? 0;
  if (isEdit && editGone.has(code)) return { status: 'edit_gone', error: reason };
  return { status: 'permanent', error: reason, ...(targetGone.has(code) ? { targetGone: true } : {}) };
}
