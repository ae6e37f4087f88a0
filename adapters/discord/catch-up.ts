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

/** Messages in one answer of Discord; it holds no more. */
const pageSize = 100;
/** Answers per channel. */
const mostPages = 10;
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
    const isLate = page.length >= pageSize && toTime(after) < now - oldestMs;
    const messages = await fetchRest(channel, isLate ? await fetchAfter(channel, toFirstId(now - oldestMs), options) : page, options);
    const recent = messages.filter(({ at }) => at >= now - oldestMs).sort((a, b) => compareIds(a.id, b.id));
    if (recent.length < messages.length || isLate) log.info('messages older than an hour were passed over', { channel });
    return recent.map(({ json }) => json);
  } catch (error) {
    if (!options.signal.aborted) log.warn('a channel could not be asked for missed messages', { channel, reason: toReason(error) });
    return [];
  }
}

/** What stands behind a full page, and behind that. */
async function fetchRest(channel: string, first: Missed[], options: CatchUpOptions): Promise<Missed[]> {
  const found = [...first];
  let page = first;
  for (let pages = 1; page.length >= pageSize; pages += 1) {
    if (pages === mostPages) {
      options.log.warn('a channel holds more missed messages than are read; the later ones are passed over', { channel, read: found.length });
      break;
    }
    const newest = page.reduce((a, b) => (compareIds(a.id, b.id) > 0 ? a : b));
    page = await fetchAfter(channel, newest.id, options);
    found.push(...page);
  }
  return found;
}

interface Missed {
  id: string;
  at: number;
  json: unknown;
}

async function fetchAfter(channel: string, after: string, { api, log, now, signal }: CatchUpOptions): Promise<Missed[]> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const page = await api.call('GET', `/channels/${channel}/messages`, { query: { after, limit: String(pageSize) }, signal });
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
