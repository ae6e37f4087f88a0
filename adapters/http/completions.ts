/**
 * POST /v1/chat/completions: request -> InboundMessage -> receive() -> the turn's outcome as the answer. The message is durable
 * before anything is answered. A client that goes away does not end its turn: the answer stays in the session, and a repeated
 * request with the same Idempotency-Key gets it.
 */
import { randomBytes } from 'node:crypto';
import type { AdapterContext, Receipt, Receive, RouteReply } from '../../src/contract/adapter.ts';
import { HermesError } from '../../src/contract/errors.ts';
import type { TurnOutcome } from '../../src/contract/turn.ts';
import { toErrorReply, toOutcomeFault, type Fault } from './faults.ts';
import { createFollower, type Follower } from './follow-turn.ts';
import { createKeyMemory, sha256 } from './idempotency.ts';
import { toChatRequest, toInboundMessage, type ChatRequest } from './inbound.ts';
import { toCompletion, type AnswerHead } from './outbound.ts';
import type { Call } from './router.ts';
import { createStreamedAnswer } from './stream-answer.ts';

const sessionHeader = 'x-hermes-session-id';

export interface CompletionDeps {
  receive: Receive;
  models(): string[];
  state: AdapterContext['state'];
  now(): number;
}

export function createCompletions({ receive, models, state, now }: CompletionDeps): (call: Call) => Promise<RouteReply | null> {
  const keys = createKeyMemory(state);

  return async (call) => {
    const request = toChatRequest(call.body);
    if ('status' in request) return toErrorReply(request);
    const session = call.headers[sessionHeader];
    const idempotencyKey = call.headers['idempotency-key'];
    for (const [name, value] of [['X-Hermes-Session-Id', session], ['Idempotency-Key', idempotencyKey]] as const)
      if (value !== undefined && !/^[\x21-\x7e]{1,256}$/.test(value))
        return toErrorReply({ status: 400, code: 'REQUEST_INVALID', message: `${name} takes 1 to 256 visible ASCII characters.`, param: name });

    const identity = idempotencyKey === undefined ? randomBytes(32).toString('hex') : sha256(`${call.caller}\n${idempotencyKey}`);
    // A fresh chat has its name from the key, so that a repeated request without a session hears of the same one.
    const chat = session ?? `req-${identity.slice(0, 32)}`;
    const head: AnswerHead = { id: `chatcmpl-${identity.slice(0, 32)}`, created: Math.floor(now() / 1000), model: request.model ?? models()[0] ?? 'hermes' };
    const headers = { [sessionHeader]: chat };

    const message = toInboundMessage(request, {
      key: idempotencyKey === undefined ? `req-${identity}` : `key-${identity}`,
      chat,
      messageId: head.id,
      caller: call.caller,
      model: request.model !== null && models().includes(request.model) ? request.model : null,
      at: now(),
    });
    const follower = createFollower();
    let receipt: Receipt;
    try {
      if (idempotencyKey !== undefined && !(await keys.claim(identity, toDigest(request, session))))
        return toErrorReply({ status: 422, code: 'idempotency_key_reused', message: 'This Idempotency-Key was used for another request; take a new one.' }, headers);
      receipt = await receive(message, follower.observer);
    } catch (error) {
      return toErrorReply(toReceiveFault(error), headers);
    }
    if (receipt.status === 'refused')
      return toErrorReply({ status: 403, code: receipt.reason, message: 'The gateway does not take this message from you.' }, headers);
    return await (request.stream ? streamed : plain)({ call, request, head, headers, follower, late: receipt.status === 'duplicate' });
  };
}

interface Waiting {
  call: Call;
  request: ChatRequest;
  head: AnswerHead;
  headers: Record<string, string>;
  follower: Follower;
  late: boolean;
}

async function plain({ call, head, headers, follower }: Waiting): Promise<RouteReply> {
  const notices: string[] = [];
  follower.listen((event) => {
    if (event.type === 'notice') notices.push(event.text);
  });
  const outcome = await outcomeOrGone(follower, call.gone);
  if (outcome === null) return toErrorReply(stopped, headers);
  const fault = toOutcomeFault(outcome);
  if (fault) return toErrorReply(fault, headers);
  return { status: 200, headers, body: toCompletion(head, outcome, outcome.text || notices.join('\n\n')) };
}

async function streamed({ call, request, head, headers, follower, late }: Waiting): Promise<RouteReply | null> {
  const answer = createStreamedAnswer({ head, includeUsage: request.includeUsage, late, open: () => call.openStream(headers) });
  try {
    follower.listen((event) => answer.onEvent(event));
    const outcome = await outcomeOrGone(follower, call.gone);
    const fault = outcome === null ? answer.fail(stopped) : answer.finish(outcome);
    return fault && toErrorReply(fault, headers);
  } finally {
    answer.close();
    follower.listen(() => undefined);
  }
}

/** Null when the client went away or the adapter stops before the turn has its end. */
async function outcomeOrGone(follower: Follower, gone: AbortSignal): Promise<TurnOutcome | null> {
  let leave: () => void = () => undefined;
  const left = new Promise<null>((resolve) => {
    leave = () => resolve(null);
    if (gone.aborted) leave();
    gone.addEventListener('abort', leave, { once: true });
  });
  try {
    return await Promise.race([follower.done, left]);
  } finally {
    gone.removeEventListener('abort', leave);
  }
}

const stopped: Fault = {
  status: 503,
  code: 'gateway_stopping',
  message: 'The gateway is stopping. The message is kept; ask again with the same Idempotency-Key, or look into the session, for its answer.',
  retryAfterS: 5,
  final: true,
};

function toReceiveFault(error: unknown): Fault {
  if (error instanceof HermesError) {
    const unavailable = error.code === 'STORE_UNAVAILABLE';
    return { status: unavailable ? 503 : 500, code: error.code, message: error.message, ...(unavailable ? { retryAfterS: 5 } : {}) };
  }
  throw error;
}

/** What makes two requests the same: what is asked, not how the answer is to travel. */
function toDigest({ text, attachments, history, instructions, model }: ChatRequest, session: string | undefined): string {
  return sha256(JSON.stringify([session ?? null, text, attachments.map(({ ref }) => sha256(ref)), history, instructions, model]));
}
