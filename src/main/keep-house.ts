/**
 * Slow upkeep of the store: rows that have ended and that no platform can deliver again are removed, a few at a time, and the oldest sessions
 * where the configuration sets a limit.
 */
import type { Log } from '../contract/log.ts';
import { toMessage } from '../contract/errors.ts';
import type { Store } from '../store/store.ts';

const everyMs = 60_000;
/** Platforms redeliver for 24 h; twice that is kept. */
const keepMs = 48 * 3600_000;
const dayMs = 24 * 3600_000;
const bytesPerGb = 1024 ** 3;
/** Sessions removed in one sweep. */
const mostSessions = 100;

export interface HouseRules {
  /** Days after which a session that is not used goes; null keeps all. */
  days: number | null;
  /** Size above which the oldest sessions go; null is without limit. */
  maxGb: number | null;
}

export function keepHouse({ inbox, outbox, retention }: Store, { rules, log, now }: { rules: HouseRules; log: Log; now(): number }): { stop(): void } {
  const sweep = async () => {
    try {
      await inbox.prune(now() - keepMs);
      await outbox.prune(now() - keepMs);
      const old = rules.days === null ? [] : retention.unusedSince(now() - rules.days * dayMs, mostSessions);
      await removeSessions(old, () => true);
      // What is in use now is never the oldest of a store that is worth a limit.
      await removeSessions(retention.unusedSince(now() - keepMs, mostSessions), () => rules.maxGb !== null && retention.size() > rules.maxGb * bytesPerGb);
    } catch (thrown) {
      log.warn('old rows were not removed', { error: toMessage(thrown) });
    }
  };

  const removeSessions = async (ids: string[], isWanted: () => boolean) => {
    let removed = 0;
    for (const id of ids) if (isWanted() && (await retention.remove(id)) === 'removed') removed += 1;
    if (removed > 0) log.info('old sessions were removed', { count: removed });
  };

  const timer = setInterval(() => void sweep(), everyMs);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}
