/**
 * The body of a 200 -> the assembler. Content types are not believed: a stream request may be answered by server-sent events,
 * by one JSON object, or by a proxy's HTML page, and the first character tells which.
 */
import { FaultError } from './attempt.ts';
import type { Assembler } from './assemble.ts';
import { toBadAnswer, toBodyFault, toErrorFault } from './classify.ts';
import { createSseReader, type SseEvent } from './read-sse.ts';

/** Characters of an answer that is one JSON object; twice what an answer may hold, for the escapes. */
const jsonLimit = 2 * 1024 * 1024;

/**
 * Resolves when the answer is complete: the provider said why it ends, or [DONE]. Rejects with a FaultError: cut, bad_answer,
 * or what an error object says. `onProgress` is called for everything new; comments and keep-alives are nothing new.
 */
export async function readAnswer(body: AsyncIterable<Uint8Array> | null, assembler: Assembler, onProgress: () => void): Promise<void> {
  const decoder = new TextDecoder();
  const sse = createSseReader();
  const form: { kind: 'unknown' | 'sse' | 'json' } = { kind: 'unknown' };
  /** What came before the form was known; later the JSON text. */
  let text = '';
  let done = false;

  const take = ({ event, data }: SseEvent, whole: boolean) => {
    if (done) return;
    if (data.trim() === '[DONE]') {
      done = true;
      return onProgress();
    }
    const chunk = parse(data);
    if (chunk === undefined) {
      // At the end of the stream this is an event that was cut in two.
      if (whole) throw new FaultError(toBadAnswer(`a chunk is no JSON: ${data.slice(0, 500)}`));
      return;
    }
    if (event === 'error') throw new FaultError(toErrorFault((chunk as { error?: unknown } | null)?.error ?? chunk));
    if (assembler.add(chunk)) onProgress();
  };

  const accept = (piece: string) => {
    if (form.kind === 'sse') return sse.push(piece).forEach((event) => take(event, true));
    text += piece;
    if (text.length > jsonLimit) throw new FaultError(toBadAnswer('the answer is larger than 2 MiB and no stream'));
    if (form.kind === 'json') return onProgress();
    const first = text.trimStart()[0];
    if (first === undefined) return;
    if (first === '<') throw new FaultError(toBadAnswer(`HTML instead of an answer: ${text}`));
    form.kind = first === '{' || first === '[' ? 'json' : 'sse';
    if (form.kind === 'json') return onProgress();
    sse.push(text).forEach((event) => take(event, true));
  };

  try {
    for await (const bytes of body ?? []) accept(decoder.decode(bytes, { stream: true }));
    accept(decoder.decode());
    sse.end().forEach((event) => take(event, false));
  } catch (thrown) {
    if (thrown instanceof FaultError) throw thrown;
    if (thrown instanceof RangeError) throw new FaultError(toBadAnswer(thrown.message));
    // Many servers just close the connection behind the last chunk, and some never do.
    if (!done && !assembler.finished) throw new FaultError(toBodyFault(thrown));
  }

  if (form.kind === 'json') {
    const parsed = parse(text);
    if (parsed === undefined) throw new FaultError(toBadAnswer(`broken JSON: ${text.slice(0, 500)}`));
    assembler.add(Array.isArray(parsed) ? parsed[0] : parsed);
  } else if (!done && !assembler.finished) {
    if (!assembler.started) throw new FaultError(toBadAnswer(`no answer in the body: ${text.slice(0, 500)}`));
    throw new FaultError({ failure: 'cut', detail: 'the stream ended without a finish_reason', status: 200, tries: 2, fallback: true });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
