/** Faults that a test orders for the next calls of one method: refusals, broken answers, hangs and cut connections. */
import type { Params } from './slack-api-world.ts';

export interface Fault {
  /** How many calls it strikes; default 1. */
  times?: number;
  /** Slack's word in `{ok: false, error}`. */
  error?: string;
  /** HTTP status of the answer; 200 for an `error`, 429 for `retryAfter`. */
  status?: number;
  /** Sent as it is instead of JSON. */
  body?: string;
  /** Seconds of the Retry-After header; null leaves the header away. */
  retryAfter?: number | null;
  /** Wait this long before anything happens. Infinity: never answered and without effect. */
  hangMs?: number;
  /** Cut the connection and do nothing. */
  dropBefore?: boolean;
  /** Do what was asked, then cut the connection without an answer. */
  dropAfter?: boolean;
  /** Strikes only calls for which this is true. */
  match?: (params: Params) => boolean;
}

export interface Faults {
  add(method: string, fault: Fault): void;
  /** The fault that strikes this call, used up by one; undefined when none does. */
  take(method: string, params: Params): Fault | undefined;
  clear(): void;
}

export function createFaults(): Faults {
  const waiting: { method: string; fault: Fault; left: number }[] = [];
  return {
    add: (method, fault) => void waiting.push({ method, fault, left: fault.times ?? 1 }),
    take(method, params) {
      const found = waiting.find((entry) => entry.left > 0 && (entry.method === '*' || entry.method === method) && (entry.fault.match?.(params) ?? true));
      if (found) found.left -= 1;
      return found?.fault;
    },
    clear: () => void waiting.splice(0),
  };
}

export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

export function toJson(content: object, status = 200): Answer {
  return { status, headers: { 'content-type': 'application/json; charset=utf-8' }, body: JSON.stringify(content) };
}

/** The refusal that a fault describes, or undefined when it only delays or cuts. */
export function toRefusal({ error, status, body, retryAfter }: Fault): Answer | undefined {
  if (error === undefined && status === undefined && body === undefined && retryAfter === undefined) return undefined;
  const answer = toJson({ ok: false, error: error ?? 'ratelimited' }, status ?? (retryAfter === undefined ? 200 : 429));
  if (typeof retryAfter === 'number') answer.headers['retry-after'] = String(retryAfter);
  return body === undefined ? answer : { ...answer, headers: { 'content-type': 'text/html' }, body };
}
