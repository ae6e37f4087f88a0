/**
 * How often the bot may identify itself. Discord resets the token of a bot that does it a thousand times a day, so a program that dies in
 * circles must not spend them: the moments are kept over restarts, and whoever has none left waits.
 */
import type { AdapterContext } from '../../src/contract/adapter.ts';
import { sleep } from '../../src/lib/retry.ts';

export interface BudgetLimits {
  /** Least ms between two. Discord refuses more than one in five seconds. */
  spacingMs: number;
  perFiveMinutes: number;
  perDay: number;
}

export interface IdentifyBudget {
  /** Resolves when one is left; `onWait` hears until when it waits (ms since the epoch). Rejects when the signal is aborted. */
  wait(signal: AbortSignal, onWait: (until: number) => void): Promise<void>;
  /** Takes one; resolves after the commit. */
  spend(): Promise<void>;
}

export interface SessionStartLimit {
  total: number;
  remaining: number;
  /** Ms until `remaining` is `total` again. */
  reset_after: number;
}

const key = 'identified';
const fiveMinutes = 300_000;
const day = 86_400_000;
/** Waits shorter than this are not worth a word. */
const quietMs = 10_000;

export function createIdentifyBudget({ state, limits, now }: { state: AdapterContext['state']; limits: BudgetLimits; now: () => number }): IdentifyBudget {
  // Moments later than now were written before the clock was set back; nothing can be told from them.
  const load = async (): Promise<number[]> => toMoments(await state.get(key)).filter((at) => at <= now());

  return {
    async wait(signal, onWait) {
      for (;;) {
        const until = toNextMoment(await load(), limits);
        const waitMs = until - now();
        if (waitMs <= 0) return signal.throwIfAborted();
        if (waitMs > quietMs) onWait(until);
        await sleep(Math.min(waitMs, day), signal);
      }
    },
    spend: async () => state.set(key, JSON.stringify([...(await load()), now()].slice(-limits.perDay))),
  };
}

/** The first moment (ms since the epoch) at which one more keeps the limits. `times` is in order. Pure. */
export function toNextMoment(times: readonly number[], { spacingMs, perFiveMinutes, perDay }: BudgetLimits): number {
  const after = (count: number, ms: number): number => (times.at(-count) ?? -Infinity) + ms;
  return Math.max(after(1, spacingMs), after(perFiveMinutes, fiveMinutes), after(perDay, day));
}

/** Ms to wait because Discord's own count runs low: four fifths are used, the last fifth is for the operator. Pure. */
export function toPauseMs({ total, remaining, reset_after }: SessionStartLimit): number {
  return remaining > total * 0.2 ? 0 : Math.max(reset_after, quietMs);
}

function toMoments(stored: string | undefined): number[] {
  try {
    const moments: unknown = JSON.parse(stored ?? '[]');
    return Array.isArray(moments) ? moments.filter((at) => typeof at === 'number') : [];
  } catch {
    return [];
  }
}
