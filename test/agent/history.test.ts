import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { assertHistory, groupTurns, interruptedResult, noAnswer, repairHistory, toHistoryMessages } from '../../src/agent/history.ts';
import type { Entry } from '../../src/contract/transcript.ts';

const user = (text: string, turnId = 't1'): Entry => ({ role: 'user', turnId, text });
const answer = (text: string, turnId = 't1'): Entry => ({ role: 'assistant', turnId, text, toolCalls: [] });
const step = (ids: string[], turnId = 't1'): Entry => ({ role: 'assistant', turnId, text: '', toolCalls: ids.map((id) => ({ id, name: 'look', args: {} })) });
const result = (id: string, text: string | null = 'found', turnId = 't1'): Entry => ({ role: 'tool', turnId, toolCallId: id, name: 'look', text });

const right: Entry[] = [user('hi'), step(['a', 'b']), result('a'), result('b'), user('and?'), step(['a']), result('a'), answer('there'), user('thanks', 't2'), answer('sure', 't2')];

/** Histories of every kind of disorder: any order, lost and doubled entries, bad ids, names, arguments, empty texts. */
const text = fc.constantFrom('', ' ', '\u200b', 'hello', '{"a":1}');
const id = fc.constantFrom('a', 'b', 'c', '');
const turn = fc.constantFrom('t1', 't2', 't3');
const name = fc.constantFrom('look', 'bad name', '', 'x'.repeat(100), '__proto__');
const args = fc.constantFrom({}, { n: 1 }, [] as unknown, null, 'text', 3) as fc.Arbitrary<Record<string, unknown>>;
const anyEntry: fc.Arbitrary<Entry> = fc.oneof(
  fc.record({ role: fc.constant('user' as const), turnId: turn, text }),
  fc.record({ role: fc.constant('assistant' as const), turnId: turn, text, toolCalls: fc.array(fc.record({ id, name, args }), { maxLength: 3 }) }),
  fc.record({ role: fc.constant('tool' as const), turnId: turn, toolCallId: id, name, text: fc.option(text) }),
);
const anyHistory = fc.array(anyEntry, { maxLength: 25 });

describe('assertHistory', () => {
  it('takes what the grammar allows', () => {
    assertHistory([]);
    assertHistory(right);
    assertHistory([user('hi')], { open: true });
    assertHistory([user('hi'), step(['a']), result('a')], { open: true });
    assertHistory([user('hi'), step(['a']), result('a'), user('and?')], { open: true });
  });

  it.each<[string, Entry[]]>([
    ['a turn without an answer', [user('hi')]],
    ['an answer to nobody', [answer('hi')]],
    ['two users in a row', [user('a'), user('b'), answer('c')]],
    ['a turn begun before the last was answered', [user('a'), step(['x']), result('x'), user('b', 't2'), answer('c', 't2')]],
    ['an orphan result', [user('a'), result('x'), answer('b')]],
    ['a missing result', [user('a'), step(['x', 'y']), result('x'), answer('b')]],
    ['results out of order', [user('a'), step(['x', 'y']), result('y'), result('x'), answer('b')]],
    ['a result that is still running', [user('a'), step(['x']), result('x', null), answer('b')]],
    ['a repeated id', [user('a'), step(['x', 'x']), result('x'), result('x'), answer('b')]],
    ['an empty message', [user(' \u200b'), answer('b')]],
    ['an empty answer', [user('a'), answer('\ufeff')]],
    ['two answers', [user('a'), answer('b'), answer('c')]],
  ])('refuses %s', (_name, entries) => {
    expect(() => assertHistory(entries)).toThrowError(expect.objectContaining({ code: 'HISTORY_INVALID' }));
    assertHistory(repairHistory(entries).entries);
  });

  it('refuses arguments that are no object and names that no provider takes', () => {
    for (const call of [{ id: 'a', name: 'look', args: [] as never }, { id: 'a', name: 'no name', args: {} }]) {
      const entries: Entry[] = [user('a'), { role: 'assistant', turnId: 't1', text: '', toolCalls: [call] }, { ...result('a'), name: call.name } as Entry, answer('b')];
      expect(() => assertHistory(entries)).toThrow(/entry 1/);
      assertHistory(repairHistory(entries).entries);
    }
  });
});

describe('repairHistory', () => {
  it('passes a right history on, entry for entry', () => {
    const { entries, repairs } = repairHistory(right);
    expect(repairs).toEqual([]);
    expect(entries.every((entry, i) => entry === right[i])).toBe(true);
  });

  it('makes any history valid, and says so; a second repair finds nothing', () => {
    fc.assert(
      fc.property(anyHistory, (history) => {
        const once = repairHistory(history);
        assertHistory(once.entries);
        const twice = repairHistory(once.entries);
        expect(twice.repairs).toEqual([]);
        expect(twice.entries).toEqual(once.entries);
        if (once.repairs.length === 0) expect(once.entries).toEqual(history);
      }),
      { numRuns: 2000 },
    );
  });

  it('loses no text that a person wrote', () => {
    fc.assert(
      fc.property(anyHistory, (history) => {
        const told = JSON.stringify(repairHistory(history).entries);
        for (const entry of history) if (entry.role === 'user' && entry.text === 'hello') expect(told).toContain('hello');
      }),
    );
  });

  it('marks what was running and what is missing as interrupted', () => {
    const { entries } = repairHistory([user('go'), step(['a', 'b']), result('a', null)]);
    expect(entries.map((entry) => entry.text)).toEqual(['go', '', interruptedResult, interruptedResult, noAnswer]);
  });

  it('finds results behind a steering message and puts them in call order', () => {
    const { entries } = repairHistory([user('go'), step(['a', 'b']), result('b', '2'), user('hurry'), result('a', '1'), answer('done')]);
    expect(entries.map((entry) => entry.text)).toEqual(['go', '', '1', '2', 'hurry', 'done']);
  });

  it('joins messages of one turn and parts those of two', () => {
    const { entries } = repairHistory([user('a'), user('b'), user('c', 't2'), answer('d', 't2')]);
    expect(entries.map((entry) => entry.text)).toEqual(['a\n\nb', noAnswer, 'c', 'd']);
  });
});

it('groupTurns keeps every entry, in order, and each turn is whole', () => {
  fc.assert(
    fc.property(anyHistory, (history) => {
      const { entries } = repairHistory(history);
      const turns = groupTurns(entries);
      expect(turns.flat()).toEqual(entries);
      for (const turn of turns) assertHistory(turn);
    }),
  );
  expect(groupTurns(right).map((turn) => turn.length)).toEqual([8, 2]);
  expect(groupTurns([user('a'), answer('b'), user('c'), answer('d')])).toHaveLength(2);
});

it('toHistoryMessages gives the shape of the chat completions API', () => {
  expect(toHistoryMessages([user('hi'), step(['a']), result('a'), answer('there')])).toEqual([
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: '', tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } }] },
    { role: 'tool', content: 'found', tool_call_id: 'a' },
    { role: 'assistant', content: 'there' },
  ]);
});
