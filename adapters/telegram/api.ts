/**
 * The door to the Bot API: the SDK's typed calls over our own wire, with no plugins, no retries and no token in any error. What a
 * failed call means for delivery is decided here, once, by one table. Source: https://core.telegram.org/bots/api#making-requests.
 */
import { Api, GrammyError, HttpError } from 'grammy';
import type { SendOutcome } from '../../src/contract/adapter.ts';
import { HermesError, toMessage } from '../../src/contract/errors.ts';
import { createWire, readBytes, toReached, type WireRequest } from '../../src/lib/http-wire.ts';

const callMs = 15_000;
const uploadMs = 120_000;
const downloadMs = 60_000;
/** How long an empty getUpdates call stays open at the server, in seconds; the wire gives it ten more. */
export const pollSeconds = 30;
const answerLimit = 16 * 1024 * 1024;

export interface TelegramApi {
  /** The SDK's methods, each `(parameters, signal)`. They reject with errors for toSendOutcome() and toReason(). */
  readonly raw: Api['raw'];
  /** Bytes of a file by the id that a message carried; rejects with ATTACHMENT_TOO_LARGE over `maxBytes`. */
  download(fileId: string, maxBytes: number, signal: AbortSignal): Promise<Uint8Array>;
  /** Ends every connection. Later calls open new ones. */
  close(): void;
}

export function createTelegramApi({ token, apiRoot }: { token: string; apiRoot: string }): TelegramApi {
  const root = apiRoot.replace(/\/+$/, '');
  const wire = createWire();

  async function call(url: string, init: Omit<WireRequest, 'timeoutMs' | 'method'>): Promise<{ json(): Promise<unknown> }> {
    const timeoutMs = url.endsWith('/getUpdates') ? (pollSeconds + 10) * 1000 : typeof init.body === 'string' ? callMs : uploadMs;
    const answer = await wire.exchange(url, { ...init, method: 'POST', timeoutMs }, async (response) => {
      const bytes = await readBytes(response, answerLimit, new Error('the answer is too long'));
      return toAnswer(response.statusCode ?? 0, Buffer.from(bytes).toString(), token);
    });
    return { json: async () => answer };
  }

  // The SDK asks for a whole fetch, and uses this much of it. Its own time-out stands behind the wire's.
  const api = new Api(token, { apiRoot: root, fetch: call, timeoutSeconds: uploadMs / 1000 + 1 });

  async function download(fileId: string, maxBytes: number, signal: AbortSignal): Promise<Uint8Array> {
    const tooLarge = new HermesError('ATTACHMENT_TOO_LARGE', `The file is larger than ${maxBytes} bytes; send a smaller one.`);
    try {
      const file = await api.raw.getFile({ file_id: fileId }, toSdkSignal(signal));
      if ((file.file_size ?? 0) > maxBytes) throw tooLarge;
      const url = `${root}/file/bot${token}/${toFilePath(file.file_path ?? '', token)}`;
      return await wire.exchange(url, { method: 'GET', signal, timeoutMs: downloadMs }, (response) => {
        if (response.statusCode === 200) return readBytes(response, maxBytes, tooLarge);
        throw new Error(`HTTP ${response.statusCode}`);
      });
    } catch (error) {
      const reason = toReason(error).replaceAll(token, '[token]');
      if (error === tooLarge || reason.includes('file is too big')) throw tooLarge;
      throw new HermesError('REQUEST_INVALID', `Telegram did not give the file: ${reason}. Send it again.`);
    }
  }

  return { raw: api.raw, download, close: () => wire.close() };
}

type SdkSignal = NonNullable<Parameters<Api['getMe']>[0]>;

/** The SDK types its signals after another implementation; it uses only what they have in common. */
export function toSdkSignal(signal: AbortSignal): SdkSignal {
  return signal as unknown as SdkSignal;
}

