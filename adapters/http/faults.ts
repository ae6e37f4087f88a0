/** Every "no" of this adapter, in the shape that OpenAI's clients understand, with the status that says whose turn it is to act. */
import type { RouteReply } from '../../src/contract/adapter.ts';
import type { TurnOutcome } from '../../src/contract/turn.ts';

export interface Fault {
  status: number;
  code: string;
  message: string;
  /** The field of the request that is wrong. */
  param?: string;
  retryAfterS?: number;
  /** The turn has run: OpenAI's clients would repeat the request by themselves, and with it what its tools did. */
  final?: boolean;
}

export function toErrorReply(fault: Fault, headers: Record<string, string> = {}): RouteReply {
  return {
    status: fault.status,
    headers: {
      ...headers,
      ...(fault.retryAfterS === undefined ? {} : { 'retry-after': String(fault.retryAfterS) }),
      ...(fault.final ? { 'x-should-retry': 'false' } : {}),
      ...(fault.status === 401 ? { 'www-authenticate': 'Bearer realm="hermes"' } : {}),
    },
    body: toErrorBody(fault),
  };
}

export function toErrorBody({ status, code, message, param }: Fault): { error: { message: string; type: string; param: string | null; code: string } } {
  return { error: { message, type: toType(status), param: param ?? null, code } };
}

function toType(status: number): string {
  if (status >= 500) return 'server_error';
  return status === 429 ? 'rate_limit_error' : status === 403 ? 'permission_error' : 'invalid_request_error';
}

/** How a turn that gave no answer is told to the caller; null when it did answer. */
export function toOutcomeFault(outcome: TurnOutcome): Fault | null {
  if (outcome.status === 'answered') return null;
  if (outcome.status === 'aborted')
    return { status: 409, code: outcome.code ?? 'TURN_INTERRUPTED', message: outcome.text || 'The turn was stopped before it had an answer.', final: true };
  if (outcome.status === 'declined' && outcome.code === undefined) {
    if (outcome.text) return null;
    return { status: 403, code: 'declined', message: 'The message was declined and no turn was made of it.', final: true };
  }
  const code = outcome.code ?? 'TURN_FAILED';
  const status = statusOfCode[code] ?? 500;
  const message = outcome.text || 'The turn failed; the log of the gateway says why.';
  // A full queue is the one failure before the turn: trying again later is right and costs nothing.
  if (code === 'QUEUE_FULL') return { status, code, message, retryAfterS: 5 };
  return { status, code, message, final: true, ...(status === 503 || code === 'MODEL_RATE_LIMITED' ? { retryAfterS: 30 } : {}) };
}

export function toLimited(waitS: number): Fault {
  return { status: 429, code: 'too_many_failures', message: `Too many wrong keys from this address; wait ${waitS} s.`, retryAfterS: waitS };
}

/** Codes of contract/errors.ts that are not simply 500. */
const statusOfCode: Record<string, number> = {
  MODEL_OVERFLOW: 400,
  REQUEST_INVALID: 400,
  SESSION_UNKNOWN: 404,
  TURN_INTERRUPTED: 409,
  ATTACHMENT_TOO_LARGE: 413,
  QUEUE_FULL: 429,
  MODEL_RATE_LIMITED: 429,
  BUDGET_EXCEEDED: 429,
  MODEL_AUTH: 502,
  MODEL_QUOTA: 502,
  MODEL_BAD_ANSWER: 502,
  MODEL_CUT: 502,
  MODEL_UNAVAILABLE: 503,
  STORE_UNAVAILABLE: 503,
  TURN_TIMEOUT: 504,
};
