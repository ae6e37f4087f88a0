import { array, assert, asyncProperty, nat } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createAssembler } from '../../src/model/assemble.ts';
import { FaultError } from '../../src/model/attempt.ts';
import { readAnswer } from '../../src/model/read-answer.ts';
import { createSseReader } from '../../src/model/read-sse.ts';
import { toStream } from '../support/openai-api-reply.ts';

const nextId = () => 'call_1';
const chunk = (delta: unknown, finish: string | null = null) => `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const calls = toStream({ text: 'Wait. ', toolCalls: [{ name: 'weather', args: { city: 'Zürich 🌦' }, id: 'a' }, { name: 'weather', args: { city: 'São Paulo' }, id: 'b' }] }, nextId);
const plain = toStream({ text: 'Schöne Grüße 👩‍👩‍👧 from “here”.\n\n- a\n- b', reasoning: 'I think, I think.' }, nextId);

const streams: Record<string, string> = {
  plain,
  calls,
  refusal: toStream({ refusal: 'I will not do that.' }, nextId),
  'no finish': toStream({ text: 'cut off here', finish: null }, nextId),
  'line ends of Windows': plain.replaceAll('\n', '\r\n'),
  'line ends of old': calls.replaceAll('\n', '\r'),
  'mixed line ends': `${chunk({ content: 'a' }).replaceAll('\n', '\r\n')}${chunk({ content: 'b' }).replace('\n\n', '\r\r')}${chunk({}, 'stop')}`,
  'byte order mark': `\uFEFF${plain}`,
  comments: plain.replaceAll('data:', ': keep-alive\n\nevent: message\nid: 7\ndata:'),
  'several data lines': 'data: {"choices":[{"index":0,\ndata: "delta":{"content":"a\\nb"},\ndata:"finish_reason":"stop"}]}\n\n',
  'several data lines with line ends of Windows': 'data: {"choices":[{"index":0,\r\ndata: "delta":{"content":"c"},\r\ndata: "finish_reason":"stop"}]}\r\n\r\n',
  'no last line end': `${plain.trimEnd()}`,
  thinking: `${chunk({ content: '<th' })}${chunk({ content: 'ink>a</thi' })}${chunk({ content: 'nk>\n\nb' })}${chunk({}, 'stop')}data: [DONE]\n\n`,
  'one object': JSON.stringify({ choices: [{ index: 0, message: { role: 'assistant', content: 'ä€🦊' }, finish_reason: 'stop' }] }),
  'one object with space': ` \n ${JSON.stringify({ choices: [{ index: 0, message: { content: 'x', tool_calls: [{ id: 'c', function: { name: 'f', arguments: '{}' } }] } }] })}\n`,
  html: '<!DOCTYPE html><p>Grüße</p>',
  error: 'data: {"error":{"message":"späte Störung"}}\n\n',
  nothing: '',
};

async function read(pieces: Uint8Array[]) {
  let shown = '';
  const assembler = createAssembler((delta) => (shown += delta));
  const body = new ReadableStream<Uint8Array>({
    start(control) {
      for (const piece of pieces) control.enqueue(piece);
      control.close();
    },
  });
  try {
    await readAnswer(body, assembler, () => {});
    return { shown, usage: assembler.usage, answer: assembler.finish() };
  } catch (thrown) {
    if (!(thrown instanceof FaultError)) throw thrown;
    return { shown, failure: thrown.fault.failure };
  }
}

function cutAt(bytes: Buffer, places: number[]): Uint8Array[] {
  const ends = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [...ends, bytes.length].map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}

describe('the pieces in which an answer arrives', () => {
  it.each(Object.entries(streams))('do not change what it says: %s', async (_, stream) => {
    const bytes = Buffer.from(stream);
    const unchunked = await read([bytes]);
    expect(await read([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(unchunked);
    await assert(
      asyncProperty(array(nat(), { maxLength: 12 }), async (places) => {
        expect(await read(cutAt(bytes, places))).toEqual(unchunked);
      }),
      { numRuns: 100 },
    );
  });

  it('the recorded answers are what they look like', async () => {
    expect(await read([Buffer.from(streams['plain'] ?? '')])).toMatchObject({ answer: { text: 'Schöne Grüße 👩‍👩‍👧 from “here”.\n\n- a\n- b', finish: 'stop' }, usage: { input: 10, output: 5 } });
    expect(await read([Buffer.from(streams['line ends of old'] ?? '')])).toMatchObject({ answer: { text: 'Wait. ', toolCalls: [{ id: 'a', args: { city: 'Zürich 🌦' } }, { id: 'b', args: { city: 'São Paulo' } }] } });
    expect(await read([Buffer.from(streams['several data lines'] ?? '')])).toMatchObject({ answer: { text: 'a\nb' } });
    expect(await read([Buffer.from(streams['thinking'] ?? '')])).toMatchObject({ shown: 'b' });
    expect(await read([Buffer.from(streams['no finish'] ?? '')])).toMatchObject({ failure: 'cut' });
  });

  it('a line that never ends is given up', () => {
    const sse = createSseReader();
    const pushAll = () => {
      for (let kib = 0; kib < 5 * 1024; kib += 64) sse.push('x'.repeat(64 * 1024));
    };
    expect(pushAll).toThrow(RangeError);
  });

  it('comments and empty deltas are no progress', async () => {
    const pieces = [': ping\n\n', chunk({ role: 'assistant', content: '' }), 'event: ping\ndata: {"type":"ping"}\n\n', chunk({ content: 'a' }), ': ping\n\n', chunk({})];
    let progress = 0;
    const body = new ReadableStream<Uint8Array>({
      start(control) {
        for (const piece of pieces) control.enqueue(Buffer.from(piece));
        control.close();
      },
    });
    await expect(readAnswer(body, createAssembler(() => {}), () => progress++)).rejects.toThrow(FaultError);
    expect(progress).toBe(1);
  });
});
