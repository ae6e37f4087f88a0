/** Waits and back-off for tests: the same rules as in life, in milliseconds instead of seconds. */
import type { SocketModeTiming } from '../../../adapters/slack/socket-mode.ts';

export const quick: SocketModeTiming = { backoff: { baseMs: 5, capMs: 40, jitter: 0.2 }, openMs: 2000, pingMs: 1000, closeMs: 200, steadyMs: 50, drainMs: 1000 };
