import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compactHistory, toSummaryEntries } from '../../src/agent/compact.ts';
import { assertHistory } from '../../src/agent/history.ts';
import { estimateEntries } from '../../src/agent/tokens.ts';
import type { Model, ModelReply, ModelRequest } from '../../src/contract/model.ts';
import type { Entry } from '../../src/contract/transcript.ts';
import { calls, fails, says, startTalk, tool } from './support.ts';

/** Turns of about `size` tokens each. */
function turns(count: number, size: number): Entry[] {
  return Array.from({ length: count }, (_, i): Entry[] => [
    { role: 'user', turnId: `old-${i}`, text: `question ${i} ${'x'.repeat(size * 2)}` },
    { role: 'assistant', turnId: `old-${i}`, text: '', toolCalls: [{ id: 'a', name: 'look', args: { i } }] },
    { role: 'tool', turnId: `old-${i}`, toolCallId: 'a', name: 'look', text: `found ${i}` },
    { role: 'assistant', turnId: `old-${i}`, text: `answer ${i} ${'y'.repeat(size * 2)}`, toolCalls: [] },
  ]).flat();
}

const signal = new AbortController().signal;
function model(reply: ModelReply, contextWindow = 8000): Model & { asked: ModelRequest[] } {
  const asked: ModelRequest[] = [];
  return { id: 'test/model', contextWindow, asked, call: async (request) => (asked.push(request), reply) };
}

describe('compactHistory', () => {
  it('summarises the older turns and keeps the last ones as they are', async () => {
    const history = turns(6, 100);
    const summariser = model(says('They talked about x.'));
    const done = await compactHistory({ history, model: summariser, signal, keepTokens: 300 });
    expect(done).toMatchObject({ status: 'compacted', summary: 'They talked about x.', firstKeptTurnId: 'old-4', summarised: true });
    if (done.status !== 'compacted') throw new Error('not compacted');
    expect(done.entries.slice(0, 2)).toEqual(toSummaryEntries('They talked about x.', 'old-4'));
    expect(done.entries[0]?.text).toBe('Summary of the conversation before this point: They talked about x.');
    expect(done.entries.slice(2)).toEqual(history.slice(16));
    assertHistory(done.entries);
    const asked = summariser.asked[0]?.messages[1]?.content;
    expect(asked).toContain('question 0');
    expect(asked).toContain('Assistant calls look {"i":3}');
    expect(asked).not.toContain('question 4');
  });

  it('is valid and within its size for any history and budget', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(12), fc.integer({ min: 1, max: 400 }), fc.nat(2000), async (count, size, keepTokens) => {
        const done = await compactHistory({ history: turns(count, size), model: model(says('Short.')), signal, keepTokens, keepAtLeast: 0 });
        if (done.status !== 'compacted') {
          expect(estimateEntries(turns(count, size))).toBeLessThanOrEqual(keepTokens);
          return;
        }
        assertHistory(done.entries);
        expect(estimateEntries(done.entries.slice(2))).toBeLessThanOrEqual(keepTokens);
      }),
    );
  });

  it('keeps one turn at least, however long, and does nothing when that is all there is', async () => {
    expect(await compactHistory({ history: turns(1, 5000), model: model(says('s')), signal, keepTokens: 10 })).toEqual({ status: 'nothing' });
    expect(await compactHistory({ history: turns(2, 5000), model: model(says('s')), signal, keepTokens: 10 })).toMatchObject({ firstKeptTurnId: 'old-1' });
    expect(await compactHistory({ history: [], model: model(says('s')), signal, keepTokens: 10 })).toEqual({ status: 'nothing' });
  });

  it('asks with a text that fits the window', async () => {
    const summariser = model(says('s'), 1000);
    await compactHistory({ history: turns(20, 500), model: summariser, signal, keepTokens: 100 });
    const [system, source] = summariser.asked[0]?.messages.map((message) => message.content) ?? [];
    expect((system?.length ?? 0) / 4 + (source?.length ?? 0) / 4).toBeLessThan(1000);
  });

  it.each([['overflow'], ['bad_answer'], ['cut']] as const)('leaves the older turns out when the model cannot summarise: %s', async (failure) => {
    const done = await compactHistory({ history: turns(4, 100), model: model(fails(failure)), signal, keepTokens: 150 });
    expect(done).toMatchObject({ status: 'compacted', summarised: false, firstKeptTurnId: 'old-3' });
    if (done.status === 'compacted') expect(done.summary).toMatch(/was left out/);
  });

  it('changes nothing while the provider is out', async () => {
    expect(await compactHistory({ history: turns(4, 100), model: model(fails('unavailable')), signal, keepTokens: 150 })).toMatchObject({ status: 'failed' });
  });
});

