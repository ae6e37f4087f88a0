/**
 * What was written while nobody was connected. Discord tells a new session nothing of it, so each channel's history is asked for what came
 * after the newest message that was seen to. Source: https://discord.com/developers/docs/resources/message#get-channel-messages.
 */
import { toMessage } from '../../src/contract/errors.ts';
import type { Log } from '../../src/contract/log.ts';
import { sleep } from '../../src/lib/retry.ts';
import { toReason, toRetryAfterMs, toStatus, type DiscordApi } from './api.ts';
import { toMessageEvent } from './event.ts';
import { compareIds, toFirstId, toTime } from './snowflake.ts';

/** Messages per channel; one answer of Discord holds no more. */
const mostMessages = 100;
export const mostChannels = 50;
/** Older messages are left alone: whoever wrote them has given up. */
const oldestMs = 60 * 60_000;
const tries = 4;

export interface CatchUpOptions {
  api: DiscordApi;
  log: Log;
  now: number;
  signal: AbortSignal;
}

/** Messages of the last hour after id `after`, oldest first, in Discord's JSON. Never rejects; what cannot be read is logged and left out. */
export async function fetchMissed(channel: string, after: string, options: CatchUpOptions): Promise<unknown[]> {
  const { log, now } = options;
  try {
    const page = await fetchAfter(channel, after, options);
    // A full page may end before the hour begins; then only the hour is asked for.
    const isFull = page.length >= mostMessages;
    const messages = isFull && toTime(after) < now - oldestMs ? await fetchAfter(channel, toFirstId(now - oldestMs), options) : page;
    const recent = messages.filter(({ at }) => at >= now - oldestMs).sort((a, b) => compareIds(a.id, b.id));
    if (recent.length < page.length) log.info('messages older than an hour were passed over', { channel, count: page.length - recent.length });
    return recent.map(({ json }) => json);
  } catch (error) {
    if (!options.signal.aborted) log.warn('a channel could not be asked for missed messages', { channel, reason: toReason(error) });
    return [];
  }
}

interface Missed {
  id: string;
  at: number;
  json: unknown;
}

async function fetchAfter(channel: string, after: string, { api, log, now, signal }: CatchUpOptions): Promise<Missed[]> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const page = await api.call('GET', `/channels/${channel}/messages`, { query: { after, limit: String(mostMessages) }, signal });
      return (Array.isArray(page) ? page : []).flatMap((json) => toMissed(json, now));
    } catch (error) {
      const waitMs = toRetryAfterMs(error) ?? 500 * 2 ** attempt;
      const status = toStatus(error);
      const isFinal = status !== undefined && status < 500 && status !== 429 && status !== 408;
      if (isFinal || attempt === tries || signal.aborted) throw error;
      log.debug('a channel is asked again', { channel, reason: toMessage(error), waitMs });
      await sleep(waitMs, signal);
    }
  }
}

/** A message that does not tell its time is taken for a new one: silence would be worse. */
function toMissed(json: unknown, now: number): Missed[] {
  const message = toMessageEvent(json);
  if (!message) return [];
  const at = Date.parse(message.timestamp ?? '');
  return [{ id: message.id, at: Number.isNaN(at) ? now : at, json }];
}
