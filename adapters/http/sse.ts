/** Server-sent events over a raw response: headers once, then text, and an end to clients that do not read. */
import type { ServerResponse } from 'node:http';
import type { EventStream } from './router.ts';

/** Bytes that may wait for a client before it is dropped. */
export const maxWaitingBytes = 1024 * 1024;

export function openEventStream(raw: ServerResponse, headers: Record<string, string>): EventStream {
  raw.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    // Asks a proxy in front of us not to collect the events before it hands them on.
    'x-accel-buffering': 'no',
    ...headers,
  });
  raw.flushHeaders();
  return {
    write(text) {
      if (raw.writableEnded || raw.destroyed) return;
      raw.write(text);
      if (raw.writableLength > maxWaitingBytes) raw.destroy();
    },
    end() {
      if (!raw.writableEnded && !raw.destroyed) raw.end();
    },
  };
}

/** One event in the stream's format. JSON has no line breaks of its own, so one data line is enough. */
export function toEvent(event: string | null, data: unknown): string {
  return `${event === null ? '' : `event: ${event.replace(/[\r\n]/g, ' ')}\n`}data: ${JSON.stringify(data) ?? 'null'}\n\n`;
}
