/**
 * Keeps adapters running. One that fails to start, or stays degraded, is stopped and started again with back-off; the others never
 * notice. One that switched itself off (a refused token) stays off until the program is restarted.
 */
import type { Adapter, AdapterStatus, Receive } from '../contract/adapter.ts';
import { toMessage } from '../contract/errors.ts';
import type { Hooks } from '../contract/plugin.ts';
import type { Log } from '../contract/log.ts';
import { backoffMs, sleep } from '../lib/retry.ts';

export interface Supervisor {
  /** Starts the adapter and keeps it running. Returns at once. */
  run(adapter: Adapter): void;
  /** What the adapter's context.report leads to. */
  report(platform: string, status: AdapterStatus): void;
  /** The platform will not be started at all. */
  off(platform: string, reason: string): void;
  statuses(): Record<string, AdapterStatus>;
  /** True once every adapter is up, degraded or off: nothing is still at its first start. */
  isReady(): boolean;
  /** Stops all adapters; intake is closed when it resolves. */
  stop(): Promise<void>;
}

const backoff = { baseMs: 1000, capMs: 60_000, jitter: 0.2 };
/** An adapter that has not recovered by itself in this time is restarted. */
const patienceMs = 120_000;

export function createSupervisor({ receive, hooks, log }: { receive: Receive; hooks: Hooks; log: Log }): Supervisor {
  const statuses = new Map<string, AdapterStatus>();
  const adapters: Adapter[] = [];
  const restarts = new Map<string, () => void>();
  const timers = new Map<string, NodeJS.Timeout>();
  const ending = new AbortController();

  const endPatience = (platform: string) => {
    clearTimeout(timers.get(platform));
    timers.delete(platform);
  };

  const report = (platform: string, status: AdapterStatus) => {
    const before = statuses.get(platform);
    statuses.set(platform, status);
    if (status.state !== before?.state) say(platform, status);
    if (status.state !== 'degraded') endPatience(platform);
    else if (!timers.has(platform)) timers.set(platform, setTimeout(() => restarts.get(platform)?.(), patienceMs));
  };

  const say = (platform: string, status: AdapterStatus) => {
    if (status.state === 'up') log.info(`${platform} is up`, { account: status.account, detail: status.detail });
    if (status.state === 'off') log.warn(`${platform} is off: ${status.reason}`);
    if (status.state !== 'degraded') return;
    log.warn(`${platform} is degraded: ${status.reason}`);
    if (hooks.has('on_error_occurred'))
      void hooks.fire('on_error_occurred', { error: status.reason, where: 'adapter', session_id: null, turn_id: null, platform });
  };

  const keep = async (adapter: Adapter) => {
    const { platform } = adapter;
    for (let attempt = 1; !ending.signal.aborted; attempt++) {
      try {
        await adapter.start(receive);
        attempt = 0;
        // A small adapter of a plugin need not report anything: having started is enough.
        if (statuses.get(platform)?.state === 'starting') report(platform, { state: 'up', account: platform });
        if (statuses.get(platform)?.state === 'off' || ending.signal.aborted) return;
        await new Promise<void>((resolve) => restarts.set(platform, resolve));
      } catch (thrown) {
        report(platform, { state: 'degraded', reason: toMessage(thrown) });
      }
      // A timer that outlived its reason would restart an adapter that is well by then.
      endPatience(platform);
      if (ending.signal.aborted) return;
      await stopped(adapter);
      await sleep(backoffMs(Math.max(1, attempt), backoff), ending.signal).catch(() => {});
    }
  };

  const stopped = (adapter: Adapter) =>
    adapter.stop().catch((thrown: unknown) => log.warn('an adapter did not stop cleanly', { platform: adapter.platform, error: toMessage(thrown) }));

  return {
    run(adapter) {
      adapters.push(adapter);
      statuses.set(adapter.platform, { state: 'starting' });
      void keep(adapter).catch((thrown: unknown) => log.error('an adapter is no longer supervised', { platform: adapter.platform, error: toMessage(thrown) }));
    },
    report,
    off: (platform, reason) => void statuses.set(platform, { state: 'off', reason }),
    statuses: () => Object.fromEntries(statuses),
    isReady: () => [...statuses.values()].every(({ state }) => state !== 'starting'),
    async stop() {
      ending.abort();
      for (const timer of timers.values()) clearTimeout(timer);
      for (const resolve of restarts.values()) resolve();
      await Promise.all(adapters.map(stopped));
    },
  };
}
