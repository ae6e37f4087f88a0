/**
 * People's names. Events carry only ids, and asking for a name is a call, which a stranger must not cause: so a name is asked for after its
 * bearer's first message was taken, and known from the second on.
 */
import type { Log } from '../../src/contract/log.ts';
import { cleanName } from '../../src/lib/clean-name.ts';
import { toReason, type SlackApi } from './api.ts';

export interface Names {
  of(userId: string): string | undefined;
  /** Asks once for a name that is not known. Never rejects. */
  learn(userId: string, signal: AbortSignal): Promise<void>;
}

const limit = 2000;

export function createNames(api: SlackApi, log: Log): Names {
  /** Empty where it is being asked for, or could not be had. */
  const known = new Map<string, string>();
  return {
    of: (userId) => known.get(userId) || undefined,
    async learn(userId, signal) {
      if (known.has(userId)) return;
      for (const oldest of known.keys()) if (known.size >= limit) known.delete(oldest);
      known.set(userId, '');
      try {
        const { user } = await api.call(signal, (web) => web.users.info({ user: userId }));
        known.set(userId, cleanName(user?.profile?.display_name || user?.profile?.real_name || user?.real_name || user?.name || ''));
      } catch (error) {
        log.debug('a name was not learned', { user: userId, reason: toReason(error) });
      }
    },
  };
}
