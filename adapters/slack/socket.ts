/**
 * One Socket Mode connection, on the WebSocket that the SDK uses too. The SDK's own client is not used: the pinned version ends the process by
 * an unhandled rejection on app_rate_limited, on a frame without an event and on a token revoked at reconnect, sets a handshake that
 * hangs no limit of its own, and closes the old socket seconds before the new one is open.
 * Source: https://docs.slack.dev/apis/events-api/using-socket-mode.
 */
import type { Socket as RawSocket } from 'node:net';
import { Agent, buildConnector, ping, WebSocket } from 'undici';
import { toEnvelope, type Envelope } from './event.ts';

export interface SocketTiming {
  /** From the first byte to Slack's hello. */
  openMs: number;
  /** We ping this often; a connection on which nothing came in for two of these is dead, whatever TCP says. */
  pingMs: number;
  /** How long the other side has to answer our goodbye. */
  closeMs: number;
}

export interface Socket {
  /** Acknowledges an envelope; false when the connection is no longer open. */
  ack(envelopeId: string): boolean;
  isOpen(): boolean;
  /** Says goodbye, or cuts the line when nobody answers. Resolves when the connection is gone; safe to call twice. */
  close(): Promise<void>;
  /** Resolves when the connection is gone, with why. */
  readonly closed: Promise<string>;
}

export interface SocketOptions {
  url: string;
  timing: SocketTiming;
  /** Every envelope but `hello`. Must not throw. */
  onEnvelope(envelope: Envelope): void;
  signal: AbortSignal;
}

/** Resolves at Slack's hello; rejects when the connection ends before it. */
export function openSocket({ url, timing, onEnvelope, signal }: SocketOptions): Promise<Socket> {
  let raw: RawSocket | undefined;
  const connect = buildConnector({ allowH2: false, timeout: timing.openMs });
  const agent = new Agent({
    connect: (options, callback) =>
      connect(options, (...result) => {
        raw = result[1] ?? undefined;
        callback(...result);
      }),
  });
  const socket = new WebSocket(url, { dispatcher: agent });

  let why = 'the connection was closed';
  let isGone = false;
  let gone = (_why: string): void => undefined;
  const closed = new Promise<string>((resolve) => void (gone = resolve));

  const cut = (reason: string): void => {
    if (isGone) return;
    isGone = true;
    clearTimeout(opening);
    clearInterval(pinging);
    clearTimeout(leaving);
    signal.removeEventListener('abort', onAbort);
    // A handshake that still runs ends by this; an open socket is told nothing, the line below is simply cut.
    if (socket.readyState !== WebSocket.CLOSED) socket.close();
    raw?.destroy();
    void agent.destroy().catch(() => undefined);
    gone(reason);
  };
  const onAbort = (): void => cut('given up');
  const opening = setTimeout(() => cut(`no hello within ${timing.openMs} ms`), timing.openMs);
  let leaving: NodeJS.Timeout | undefined;
  let heard = -1;
  let silent = 0;
  const pinging = setInterval(() => {
    // Slack may say goodbye and leave TCP open.
    if (socket.readyState === WebSocket.CLOSING && leaving === undefined) return cut(why);
    const bytes = raw?.bytesRead ?? 0;
    silent = bytes === heard ? silent + 1 : 0;
    heard = bytes;
    if (silent >= 2) return cut('nothing was heard any more');
    if (socket.readyState === WebSocket.OPEN) ping(socket, Buffer.from('hg'));
  }, timing.pingMs);
  signal.addEventListener('abort', onAbort);
  if (signal.aborted) onAbort();

  socket.addEventListener('error', (event) => {
    if (event.message) why = event.message;
  });
  socket.addEventListener('close', () => cut(why));

  const made: Socket = {
    ack(envelopeId) {
      if (socket.readyState !== WebSocket.OPEN) return false;
      socket.send(JSON.stringify({ envelope_id: envelopeId }));
      return true;
    },
    isOpen: () => !isGone,
    async close() {
      if (!isGone && socket.readyState === WebSocket.OPEN) {
        socket.close(1000);
        leaving = setTimeout(() => cut('closed by us'), timing.closeMs);
      } else if (socket.readyState !== WebSocket.CLOSING) cut('closed by us');
      await closed;
    },
    closed,
  };

  return new Promise((resolve, reject) => {
    socket.addEventListener('message', ({ data }) => {
      const envelope = toEnvelope(data);
      if (!envelope || isGone) return;
      if (envelope.type !== 'hello') return onEnvelope(envelope);
      clearTimeout(opening);
      resolve(made);
    });
    void closed.then((reason) => reject(new Error(`the socket did not open: ${reason}`)));
  });
}
