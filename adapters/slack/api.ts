/**
 * The door to Slack: the SDK's Web API client over our own wire, with no retries, no waiting and no token in any error or log line. What
 * a failed call means for delivery is decided here, once, by one table. Source: https://docs.slack.dev/apis/web-api.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { webApi } from '@slack/bolt';
import type { SendOutcome } from '../../src/contract/adapter.ts';
import { HermesError, toMessage } from '../../src/contract/errors.ts';
import type { Log } from '../../src/contract/log.ts';
import type { Attachment } from '../../src/contract/message.ts';
import { createWire, tooLarge, toCause, toReached } from './wire.ts';

const callMs = 15_000;
const downloadMs = 60_000;

export interface SlackApiOptions {
  botToken: string;
  appToken: string;
  apiRoot: string;
  log: Log;
  /** Slack no longer takes one of the tokens; the line says which, and what to do. */
  onRefused(reason: string): void;
}

export type WebClient = InstanceType<typeof webApi.WebClient>;

export interface SlackApi {
  /** One call with the bot token: `call(signal, (web) => web.chat.postMessage(...))`. Rejects with an error for toSendOutcome() and toReason(). */
  call<T>(signal: AbortSignal, act: (web: WebClient) => Promise<T>): Promise<T>;
  /** The address of a new socket, by the app token. It holds a secret: not for logs. */
  openConnection(signal: AbortSignal): Promise<string>;
  /** Sends a file to the address that Slack gave for it. */
  upload(url: string, path: string, size: number, signal: AbortSignal): Promise<void>;
  /** `ref` is the file's private address, or its id where Slack gave no address. */
  download(file: Pick<Attachment, 'ref' | 'mime'>, maxBytes: number, signal: AbortSignal): Promise<Uint8Array>;
  /** Ends every connection. Later calls open new ones. */
  close(): void;
}

export function createSlackApi({ botToken, appToken, apiRoot, log, onRefused }: SlackApiOptions): SlackApi {
  const wire = createWire();
  const scrub = (text: string): string => [botToken, appToken].reduce((clean, token) => (token === '' ? clean : clean.replaceAll(token, '[token]')), text);
  /** The SDK cannot cancel a call, so the caller's signal reaches the wire by the context in which the call runs. */
  const giveUp = new AsyncLocalStorage<AbortSignal>();

  const options = (): webApi.WebClientOptions => ({
    slackApiUrl: apiRoot,
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    timeout: callMs,
    // Nothing may wait in the SDK: a queued call would run in somebody else's context, under their signal.
    maxRequestConcurrency: Number.POSITIVE_INFINITY,
    allowAbsoluteUrls: false,
    logger: toSdkLogger(log, scrub),
    async fetch(url, init) {
      const signals = [init?.signal, giveUp.getStore()].filter((signal) => signal !== undefined && signal !== null);
      const response = await wire.fetch(url as string, { ...(init as RequestInit), signal: AbortSignal.any(signals as AbortSignal[]) });
      return response.status === 429 && !/^\d+$/.test(response.headers.get('retry-after') ?? '') ? withRetryAfter(response) : response;
    },
  });
  // Each client has options of its own, because the SDK writes into them.
  const bot = new webApi.WebClient(botToken, options());
  const app = new webApi.WebClient(appToken, options());

  async function guarded<T>(token: keyof typeof refusals, signal: AbortSignal, act: () => Promise<T>): Promise<T> {
    try {
      return await giveUp.run(signal, act);
    } catch (error) {
      const code = toErrorCode(error);
      if (code !== undefined && refusals[token].codes.has(code)) onRefused(refusals[token].line(code));
      throw error;
    }
  }

  async function call<T>(signal: AbortSignal, act: (web: WebClient) => Promise<T>): Promise<T> {
    return guarded('bot', signal, () => act(bot));
  }

  /** The bot token goes to the host of the Web API and its subdomains (files.slack.com), to nobody else. */
  function fileAddress(url: string): string {
    const [home, file] = [new URL(apiRoot), new URL(url)];
    if (file.protocol !== home.protocol || (file.host !== home.host && !file.host.endsWith(`.${home.host}`))) throw new Error('its address is not on Slack\'s host');
    return file.href;
  }

  return {
    call,
    async openConnection(signal) {
      const { url } = await guarded('app', signal, () => app.apps.connections.open({}));
      if (!url || !URL.canParse(url) || !/^wss?:$/.test(new URL(url).protocol)) throw new Error('Slack gave no address for a socket');
      return url;
    },
    upload: (url, path, size, signal) => wire.upload(fileAddress(url), path, size, signal),
    async download({ ref, mime }, maxBytes, signal) {
      const within = AbortSignal.any([signal, AbortSignal.timeout(downloadMs)]);
      try {
        const url = /^https?:/.test(ref) ? ref : await toFileUrl(ref, maxBytes, (act) => call(within, act));
        const { bytes, type } = await wire.download(fileAddress(url), { authorization: `Bearer ${botToken}` }, maxBytes, within);
        // Without the scope Slack answers with its sign-in page, and with 200.
        if (type.startsWith('text/html') && mime !== 'text/html') throw new Error('Slack shows its sign-in page, so the app lacks the scope files:read');
        return bytes;
      } catch (error) {
        if (error instanceof HermesError) throw error;
        throw new HermesError('REQUEST_INVALID', `Slack did not give the file: ${scrub(toReason(error))}. Send it again.`);
      }
    },
    close: () => wire.close(),
  };
}

