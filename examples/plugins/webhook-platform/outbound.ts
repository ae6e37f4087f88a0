/**
 * What goes out: each part of an answer is one signed POST, and its status says what became of it. The `id` stays the same when a part
 * is posted again, so a receiver can drop repeats.
 */
import { readFile, stat } from 'node:fs/promises';
import type { OutboundPart, SendOutcome } from 'hermes-gateway';
import type { WebhookConfig } from './config.ts';
import { sign } from './signature.ts';

const callMs = 15_000;
const maxFileBytes = 10 * 1024 * 1024;
/** Faults of a connection that was never made: nothing can have arrived. */
const beforeSending = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|CERT_\w+|DEPTH_ZERO_SELF_SIGNED_CERT|ERR_TLS_\w+)$/;

/** Texts of at most `limit` UTF-16 units, cut at a paragraph, a line or a blank, and never inside a character. */
export function splitText(text: string, limit: number): string[] {
  const parts: string[] = [];
  let rest = text.trim();
  while (rest.length > limit) {
    const room = rest.slice(0, limit + 1);
    const seam = ['\n\n', '\n', ' '].map((mark) => room.lastIndexOf(mark)).find((index) => index > limit / 2) ?? -1;
    const whole = /[\uD800-\uDBFF]/.test(rest.charAt(limit - 1)) ? limit - 1 : limit;
    const end = seam > 0 ? seam : whole;
    parts.push(rest.slice(0, end).trimEnd());
    rest = rest.slice(end).trimStart();
  }
  return rest === '' ? parts : [...parts, rest];
}

export async function sendPart(config: WebhookConfig, part: OutboundPart, signal: AbortSignal, now: number): Promise<SendOutcome> {
  const outcome = await post(config, { type: 'message', id: part.idempotencyKey, ...(await toContent(part)) }, signal, now);
  if (!('code' in outcome)) return outcome;
  return outcome.code < 300 ? { status: 'sent', messageId: part.idempotencyKey } : toRefusal(outcome);
}

/** `messageId` is the `id` of the post to replace. */
export async function editPart(config: WebhookConfig, messageId: string, part: OutboundPart, signal: AbortSignal, now: number): Promise<SendOutcome> {
  const outcome = await post(config, { type: 'edit', id: messageId, ...(await toContent(part)) }, signal, now);
  if (!('code' in outcome)) return outcome;
  if (outcome.code < 300) return { status: 'sent', messageId };
  return outcome.code === 404 || outcome.code === 410 ? { status: 'edit_gone', error: `the receiver answers ${outcome.code}` } : toRefusal(outcome);
}

interface Answer {
  code: number;
  retryAfter: string | null;
}

async function post({ url, secret }: WebhookConfig, content: object, signal: AbortSignal, now: number): Promise<Answer | SendOutcome> {
  const body = JSON.stringify(content);
  try {
    const response = await fetch(url, {
      method: 'POST',
      // One connection a post: on a kept one a reset could not be told from a message that arrived.
      headers: { 'content-type': 'application/json', connection: 'close', ...sign(secret, body, now) },
      body,
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(callMs)]),
    });
    await response.body?.cancel();
    return { code: response.status, retryAfter: response.headers.get('retry-after') };
  } catch (thrown) {
    const code = toCode(thrown);
    return beforeSending.test(code) ? { status: 'transient', error: `the receiver cannot be reached (${code})` } : { status: 'unknown', error: `the receiver gave no answer (${code})` };
  }
}

/** The table. Nothing of the receiver's own words is kept: they could hold anything. */
function toRefusal({ code, retryAfter }: Answer): SendOutcome {
  const error = `the receiver answers ${code}`;
  if (code === 429) return { status: 'rate_limited', retryAfterMs: toRetryAfterMs(retryAfter), scope: 'bot' };
  if (code >= 500 || code === 408) return { status: 'transient', error };
  if (code < 400) return { status: 'permanent', error: `${error}; set platforms.webhook.url to where it leads` };
  return { status: 'permanent', error, ...(code === 410 ? { targetGone: true } : {}) };
}

/** Seconds or a date (RFC 9110, 10.2.3); 5 s when it does not say. */
function toRetryAfterMs(header: string | null): number {
  const ms = /^\d{1,7}$/.test(header ?? '') ? Number(header) * 1000 : Date.parse(header ?? '') - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : 5000;
}

/** fetch() wraps the connection's fault; a time-out has none. */
function toCode(thrown: unknown): string {
  const cause = thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown;
  if (cause instanceof Error && 'code' in cause && typeof cause.code === 'string') return cause.code;
  return cause instanceof Error ? cause.name : 'unknown';
}

async function toContent({ address, text, format, replyTo, buttons, media }: OutboundPart): Promise<object> {
  const file = media ? await toFile(media) : null;
  const note = media && !file ? `The file ${media.name} could not be sent: it is gone, empty or larger than 10 MB.` : '';
  return {
    chat: { id: address.chat, ...(address.thread === undefined ? {} : { thread: address.thread }) },
    text: [text, note].filter(Boolean).join('\n\n'),
    format,
    ...(replyTo === undefined ? {} : { reply_to: replyTo }),
    ...(buttons ? { buttons } : {}),
    ...(file ? { file } : {}),
  };
}

async function toFile({ path, name, mime }: NonNullable<OutboundPart['media']>): Promise<object | null> {
  try {
    const { size } = await stat(path);
    return size > 0 && size <= maxFileBytes ? { name, mime, base64: (await readFile(path)).toString('base64') } : null;
  } catch {
    return null;
  }
}
