/**
 * From what went wrong to a Fault. Statuses come first, then the provider's own codes and phrases, because compatible
 * servers agree on the statuses at best. Bodies go into `detail` cut to 2 KiB and never anywhere else.
 */
import { toMessage } from '../contract/errors.ts';
import type { Fault } from './attempt.ts';

const overflowPhrases =
  /context[ _]?length|context[ _]window|maximum context|available context|prompt is too long|input is too long|too many (input )?tokens|reduce the length|input token count|exceed\w* the (maximum|max) (number of )?(input )?tokens/i;

const quotaPhrases =
  /insufficient[ _](quota|balance|credits?|funds)|exceeded your current quota|credit balance is too low|billing[ _]hard[ _]limit|out of credits|requires more credits|payment required|quota (is )?exhausted/i;

/** Free plans of some providers say "quota" for a limit that is over within a minute, and then say when. */
const comesBackSoon = /(retry|try again) (in|after) /i;

const detailLimit = 2048;

/** An answer with a status of 400 or more. */
export function toStatusFault(status: number, body: string, headers: Headers): Fault {
  const detail = cutDetail(`HTTP ${status}: ${errorText(body)}`);
  const base = { detail, status };
  const retryAfterMs = readRetryAfter(headers);
  const wait = retryAfterMs === null ? {} : { retryAfterMs };

  if (status === 413 || ((status === 400 || status === 422) && overflowPhrases.test(body))) return { ...base, failure: 'overflow', tries: 1, fallback: false };
  if (status === 402 || (status < 500 && quotaPhrases.test(body) && !(status === 429 && (retryAfterMs !== null || comesBackSoon.test(body)))))
    return { ...base, failure: 'quota', tries: 1, fallback: true };
  if (status === 401 || status === 403) return { ...base, failure: 'auth', tries: 1, fallback: true };
  if (status === 429) return { ...base, ...wait, failure: 'rate_limited', tries: 3, fallback: true };
  if (status >= 500 || status === 408 || status === 409) return { ...base, ...wait, failure: 'unavailable', tries: 3, fallback: true };
  // 404 means that this provider has no such model or path; the others are our own fault and would fail anywhere.
  return { ...base, failure: 'bad_request', tries: 1, fallback: status === 404 };
}

/** An error object inside an answer of status 200. */
export function toErrorFault(error: unknown): Fault {
  const text = JSON.stringify(error) ?? String(error);
  const detail = cutDetail(`an error in a 200: ${text}`);
  if (overflowPhrases.test(text)) return { failure: 'overflow', detail, status: 200, tries: 1, fallback: false };
  if (quotaPhrases.test(text)) return { failure: 'quota', detail, status: 200, tries: 1, fallback: true };
  return toBadAnswer(detail);
}

/** An answer of status 200 that is none. */
export function toBadAnswer(what: string): Fault {
  return { failure: 'bad_answer', detail: cutDetail(what), status: 200, tries: 2, fallback: true };
}

/** No answer at all: refused, reset, unknown host, bad certificate, no connection within 10 s. */
export function toConnectionFault(thrown: unknown): Fault {
  const causes = listCauses(thrown);
  const timedOut = causes.some((cause) => codeOf(cause) === 'UND_ERR_CONNECT_TIMEOUT' || codeOf(cause) === 'ETIMEDOUT');
  return { failure: timedOut ? 'timeout' : 'unavailable', detail: describe(causes), tries: 3, fallback: true };
}

/** The answer had begun and its body could not be read to the end. */
export function toBodyFault(thrown: unknown): Fault {
  const causes = listCauses(thrown);
  const undecodable = causes.find((cause) => /^(Z_|ERR__ERROR_FORMAT|ERR_ENCODING)/.test(codeOf(cause)));
  if (undecodable) return toBadAnswer(describe(causes));
  return { failure: 'cut', detail: describe(causes), status: 200, tries: 2, fallback: true };
}

/** Ms to wait by Retry-After (seconds or a date, RFC 9110 10.2.3) or OpenAI's retry-after-ms; null when it does not say. */
export function readRetryAfter(headers: Headers): number | null {
  const ms = Number(headers.get('retry-after-ms') ?? NaN);
  if (Number.isFinite(ms) && ms >= 0) return ms;
  const value = headers.get('retry-after')?.trim();
  if (!value) return null;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const date = Date.parse(value);
  return Number.isNaN(date) ? null : Math.max(0, date - Date.now());
}

export function cutDetail(text: string): string {
  const bytes = Buffer.from(text);
  // The replacement character that a cut in the middle of a character leaves has three bytes of its own.
  return bytes.length <= detailLimit ? text : `${bytes.subarray(0, detailLimit - 6).toString()}...`;
}

/** The message of an error body in OpenAI's shape with its code, else the body as it is. */
function errorText(body: string): string {
  try {
    const { error } = JSON.parse(body) as { error?: { message?: unknown; code?: unknown } };
    if (typeof error?.message === 'string') return error.code ? `${error.message} (${String(error.code)})` : error.message;
  } catch {
    // Not JSON: proxies answer in HTML or in words.
  }
  return body.trim();
}

function listCauses(thrown: unknown): unknown[] {
  const causes = [];
  for (let cause = thrown; cause && causes.length < 5; cause = cause instanceof Error ? cause.cause : undefined) causes.push(cause);
  return causes;
}

function codeOf(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown ? String(thrown.code) : '';
}

function describe(causes: unknown[]): string {
  return cutDetail(causes.map((cause) => [toMessage(cause), codeOf(cause)].filter(Boolean).join(' ')).join(': '));
}
