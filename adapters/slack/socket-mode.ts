/**
 * Keeps one socket to Slack open. Envelope -> handle() -> committed -> acknowledged; one that could not be kept is not acknowledged, and Slack
 * sends it again. Slack asks for a new connection every hour or so: the new one is opened first, then the old one ends what it has
 * in hand and goes. So there are two sockets at most, and there is always one.
 */
import type { AdapterStatus } from '../../src/contract/adapter.ts';
import type { Log } from '../../src/contract/log.ts';
import { backoffMs, sleep, type Backoff } from '../../src/lib/retry.ts';
import { toReason, toRetryAfterMs } from './api.ts';
import type { Envelope } from './event.ts';
import { openSocket, type Socket, type SocketTiming } from './socket.ts';

export interface SocketModeTiming extends SocketTiming {
  backoff: Backoff;
  /** A connection that ends sooner counts as a failure, so that a flapping line is not hammered. */
  steadyMs: number;
  /** How long a connection that was replaced, or stop(), waits for envelopes in hand. */
  drainMs: number;
}

export interface SocketModeOptions {
  /** A fresh address for each connection; rejects with an error for toReason(). */
  openConnection(signal: AbortSignal): Promise<string>;
  /** Resolves when the payload is committed or is not for us, rejects when it could not be kept. */
  handle(type: string, payload: unknown): Promise<void>;
  up: AdapterStatus;
  report(status: AdapterStatus): void;
  log: Log;
  timing: SocketModeTiming;
}

interface Line {
  socket: Socket;
  openedAt: number;
  /** Envelopes that are being handled. */
  inHand: Set<Promise<void>>;
  /** Resolves when another line is wanted, with Slack's reason or how this one ended. */
  leaving: Promise<string>;
}

/** Resolves when the first connection is open; `done` resolves after the signal's abort, when every connection is closed. Rejects when Slack cannot be reached. */
export async function startSocketMode(options: SocketModeOptions, signal: AbortSignal): Promise<{ done: Promise<void> }> {
  const first = await openLine(options, signal);
  return { done: keepLine(options, first, signal) };
}

async function openLine({ openConnection, handle, log, timing }: SocketModeOptions, signal: AbortSignal): Promise<Line> {
  const url = await openConnection(signal);
  const inHand = new Set<Promise<void>>();
  let leave = (_why: string): void => undefined;
  const leaving = new Promise<string>((resolve) => void (leave = resolve));
  // Aborting cuts a handshake short; what is open then is closed in order by keepLine().
  const handshake = new AbortController();
  const onAbort = (): void => handshake.abort();
  signal.addEventListener('abort', onAbort);

  const take = (envelope: Envelope): void => {
    const { envelope_id: id, type, payload } = envelope;
    if (type === 'disconnect') return leave(envelope.reason ?? 'disconnect');
    if (id === undefined || signal.aborted) return;
    if (envelope.retry_attempt) log.debug('Slack sends an event again', { attempt: envelope.retry_attempt, reason: envelope.retry_reason });
    const work = handle(type, payload)
      .then(
        () => void (socket?.ack(id) || log.debug('an event was kept, but its connection is gone; Slack sends it again')),
        (error: unknown) => log.warn('an event was not kept; Slack sends it again', { reason: toReason(error) }),
      )
      .finally(() => inHand.delete(work));
    inHand.add(work);
  };

  let socket: Socket | undefined;
  try {
    socket = await openSocket({ url, timing, onEnvelope: take, signal: handshake.signal });
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
  void socket.closed.then(leave);
  return { socket, openedAt: performance.now(), inHand, leaving };
}

async function keepLine(options: SocketModeOptions, first: Line, signal: AbortSignal): Promise<void> {
  const { report, up, log, timing } = options;
  const aborted = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
  let line = first;
  let before: Promise<void> = Promise.resolve();
  let failures = 0;

  for (;;) {
    const why = await Promise.race([line.leaving, aborted]);
    if (signal.aborted || why === undefined) break;
    const wasSteady = performance.now() - line.openedAt >= timing.steadyMs;
    failures = wasSteady ? 0 : failures + 1;
    let isDegraded = why === 'link_disabled';
    if (isDegraded) report({ state: 'degraded', reason: 'Socket Mode was switched off for the app. Switch it on again on the app\'s page "Socket Mode", or use mode: http.' });
    log.info('a new connection to Slack is wanted', { why });
    // The third socket waits until the first is gone.
    await before;
    if (failures > 0) await sleep(backoffMs(failures, timing.backoff), signal).catch(() => undefined);

    let next: Line | undefined;
    while (!next && !signal.aborted) {
      try {
        next = await openLine(options, signal);
      } catch (error) {
        if (signal.aborted) break;
        failures += 1;
        const waitMs = toRetryAfterMs(error) ?? backoffMs(failures, timing.backoff);
        const reason = toReason(error);
        log.warn('no connection to Slack; it is tried again', { reason, againInMs: waitMs });
        if (!isDegraded) report({ state: 'degraded', reason });
        isDegraded = true;
        await sleep(waitMs, signal).catch(() => undefined);
      }
    }
    if (!next) break;
    if (isDegraded) report(up);
    before = retire(line, timing.drainMs);
    line = next;
  }
  await Promise.all([before, retire(line, timing.drainMs)]);
}

/** Lets a line end what it has in hand, for a while; then it is closed. Never rejects. */
async function retire({ socket, inHand }: Line, drainMs: number): Promise<void> {
  const patience = new AbortController();
  const late = sleep(drainMs, patience.signal).catch(() => undefined);
  // What arrives meanwhile is taken too, as long as the line is open.
  while (inHand.size > 0 && socket.isOpen() && !patience.signal.aborted) {
    const isLate = await Promise.race([late.then(() => true), Promise.all(inHand).then(() => false)]);
    if (isLate) break;
  }
  patience.abort();
  await socket.close();
}