/** The Bot API's answer, or one of the same shape made from the status when a proxy answered in its place. */
function toAnswer(status: number, text: string, token: string): unknown {
  const answer = parse(text);
  if (typeof answer === 'object' && answer !== null && 'ok' in answer) {
    if (answer.ok === true) return answer;
    return { error_code: status, description: `HTTP ${status}`, ...answer, ...scrubbed(answer, token), ok: false };
  }
  if (status < 400) throw new Error('the answer is not from a Bot API server');
  return { ok: false, error_code: status, description: `HTTP ${status}` };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function scrubbed(answer: object, token: string): { description?: string } {
  if (!('description' in answer) || typeof answer.description !== 'string') return {};
  return { description: answer.description.replaceAll(token, '[token]').slice(0, 200) };
}

/**
 * The part of `getFile`'s path that follows `/file/bot<token>/`. A local Bot API server answers with an absolute path of its own
 * disk, in which that part follows a folder named like the token; it is fetched over HTTP all the same.
 */
function toFilePath(path: string, token: string): string {
  const folder = path.indexOf(`${token}/`);
  const relative = folder === -1 ? path.replace(/^\/+/, '') : path.slice(folder + token.length + 1);
  const parts = relative.split('/');
  if (relative === '' || parts.includes('..')) throw new Error('its path is not usable');
  return parts.map(encodeURIComponent).join('/');
}

/** What a failed call means, in one line without secrets. */
export function toReason(error: unknown): string {
  if (error instanceof GrammyError) return `Telegram says ${error.error_code}: ${error.description}`;
  return error instanceof HttpError ? toMessage(error.error) : toMessage(error);
}

/** The code of Telegram's refusal (401, 409 ...), undefined when there was no answer. */
export function toErrorCode(error: unknown): number | undefined {
  return error instanceof GrammyError ? error.error_code : undefined;
}

/** Milliseconds that a 429 asks to wait; 5 s when it does not say. */
export function toRetryAfterMs(error: GrammyError): number {
  const said = error.parameters.retry_after ?? Number(/retry after (\d+)/i.exec(error.description)?.[1] ?? 5);
  return Number.isFinite(said) && said >= 0 ? said * 1000 : 5000;
}

/** True when the text's markup, not its content, was refused: the same text may go once as plain text. */
export function isMarkupRefusal(error: unknown): boolean {
  return error instanceof GrammyError && error.error_code === 400 && /can't parse entities|message text is empty|text must be non-empty/i.test(error.description);
}

const editGone = /message to edit not found|message can't be edited|MESSAGE_ID_INVALID|message identifier is not specified|there is no text in the message to edit/i;
const chatGone = /chat not found|user not found|group chat was deactivated|PEER_ID_INVALID|CHAT_WRITE_FORBIDDEN|not enough rights to send|have no rights to send|CHANNEL_PRIVATE/i;

/**
 * The table for calls that send or edit. `messageId` is given for edits: "not modified" is success there, and a message that is
 * gone is its own outcome. A 429 counts for the chat: Telegram does not say which limit was hit, other chats find out by themselves.
 */
export function toSendOutcome(error: unknown, messageId?: string): SendOutcome {
  const reason = toReason(error);
  if (!(error instanceof GrammyError)) {
    const cause = error instanceof HttpError ? error.error : error;
    return { status: toReached(cause) ? 'unknown' : 'transient', error: reason };
  }
  const { error_code: code, description, parameters } = error;
  if (code === 429) return { status: 'rate_limited', retryAfterMs: toRetryAfterMs(error), scope: 'chat' };
  if (code >= 500 || code === 408) return { status: 'transient', error: reason };
  if (parameters.migrate_to_chat_id !== undefined) return { status: 'moved', chat: String(parameters.migrate_to_chat_id) };
  if (messageId !== undefined && /message is not modified/i.test(description)) return { status: 'sent', messageId };
  if (messageId !== undefined && editGone.test(description)) return { status: 'edit_gone', error: reason };
  const targetGone = code === 403 || chatGone.test(description);
  return { status: 'permanent', error: reason, ...(targetGone ? { targetGone } : {}) };
}
