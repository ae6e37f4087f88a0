/** Slow upkeep of the store: rows that have ended and that no platform can deliver again are removed, a few at a time. */
import type { Log } from '../contract/log.ts';
import { toMessage } from '../contract/errors.ts';
import type { Store } from '../store/store.ts';

const everyMs = 60_000;
/** Platforms redeliver for 24 h; twice that is kept. */
const keepMs = 48 * 3600_000;

export function keepHouse({ inbox, outbox }: Store, { log, now }: { log: Log; now(): number }): { stop(): void } {
  const sweep = async () => {
    try {
      await inbox.prune(now() - keepMs);
      await outbox.prune(now() - keepMs);
    } catch (thrown) {
      log.warn('old rows were not removed', { error: toMessage(thrown) });
    }
  };
  const timer = setInterval(() => void sweep(), everyMs);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}
