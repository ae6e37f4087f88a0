/**
 * A model to talk to in a test: the real providers on a clock of the test's own. Waits between attempts are over at once and
 * kept in `waits`; time limits run out only when the test says `advance`.
 */
import { onTestFinished } from 'vitest';
import type { ModelConfig, ModelDeps, ModelReply, ModelRequest } from '../../src/contract/model.ts';
import { createModel, type WarmModel } from '../../src/model/create-model.ts';
import { silentLog } from '../../src/lib/log.ts';
import { type OpenAiApi, startOpenAiApi } from '../support/openai-api.ts';

export interface Desk {
  model: WarmModel;
  deps: ModelDeps;
  /** Ms of every wait between attempts. */
  waits: number[];
  /** Text as it was shown. */
  shown: string[];
  /** Every line that was logged. */
  logged: string[];
  advance(ms: number): void;
  /** Makes waits that this signal may end be over at once; `ask` does so by itself. */
  follow(signal: AbortSignal): AbortSignal;
  ask(text: string, more?: Partial<ModelRequest>): Promise<ModelReply>;
}

export function openDesk(config: Partial<ModelConfig>, more: { env?: ModelDeps['env']; random?: () => number } = {}): Desk {
  let now = 0;
  const waits: number[] = [];
  const shown: string[] = [];
  const logged: string[] = [];
  const callers = new WeakSet<AbortSignal>();
  const timers = new Set<{ at: number; ring: () => void }>();
  const log = { ...silentLog, warn: (message: string, fields?: object) => void logged.push(`${message} ${JSON.stringify(fields)}`) };
  const deps: ModelDeps = {
    log,
    env: more.env ?? {},
    now: () => now,
    random: more.random ?? (() => 0.5),
    sleep(ms, signal) {
      if (signal.aborted) return Promise.reject(signal.reason as Error);
      if (callers.has(signal)) {
        waits.push(ms);
        now += ms;
        return Promise.resolve();
      }
      return new Promise((resolve, reject) => {
        const timer = { at: now + ms, ring: resolve };
        timers.add(timer);
        signal.addEventListener('abort', () => timers.delete(timer) && reject(signal.reason as Error), { once: true });
      });
    },
  };
  const model = createModel({ provider: 'custom', name: 'test-model', base_url: null, api_key: null, context_window: 128_000, fallbacks: [], ...config }, deps);
  return {
    model,
    deps,
    waits,
    shown,
    logged,
    advance(ms) {
      now += ms;
      for (const timer of timers) if (timer.at <= now && timers.delete(timer)) timer.ring();
    },
    follow(signal) {
      callers.add(signal);
      return signal;
    },
    ask(text, more = {}) {
      const signal = this.follow(more.signal ?? new AbortController().signal);
      return model.call({ messages: [{ role: 'user', content: text }], tools: [], onText: (delta) => void shown.push(delta), ...more, signal });
    },
  };
}

/** A simulator that is closed when the test ends. */
export async function openApi(): Promise<OpenAiApi> {
  const api = await startOpenAiApi();
  onTestFinished(() => api.close());
  return api;
}

/** A fallback entry, or the place of a primary, at a simulator. */
export function at(api: { url: string }, name = 'test-model') {
  return { provider: 'custom', name, base_url: api.url, api_key: `key-of-${name}` };
}
