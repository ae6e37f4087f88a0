/**
 * The hook lists. What passes through: a hook's name and payload from the core, one copy of the payload to each callback in
 * plugin load order, and their values back. A callback can be slow, throw or hang and the turn still goes on: `fire` never
 * rejects, and each callback has its time limit.
 */
import { toMessage } from '../contract/errors.ts';
import type { Log } from '../contract/log.ts';
import { hookTable, type HookCallback, type HookName, type HookPayloads, type HookResult, type Hooks } from '../contract/plugin.ts';
import { nearest } from '../lib/nearest.ts';
import { placeOf, runAs } from './current-plugin.ts';

/** This many time-outs in a row switch a callback off for `offMs`. */
const strikes = 3;
const offMs = 10 * 60_000;
/** Distinct errors remembered per callback; beyond that each is logged at debug level only. */
const maxKnownErrors = 100;

export interface HookTiming {
  plugin: string;
  hook: HookName;
  calls: number;
  errors: number;
  timeouts: number;
  /** Time spent in the callback, ms; a call that timed out counts with its limit. */
  totalMs: number;
}

export interface HookOptions {
  /** pre_tool_call alone: a throw, a time-out or being switched off blocks the call instead of being skipped. */
  failClosed?: boolean;
}

export interface HookLists extends Hooks {
  /** False for a name that no hook has; that was logged with the nearest name. */
  add(plugin: string, name: string, callback: HookCallback, options?: HookOptions): boolean;
  removeAll(plugin: string): void;
  /** Per plugin and hook, in load order; plugins with two callbacks on one hook have them added up. */
  timings(): HookTiming[];
}

export interface HooksDeps {
  log: Log;
  limits: { preMs: number; postMs: number };
  /** Monotonic, ms. */
  now?: () => number;
}

interface Entry {
  plugin: string;
  hook: HookName;
  callback: HookCallback;
  failClosed: boolean;
  timing: HookTiming;
  knownErrors: Set<string>;
  timeoutsInARow: number;
  /** On the clock of `now`; the callback is left out until then. */
  offUntil: number;
}

export function createHooks({ log, limits, now = () => performance.now() }: HooksDeps): HookLists {
  const lists = new Map<HookName, Entry[]>();

  async function call(entry: Entry, payload: Record<string, unknown>): Promise<HookResult | null> {
    if (now() < entry.offUntil) return failure(entry, 'is switched off after repeated time-outs');
    const limitMs = hookTable[entry.hook].limit === 'pre' ? limits.preMs : limits.postMs;
    const startedAt = now();
    entry.timing.calls++;
    try {
      const outcome = await within(limitMs, () => runAs(entry.plugin, placeOf(payload), () => entry.callback(copy(payload))));
      if (outcome.late) return timedOut(entry, limitMs);
      entry.timeoutsInARow = 0;
      return outcome.value === undefined || outcome.value === null ? null : { plugin: entry.plugin, value: outcome.value };
    } catch (thrown) {
      entry.timeoutsInARow = 0;
      entry.timing.errors++;
      say(entry, toMessage(thrown));
      return failure(entry, `failed: ${toMessage(thrown)}`);
    } finally {
      entry.timing.totalMs += now() - startedAt;
    }
  }

  function timedOut(entry: Entry, limitMs: number): HookResult | null {
    entry.timing.timeouts++;
    say(entry, `gave no answer within ${limitMs} ms and was not waited for`);
    // Calls of other chats may be under way: each has its own clock, and their values still count when they come.
    if (++entry.timeoutsInARow >= strikes) {
      entry.timeoutsInARow = 0;
      entry.offUntil = now() + offMs;
      log.warn(`Plugin ${entry.plugin}: hook ${entry.hook} timed out ${strikes} times in a row and is switched off for 10 minutes`, { plugin: entry.plugin, hook: entry.hook });
    }
    return failure(entry, `gave no answer within ${limitMs} ms`);
  }

  function say(entry: Entry, error: string): void {
    const known = entry.knownErrors.has(error) || entry.knownErrors.size >= maxKnownErrors;
    if (!known) entry.knownErrors.add(error);
    const fields = { plugin: entry.plugin, hook: entry.hook, error };
    log[known ? 'debug' : 'warn'](`Plugin ${entry.plugin}: hook ${entry.hook}: ${error}`, fields);
  }

  return {
    add(plugin, name, callback, options = {}) {
      if (!isHookName(name)) {
        log.warn(unknownHook(plugin, name), { plugin, hook: name });
        return false;
      }
      const list = lists.get(name) ?? [];
      lists.set(name, list);
      const timing = list.find((entry) => entry.plugin === plugin)?.timing ?? { plugin, hook: name, calls: 0, errors: 0, timeouts: 0, totalMs: 0 };
      // Only a verdict on a tool call can fail closed; elsewhere there is nothing that a failure could block.
      const failClosed = name === 'pre_tool_call' && options.failClosed === true;
      list.push({ plugin, hook: name, callback, failClosed, timing, knownErrors: new Set(), timeoutsInARow: 0, offUntil: -Infinity });
      return true;
    },
    removeAll(plugin) {
      for (const [name, list] of lists) lists.set(name, list.filter((entry) => entry.plugin !== plugin));
    },
    async fire<N extends HookName>(name: N, payload: HookPayloads[N]) {
      const results: HookResult[] = [];
      for (const entry of lists.get(name) ?? []) {
        const result = await call(entry, payload as Record<string, unknown>);
        if (result) results.push(result);
      }
      return results;
    },
    has: (name) => (lists.get(name)?.length ?? 0) > 0,
    timings: () => [...new Set([...lists.values()].flat().map((entry) => entry.timing))].map((timing) => ({ ...timing })),
  };
}

export function isHookName(name: string): name is HookName {
  return Object.hasOwn(hookTable, name);
}

/** The line for a hook name that does not exist, with the name that was probably meant. */
export function unknownHook(plugin: string, name: string): string {
  return `Plugin ${plugin}: there is no hook "${name}", so it will never be called; did you mean ${nearest(name, Object.keys(hookTable))}?`;
}

function failure(entry: Entry, what: string): HookResult | null {
  return entry.failClosed ? { plugin: entry.plugin, value: null, failedClosed: `${entry.plugin}'s ${entry.hook} ${what}` } : null;
}

/** Waits for `run` at most `ms`. What comes later, a rejection too, is dropped: the race has taken hold of it. */
export async function within<T>(ms: number, run: () => T | Promise<T>): Promise<{ late: false; value: T } | { late: true }> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<{ late: true }>((resolve) => {
    timer = setTimeout(() => resolve({ late: true }), ms);
  });
  try {
    return await Promise.race([Promise.resolve(run()).then((value) => ({ late: false as const, value })), limit]);
  } finally {
    clearTimeout(timer);
  }
}

/** Copies arrays and plain objects all the way down; payloads are JSON in all but name. Anything else is passed on as it is. */
function copy<T>(value: T): T {
  if (Array.isArray(value)) return value.map(copy) as T;
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, copy(inner)])) as T;
}
