/** Reads a request's body under a cap and a clock, so that neither a large nor a slow sender costs more than its share. */
import type { IncomingMessage } from 'node:http';

export type BodyResult = { ok: true; bytes: Buffer } | { ok: false; why: 'too_large' | 'too_slow' | 'gone' };

/** `limit` in bytes, `ms` for the whole body. What is over the limit is thrown away as it arrives, never kept. */
export function readBody(raw: IncomingMessage, limit: number, ms: number): Promise<BodyResult> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const timer = setTimeout(() => end({ ok: false, why: 'too_slow' }), ms);
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      if (size > limit) return end({ ok: false, why: 'too_large' });
      chunks.push(chunk);
    };
    const onEnd = () => end({ ok: true, bytes: Buffer.concat(chunks) });
    const onGone = () => end({ ok: false, why: 'gone' });
    const end = (result: BodyResult) => {
      clearTimeout(timer);
      raw.off('data', onData).off('end', onEnd).off('close', onGone);
      // The rest still flows, into nothing: a client that is cut off while it writes may never read our answer.
      raw.resume();
      resolve(result);
    };
    raw.on('data', onData).on('end', onEnd).on('close', onGone).on('error', () => undefined);
    if (raw.readableEnded) onEnd();
  });
}
