/** Shows "typing" while a turn runs: at once, then every 4 s, never into a rate limit, never after the end. */
import type { Adapter } from '../contract/adapter.ts';
import type { Address } from '../contract/message.ts';
import type { Gates } from './gates.ts';

const everyMs = 4000;
/** A turn that ends this soon shows its answer before anybody could have seen the sign. */
const firstMs = 150;
/** Made once: an abort without a reason makes an exception with a stack, at the end of every turn. */
const ended = new Error('the turn has ended');

export function keepTyping(adapter: Adapter | undefined, address: Address, gates: Gates): { stop(): void } {
  if (!adapter?.typing) return { stop() {} };
  let over: AbortController | undefined;
  const call = async (signal: AbortSignal) => {
    const outcome = await adapter.typing?.(address, signal).catch(() => undefined);
    if (outcome?.status === 'rate_limited') gates.limit(address, outcome.scope, outcome.retryAfterMs);
  };
  const show = () => {
    over ??= new AbortController();
    if (!gates.isShut(address)) void call(over.signal);
    timer = setTimeout(show, everyMs);
  };
  let timer = setTimeout(show, firstMs);
  return {
    stop() {
      clearTimeout(timer);
      over?.abort(ended);
    },
  };
}
