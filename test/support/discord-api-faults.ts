/** Faults that a test orders for the next calls of one route: refusals, rate limits, broken answers, hangs and cut connections. */
import type { Json } from './discord-api-world.ts';

export interface Fault {
  /** How many calls it strikes; default 1. */
  times?: number;
  status?: number;
  /** Discord's own code in the refusal. */
  code?: number;
  /** `{path}` stands for the call's path. */
  message?: string;
  /** Sent as it is instead of a JSON refusal. */
  body?: string;
  /** Seconds; the status is then 429. */
  retryAfter?: number;
  /** Of a 429; default `user`. `global` limits everything. */
  scope?: 'user' | 'shared' | 'global';
  /** Never answered and without effect. */
  hang?: boolean;
  /** Cut the connection and do nothing. */
  dropBefore?: boolean;
  /** Do what was asked, then cut the connection without an answer. */
  dropAfter?: boolean;
  /** Strikes only calls whose body this accepts. */
  match?: (body: Json) => boolean;
}

export interface Faults {
  add(name: string, fault: Fault): void;
  /** The fault that strikes this call, used up by one; undefined when none does. */
  take(name: string, body: Json): Fault | undefined;
}

export function createFaults(): Faults {
  const waiting: { name: string; fault: Fault; left: number }[] = [];
  return {
    add: (name, fault) => void waiting.push({ name, fault, left: fault.times ?? 1 }),
    take(name, body) {
      const found = waiting.find((entry) => entry.left > 0 && (entry.name === '*' || entry.name === name) && (entry.fault.match?.(body) ?? true));
      if (found) found.left -= 1;
      return found?.fault;
    },
  };
}

export interface Refusal {
  status: number;
  body: string;
  headers: Record<string, string>;
}

/** The refusal that a fault describes, or undefined when it only delays or cuts. */
export function toRefusal({ status, code = 0, message, body, retryAfter, scope = 'user' }: Fault, path: string): Refusal | undefined {
  if (retryAfter !== undefined) {
    const isGlobal = scope === 'global';
    const headers = { 'retry-after': String(Math.ceil(retryAfter)), 'x-ratelimit-scope': scope, ...(isGlobal ? { 'x-ratelimit-global': 'true' } : {}) };
    return { status: 429, body: body ?? JSON.stringify({ message: 'You are being rate limited.', retry_after: retryAfter, global: isGlobal }), headers };
  }
  if (status === undefined) return body === undefined ? undefined : { status: 200, body, headers: {} };
  return { status, body: body ?? JSON.stringify({ message: (message ?? `Fault ${status}`).replaceAll('{path}', path), code }), headers: {} };
}
