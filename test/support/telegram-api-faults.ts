/** Faults that a test orders for the next calls of one method: refusals, broken answers, hangs and cut connections. */
import type { Params } from './telegram-api-params.ts';

export interface Fault {
  /** How many calls it strikes; default 1. */
  times?: number;
  /** HTTP status (and error_code) of the refusal. */
  status?: number;
  description?: string;
  /** Sent as it is instead of a JSON refusal. */
  body?: string;
  /** Seconds in `parameters.retry_after`; the status is then 429 unless given. */
  retryAfter?: number;
  /** Wait this long before anything happens. Infinity: never answered and without effect. */
  hangMs?: number;
  /** Wait this long after the effect, before the answer. */
  hangAfterMs?: number;
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

/** The refusal that a fault describes, or undefined when it only delays or cuts. */
export function toRefusal(fault: Fault): { status: number; body: string } | undefined {
  const status = fault.status ?? (fault.retryAfter === undefined ? undefined : 429);
  if (status === undefined) return fault.body === undefined ? undefined : { status: 200, body: fault.body };
  const description = fault.description ?? (fault.retryAfter === undefined ? `Fault ${status}` : `Too Many Requests: retry after ${fault.retryAfter}`);
  const parameters = fault.retryAfter === undefined ? {} : { parameters: { retry_after: fault.retryAfter } };
  return { status, body: fault.body ?? JSON.stringify({ ok: false, error_code: status, description, ...parameters }) };
}
