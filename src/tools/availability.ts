/**
 * Whether a tool can be offered now: its environment variables are set and its checkFn says yes. A probe may cost a request,
 * so an answer stands for 30 s; and a failure within 60 s of a success counts as a flake, so that one lost packet does not
 * change the tool list, and with it the prompt's bytes, in the middle of a conversation.
 */
import type { Tool } from '../contract/tool.ts';
import { toThrownText } from './result-text.ts';

type CheckFn = NonNullable<Tool['checkFn']>;
/** The probes of one pass over the tools; share one map so that a function that serves several tools is asked once. */
export type Pass = Map<CheckFn, Promise<Verdict>>;

interface Verdict {
  available: boolean;
  /** Why the probe failed, for the log. */
  fault: string;
}

const standsMs = 30_000;
const graceMs = 60_000;
const probeLimitMs = 5_000;

export interface AvailabilityOptions {
  env: Record<string, string | undefined>;
  /** Milliseconds on any clock that only goes forward. */
  now: () => number;
}

/** The returned function resolves with null for a tool that can be offered, otherwise with the reason. Never rejects. */
export function createAvailability({ env, now }: AvailabilityOptions): (tool: Tool, pass: Pass) => Promise<string | null> {
  const kept = new WeakMap<CheckFn, { verdict: Verdict; at: number }>();
  const succeeded = new WeakMap<CheckFn, number>();

  async function ask(check: CheckFn): Promise<Verdict> {
    const last = kept.get(check);
    if (last && now() - last.at < standsMs) return last.verdict;
    const verdict = await probe(check);
    if (verdict.available) succeeded.set(check, now());
    else if (now() - (succeeded.get(check) ?? -Infinity) < graceMs) return { available: true, fault: '' };
    kept.set(check, { verdict, at: now() });
    return verdict;
  }

  return async (tool, pass) => {
    const missing = (tool.requiresEnv ?? []).filter((name) => !env[name]);
    if (missing.length > 0) return `missing: ${missing.join(', ')}`;
    const check = tool.checkFn;
    if (!check) return null;
    const asked = pass.get(check) ?? ask(check);
    pass.set(check, asked);
    const verdict = await asked;
    return verdict.available ? null : `not available now (${verdict.fault})`;
  };
}

async function probe(check: CheckFn): Promise<Verdict> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${probeLimitMs / 1000} s`)), probeLimitMs);
  });
  try {
    const available = Boolean(await Promise.race([check(), late]));
    return { available, fault: available ? '' : 'its check says no' };
  } catch (thrown) {
    return { available: false, fault: `its check failed: ${toThrownText(thrown)}` };
  } finally {
    clearTimeout(timer);
  }
}
