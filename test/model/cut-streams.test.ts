import { describe, expect, it } from 'vitest';
import { createAssembler } from '../../src/model/assemble.ts';
import { FaultError } from '../../src/model/attempt.ts';
import { readAnswer } from '../../src/model/read-answer.ts';
import type { OpenAiReply } from '../support/openai-api.ts';
import { toStream } from '../support/openai-api-reply.ts';
import { openApi, openDesk } from './desk.ts';

const text = 'The “quick” brown fox jümps over 🦊.';
const transfer: OpenAiReply = { toolCalls: [{ name: 'transfer', args: { from: 'alice', to: 'bob', amount: 100 }, id: 'call_1' }] };

const bytesOf = (reply: OpenAiReply) => Buffer.from(toStream(reply, () => 'call_1'));
/** Behind the chunk that says why the answer ends: from there on it is whole, and up to its last line ends it may be. */
const wholeFrom = (bytes: Buffer) => bytes.indexOf('\n\n', bytes.indexOf('"finish_reason":"')) + 2;

/** Reads the first `end` bytes of a stream whose connection then breaks, or just ends. */
async function readCut(bytes: Buffer, end: number, how: 'breaks' | 'ends') {
  const assembler = createAssembler(() => {});
  let sent = false;
  const body = new ReadableStream<Uint8Array>({
    pull(control) {
      if (!sent) control.enqueue(bytes.subarray(0, end));
      else if (how === 'ends') control.close();
      else control.error(new TypeError('terminated'));
      sent = true;
    },
  });
  return readAnswer(body, assembler, () => {}).then(
    () => 'whole',
    (thrown: unknown) => (thrown instanceof FaultError ? thrown.fault.failure : String(thrown)),
  );
}

describe('an answer that is cut', () => {
  it('at any byte of a text and a tool call is never whole', async () => {
    const bytes = bytesOf({ text, ...transfer });
    const whole = wholeFrom(bytes);
    const wrong: string[] = [];
    for (let end = 0; end <= bytes.length; end++) {
      const how = end % 2 === 0 ? 'breaks' : 'ends';
      const outcome = await readCut(bytes, end, how);
      // Without its last line end the last chunk may be taken as whole, or not.
      if (end < whole - 2 ? outcome === 'whole' : end >= whole && outcome !== 'whole') wrong.push(`${how} after ${end} bytes: ${outcome}`);
    }
    expect(wrong).toEqual([]);
  });

  it('by the server is asked for again once while nothing was shown, and never afterwards', async () => {
    const api = await openApi();
    const bytes = bytesOf({ text });
    const whole = wholeFrom(bytes);
    for (let cutAfter = 1; cutAfter < bytes.length; cutAfter += 97) {
      api.answer(() => ({ text, cutAfter }));
      const desk = openDesk({ base_url: api.url });
      const reply = await desk.ask('hi');
      const shown = desk.shown.join('');
      expect(text.startsWith(shown)).toBe(true);
      if (cutAfter >= whole) expect(reply).toMatchObject({ ok: true, text });
      else expect(reply, `cut after ${cutAfter}`).toMatchObject({ ok: false, failure: 'cut', partialText: shown, usage: { requests: shown === '' ? 2 : 1 } });
    }
  });

  it('in a tool call gives no tool call', async () => {
    const api = await openApi();
    const bytes = bytesOf(transfer);
    for (let cutAfter = bytes.indexOf('tool_calls'); cutAfter < wholeFrom(bytes) - 2; cutAfter += 149) {
      api.answer(() => ({ ...transfer, cutAfter }));
      expect(await openDesk({ base_url: api.url }).ask('hi'), `cut after ${cutAfter}`).toMatchObject({ ok: false, failure: 'cut', partialText: '', usage: { requests: 2 } });
    }
  });

  it('and asked for again counts by its second answer alone', async () => {
    const api = await openApi();
    api.script({ ...transfer, cutAfter: 700 }, { text: 'Fine.' });
    expect(await openDesk({ base_url: api.url }).ask('hi')).toMatchObject({ ok: true, text: 'Fine.', toolCalls: [], usage: { requests: 2 } });
  });

  it('after its beginning was shown is not taken from a fallback', async () => {
    const api = await openApi();
    api.script({ text, cutAfter: 900 });
    const desk = openDesk({ base_url: api.url, fallbacks: [{ provider: 'custom', name: 'second', base_url: api.url, api_key: null }] });
    const reply = await desk.ask('hi');
    expect(desk.shown.join('')).not.toBe('');
    expect(reply).toMatchObject({ ok: false, failure: 'cut', partialText: desk.shown.join('') });
    expect(api.requests).toHaveLength(1);
  });

  it('is asked for again when nobody listens to the text', async () => {
    const api = await openApi();
    api.script({ text, cutAfter: 900 }, { text: 'Fine.' });
    const desk = openDesk({ base_url: api.url });
    const reply = await desk.model.call({ messages: [{ role: 'user', content: 'hi' }], tools: [], signal: desk.follow(new AbortController().signal) });
    expect(reply).toMatchObject({ ok: true, text: 'Fine.' });
  });

  it('without an error of the connection is cut all the same', async () => {
    const api = await openApi();
    api.answer(() => ({ text, finish: null }));
    expect(await openDesk({ base_url: api.url }).ask('hi')).toMatchObject({ ok: false, failure: 'cut', partialText: text });
  });
});
