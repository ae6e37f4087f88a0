/**
 * The long poll. getUpdates -> every update of the batch handed over and committed -> the next getUpdates confirms them by its offset.
 * When one could not be kept nothing of the batch is confirmed, and the same batch is fetched again. The offset is always the last
 * fetched id + 1, never the highest: Telegram starts its ids anew after a quiet week. It lives at the server; a restart asks without one.
 */
import { GrammyError } from 'grammy';
import type { AdapterStatus } from '../../src/contract/adapter.ts';
import { toMessage } from '../../src/contract/errors.ts';
import type { Log } from '../../src/contract/log.ts';
import { backoffMs, sleep, type Backoff } from '../../src/lib/retry.ts';
import { pollSeconds, toErrorCode, toReason, toRetryAfterMs, toSdkSignal, type TelegramApi } from './api.ts';
import { allowedUpdates } from './update.ts';

export interface PollOptions {
  api: TelegramApi;
  /** Takes a batch in order; resolves when all of it is committed, rejects when something could not be kept. */
  handOver(updates: unknown[]): Promise<void>;
  /** `up` is reported again after a `degraded`. */
  up: AdapterStatus;
  report(status: AdapterStatus): void;
  log: Log;
  timing: PollTiming;
}

export interface PollTiming {
  backoff: Backoff;
  /** Least ms between two lines about another poller. */
  conflictLogMs: number;
}

export const refusedToken = 'Telegram refused the bot token. Copy it again from @BotFather (/mybots, your bot, API Token) to TELEGRAM_BOT_TOKEN and restart.';

/** Runs until `signal` is aborted or the token is refused; never rejects. */
export async function runPolling({ api, handOver, up, report, log, timing }: PollOptions, signal: AbortSignal): Promise<void> {
  let offset: number | undefined;
  let failures = 0;
  let isDegraded = false;
  let saidConflictAt = -Infinity;

  while (!signal.aborted) {
    let waitMs: number;
    try {
      // After a failure an empty answer at once tells that the line is back; a long poll would tell it half a minute later.
      const timeout = failures > 0 ? 0 : pollSeconds;
      const updates = await api.raw.getUpdates({ timeout, limit: 100, allowed_updates: allowedUpdates, ...(offset === undefined ? {} : { offset }) }, toSdkSignal(signal));
      await handOver(updates);
      offset = toNextOffset(updates) ?? offset;
      failures = 0;
      if (isDegraded) report(up);
      isDegraded = false;
      continue;
    } catch (error) {
      if (signal.aborted) return;
      failures += 1;
      const code = toErrorCode(error);
      if (code === 401 || code === 404) return report({ state: 'off', reason: refusedToken });
      // Left from webhook mode, or set by another program: while it is there no poll can succeed.
      const isBehindWebhook = code === 409 && /webhook is active/i.test(toMessage(error));
      if (isBehindWebhook && (await dropWebhook(api, signal)) && failures === 1) {
        log.info('a webhook stood before the updates; it was taken away');
        continue;
      }
      waitMs = code === 429 && error instanceof GrammyError ? toRetryAfterMs(error) : backoffMs(failures, timing.backoff);
      const reason = toTrouble(error, code);
      // A single failed poll is everyday life on the net; the second in a row is worth a word.
      if (failures === 2 || (code === 409 && failures === 1)) {
        isDegraded = true;
        report({ state: 'degraded', reason });
      }
      if (code !== 409) log.warn('polling failed; it is tried again', { reason, againInMs: waitMs });
      else if (performance.now() - saidConflictAt >= timing.conflictLogMs) {
        saidConflictAt = performance.now();
        log.warn(reason);
      }
    }
    await sleep(waitMs, signal).catch(() => undefined);
  }
}

/** Takes a webhook away and keeps the updates that wait behind it; false when that failed. */
function dropWebhook(api: TelegramApi, signal: AbortSignal): Promise<boolean> {
  return api.raw.deleteWebhook({ drop_pending_updates: false }, toSdkSignal(signal)).then(() => true, () => false);
}

function toNextOffset(updates: readonly { update_id: number }[]): number | undefined {
  const last = updates.findLast(({ update_id }) => Number.isSafeInteger(update_id));
  return last && last.update_id + 1;
}

function toTrouble(error: unknown, code: number | undefined): string {
  if (code === 409) return 'Another program polls with this bot token, or its webhook is set. Stop the other one, or give this one a bot of its own.';
  return code === 429 ? 'Telegram asks to wait before the next poll.' : toReason(error);
}