/** Files of shared channels come without an address and a size. */
async function toFileUrl(id: string, maxBytes: number, call: <T>(act: (web: WebClient) => Promise<T>) => Promise<T>): Promise<string> {
  const { file } = await call((web) => web.files.info({ file: id }));
  if ((file?.size ?? 0) > maxBytes) throw tooLarge(maxBytes);
  const url = file?.url_private_download ?? file?.url_private;
  if (!url) throw new Error('it has no address');
  return url;
}

/** The SDK gives up on a 429 without this header; five seconds are what it then stands for. */
function withRetryAfter(response: Response): Response {
  const headers = new Headers(response.headers);
  headers.set('retry-after', '5');
  return new Response(null, { status: 429, headers });
}

/** What the SDK has to say is for debugging alone: every failure is told by its caller. */
function toSdkLogger(log: Log, scrub: (text: string) => string): NonNullable<webApi.WebClientOptions['logger']> {
  const say = (...words: unknown[]): void => log.debug('the Slack SDK says', { words: scrub(words.map(String).join(' ')) });
  return { debug: () => undefined, info: () => undefined, warn: say, error: say, setLevel: () => undefined, getLevel: () => webApi.LogLevel.WARN, setName: () => undefined };
}

const deadToken = ['not_authed', 'invalid_auth', 'account_inactive', 'token_revoked', 'token_expired', 'not_allowed_token_type', 'user_removed_from_team', 'team_disabled'];

/** Refusals that no later try can cure, and the line that says what to do. */
const refusals = {
  bot: {
    codes: new Set(deadToken),
    line: (code: string) => `Slack refused the bot token (${code}). Copy the "Bot User OAuth Token" (xoxb-...) from the app's page "OAuth & Permissions" to SLACK_BOT_TOKEN and restart.`,
  },
  app: {
    codes: new Set([...deadToken, 'missing_scope', 'no_permission', 'access_denied']),
    line: (code: string) =>
      code === 'not_allowed_token_type'
        ? 'SLACK_APP_TOKEN is not an app token (not_allowed_token_type): it must begin with xapp-, a bot token (xoxb-...) belongs into SLACK_BOT_TOKEN. Correct it and restart.'
        : `Slack refused the app token (${code}). Make one with the scope connections:write on the app's page "Basic Information", "App-Level Tokens", set SLACK_APP_TOKEN (xapp-...) and restart.`,
  },
};

/** Slack's own word for a refusal (`channel_not_found`), undefined when there was no answer or none that is Slack's. */
export function toErrorCode(error: unknown): string | undefined {
  if (!(error instanceof webApi.WebAPIPlatformError)) return undefined;
  const code: unknown = error.data.error;
  return typeof code === 'string' && /^[a-z][a-z0-9_]{0,79}$/.test(code) ? code : undefined;
}

/** What a failed call means, in one line without secrets. */
export function toReason(error: unknown): string {
  if (error instanceof webApi.WebAPIPlatformError) {
    const code = toErrorCode(error);
    if (code === undefined) return 'the answer is not from Slack';
    const { needed } = error.data as { needed?: unknown };
    return `Slack says ${code}${typeof needed === 'string' && /^[\w:., ]{1,80}$/.test(needed) ? ` (needed: ${needed})` : ''}`;
  }
  if (error instanceof webApi.WebAPIHTTPError) return `Slack answers with HTTP ${error.statusCode}`;
  if (error instanceof webApi.WebAPIRateLimitedError) return `Slack asks to wait ${error.retryAfter} s`;
  return error instanceof HermesError ? toMessage(error) : toCause(error instanceof webApi.WebAPIRequestError ? error.original : error);
}

/** Milliseconds that Slack asks to wait, undefined when it does not. */
export function toRetryAfterMs(error: unknown): number | undefined {
  if (error instanceof webApi.WebAPIRateLimitedError) return error.retryAfter * 1000;
  const code = toErrorCode(error);
  if (code !== 'ratelimited' && code !== 'rate_limited' && code !== 'message_limit_exceeded') return undefined;
  const said = error instanceof webApi.WebAPIPlatformError ? error.data.response_metadata?.retryAfter : undefined;
  return (typeof said === 'number' ? said : 5) * 1000;
}

const passing = new Set(['internal_error', 'fatal_error', 'service_unavailable', 'request_timeout', 'team_added_to_org', 'org_login_required']);
const gone = /^(channel_not_found|is_archived|not_in_channel|account_inactive|messages_tab_disabled|user_not_found|user_disabled|cannot_dm_bot|restricted_action|restricted_action_read_only_channel)$/;
const editGone = new Set(['message_not_found', 'edit_window_closed', 'cant_update_message', 'invalid_ts', 'is_inactive']);

/**
 * The table for calls that send or edit; `isEdit` because a message that is gone is an outcome of its own there. A 429 counts for the chat:
 * Slack limits posts by channel, and other chats find out by themselves. Source: https://docs.slack.dev/reference/methods/chat.postMessage#errors.
 */
export function toSendOutcome(error: unknown, isEdit = false): SendOutcome {
  const reason = toReason(error);
  const retryAfterMs = toRetryAfterMs(error);
  if (retryAfterMs !== undefined) return { status: 'rate_limited', retryAfterMs, scope: 'chat' };
  if (error instanceof webApi.WebAPIHTTPError) return { status: error.statusCode >= 500 || error.statusCode === 408 ? 'transient' : 'permanent', error: reason };
  const code = toErrorCode(error);
  if (code === undefined) return { status: toReached(error instanceof webApi.WebAPIRequestError ? error.original : error) ? 'unknown' : 'transient', error: reason };
  if (passing.has(code)) return { status: 'transient', error: reason };
  if (isEdit && editGone.has(code)) return { status: 'edit_gone', error: reason };
  return { status: 'permanent', error: reason, ...(gone.test(code) ? { targetGone: true } : {}) };
}
