/**
 * One call of the turn -> as many attempts as it is worth. Which fault is worth how many is written in the Fault; here are
 * the waits, the 120 s, the way on to the fallbacks, and the rest that an account gets whose quota is used up.
 */
import type { ModelDeps, ModelFailure, ModelReply, ModelRequest } from '../contract/model.ts';
import { backoffMs } from '../lib/retry.ts';
import { addUsage, type AttemptResult, type Fault, noUsage, type Provider } from './attempt.ts';
import { createCircuit } from './circuit.ts';
import { cutDetail } from './classify.ts';
import { untilAborted } from './until-aborted.ts';

/** Ms to the first token. */
const firstTokenMs = 120_000;
/** Ms after the first failure during which new attempts may begin; their first tokens too must come within it. */
const retryingMs = 120_000;
/** A provider that wants us to wait longer than this (ms) is passed over at once. */
const longestWaitMs = 30_000;
/** Ms during which an account without quota is not asked again. */
const quotaRestMs = 15 * 60_000;

/** Faults of the server and the line; they say nothing about the request. */
const outages: ReadonlySet<string> = new Set<ModelFailure>(['unavailable', 'timeout', 'cut', 'bad_answer']);

const backoff = { baseMs: 1000, capMs: 4000, jitter: 0.2 };

/** The call of a Model that asks `providers` in order. Never rejects. */
export function createCall(providers: readonly Provider[], deps: ModelDeps): (request: ModelRequest) => Promise<ModelReply> {
  /** Account -> moment until which it rests. */
  const resting = new Map<string, number>();
  const circuit = createCircuit(deps.now);

  return async (request) => {
    const { signal, api } = request;
    const faults: { id: string; fault: Fault }[] = [];
    let usage = noUsage;
    let shown = '';
    let attempts = 0;
    let deadline = Infinity;

    for (const provider of providers) {
      // The last in the chain is asked however it fares: there is nobody else.
      const isOpen = () => provider !== providers.at(-1) && circuit.isOpen(provider);
      if (isOpen()) continue;
      for (let tries = 1; deps.now() < deadline; tries++) {
        const attempted = (resting.get(provider.account) ?? -Infinity) <= deps.now();
        const result = attempted ? await attempt(provider) : { ok: false as const, fault: toRest(provider.id), usage: noUsage };
        usage = addUsage(usage, result.usage);
        if (result.ok) circuit.answered(provider);
        if (result.ok) return { ok: true, text: result.text, toolCalls: result.toolCalls, finish: result.finish, model: provider.id, usage };

        const { fault } = result;
        faults.push({ id: provider.id, fault });
        deadline = Math.min(deadline, deps.now() + retryingMs);
        if (outages.has(fault.failure)) circuit.failed(provider);
        if (fault.failure === 'quota' && attempted) resting.set(provider.account, deps.now() + quotaRestMs);
        const wait = fault.retryAfterMs ?? backoffMs(tries, backoff, deps.random);
        // Once people have read a part of an answer, nothing else is put in its place without a word.
        const again = shown === '' && tries < fault.tries && wait <= longestWaitMs && deps.now() + wait < deadline && !isOpen();
        if (attempted) await tell(fault, again);
        if (signal.aborted) return toFailure(toAborted());
        if (shown !== '' || !fault.fallback) return toFailure(fault);
        if (!again) break;
        await deps.sleep(wait, signal).catch(() => undefined);
        if (signal.aborted) return toFailure(toAborted());
      }
    }
    // The first provider's trouble is what the operator has to mend.
    return toFailure(faults[0]?.fault ?? toAborted());

    function attempt(provider: Provider): Promise<AttemptResult> {
      return provider.attempt({
        request,
        number: ++attempts,
        firstTokenMs: Math.min(firstTokenMs, deadline - deps.now()),
        onText(delta) {
          if (!request.onText) return;
          shown += delta;
          request.onText(delta);
        },
        api,
      });
    }

    async function tell(fault: Fault, retryable: boolean): Promise<void> {
      const { failure, status, detail } = fault;
      if (failure !== 'aborted') deps.log.warn('model request failed', { failure, status, detail, attempt: attempts, retryable });
      await untilAborted(api?.onError({ status_code: status ?? null, error: detail, attempt: attempts, retryable }), signal);
    }

    function toFailure({ failure, status, detail }: Fault): ModelReply {
      const details = faults.length > 1 ? faults.map(({ id, fault }) => `${id}: ${fault.detail}`).join('; ') : detail;
      return { ok: false, failure, detail: cutDetail(details), ...(status === undefined ? {} : { status }), partialText: shown, usage };
    }
  };
}

function toRest(id: string): Fault {
  return { failure: 'quota', detail: `${id} is not asked: its quota was used up less than 15 minutes ago`, tries: 1, fallback: true };
}

function toAborted(): Fault {
  return { failure: 'aborted', detail: 'ended by the caller', tries: 1, fallback: false };
}
