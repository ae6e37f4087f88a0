/** Back-off for tests: the same rules as in life, in milliseconds instead of seconds. */
import type { PollTiming } from '../../../adapters/telegram/poll.ts';

export const quick: PollTiming = { backoff: { baseMs: 5, capMs: 40, jitter: 0.2 }, conflictLogMs: 60_000 };