describe('a turn in a long session', () => {
  it('compacts before the call once three quarters of the window are full', async () => {
    const talk = startTalk({ contextWindow: 2000, history: turns(10, 150), script: [says('Summed up.'), says('Hi.')] });
    const result = await talk.says('hi');
    expect(result).toMatchObject({ status: 'answered', text: 'Hi.', usage: { requests: 2 } });
    expect(talk.journal[1]).toBe('compacted old-8 Summed up.');
    expect(talk.requests[1]?.messages.slice(0, 4).map((message) => message.content.slice(0, 60))).toEqual([
      'You are a test.',
      'Summary of the conversation before this point: Summed up.',
      'Understood.',
      expect.stringMatching(/^question 8/),
    ]);
  });

  it('leaves a short one alone', async () => {
    const talk = startTalk({ contextWindow: 20_000, history: turns(10, 150), script: [says('Hi.')] });
    await talk.says('hi');
    expect(talk.journal).toEqual(['begin hi']);
  });

  it('compacts after an overflow and asks again', async () => {
    const talk = startTalk({ history: turns(4, 100), script: [fails('overflow'), says('Summed up.'), says('Hi.')] });
    expect((await talk.says('hi')).text).toBe('Hi.');
    expect(talk.journal[1]).toBe('compacted old-2 Summed up.');
  });

  it('leaves everything out after the second overflow, then names /new', async () => {
    const talk = startTalk({ history: turns(4, 100), script: [fails('overflow'), says('Summed up.'), fails('overflow'), fails('overflow')] });
    const result = await talk.says('hi');
    expect(result).toMatchObject({ status: 'failed', code: 'MODEL_OVERFLOW' });
    expect(result.text).toContain('/new');
    expect(talk.journal[2]).toMatch(/^compacted turn-1 The earlier part/);
    expect(talk.requests).toHaveLength(4);
  });

  it('an overflow for ever costs three calls at most, and none is repeated in a fresh session', async () => {
    const talk = startTalk({ history: turns(4, 100), otherwise: fails('overflow') });
    expect((await talk.says('hi')).code).toBe('MODEL_OVERFLOW');
    expect(talk.requests).toHaveLength(3);
    const fresh = startTalk({ otherwise: fails('overflow') });
    expect((await fresh.says('hi')).code).toBe('MODEL_OVERFLOW');
    expect(fresh.requests).toHaveLength(1);
  });

  it('an outage during the summary ends the turn and keeps the history', async () => {
    const talk = startTalk({ contextWindow: 2000, history: turns(10, 150), script: [fails('unavailable')] });
    expect(await talk.says('hi')).toMatchObject({ status: 'failed', code: 'MODEL_UNAVAILABLE' });
    expect(talk.journal).toEqual(['begin hi']);
  });

  it('compacts in the middle of a turn when tool results fill the window', async () => {
    const big = tool('big', () => 'z'.repeat(4000));
    const talk = startTalk({ contextWindow: 2000, tools: [big], history: turns(3, 150), script: [calls('big'), says('Summed up.'), says('Read.')] });
    expect((await talk.says('read')).text).toBe('Read.');
    expect(talk.journal.at(-1)).toBe('compacted old-1 Summed up.');
  });
});
