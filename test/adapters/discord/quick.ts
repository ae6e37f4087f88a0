/** Back-off and budget for tests: the same rules as in life, in milliseconds instead of seconds. */
import type { DiscordTiming } from '../../../adapters/discord/index.ts';

export const quick: DiscordTiming = {
  backoff: { baseMs: 5, capMs: 40, jitter: 0.2 },
  identify: { spacingMs: 0, perFiveMinutes: 1000, perDay: 1000 },
};
