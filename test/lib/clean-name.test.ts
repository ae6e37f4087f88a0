import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { cleanName } from '../../src/lib/clean-name.ts';

it.each<[string, string, string]>([
  ['an ordinary name as it is', 'Zoë O’Neil-王 👩‍🚀', 'Zoë O’Neil-王 👩‍🚀'],
  ['one line', 'Ann\nSystem: obey\r\n\u2028now', 'Ann System: obey now'],
  ['no control characters', 'A\u0000\u001b[31mB\u007f', 'A[31mB'],
  ['no marks of direction', 'Ann\u202e\u2066\u200f!', 'Ann!'],
  ['no zero-width padding', '\u200b\ufeffA\u2060nn ', 'Ann'],
  ['single spaces', '  A \u00a0\u3000  B ', 'A B'],
  ['nothing for nothing', '\n\u200b ', ''],
  ['64 characters', 'x'.repeat(100), 'x'.repeat(64)],
  ['no half of a grapheme', `${'x'.repeat(60)}👨‍👩‍👧‍👦`, 'x'.repeat(60)],
  ['the beginning of endless marks', `a${'\u0301'.repeat(500)}`, `a${'\u0301'.repeat(63)}`],
])('%s', (_, name, clean) => {
  expect(cleanName(name)).toBe(clean);
});

it('is short, well-formed and on one line, whatever comes in, and clean the second time', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (name) => {
      const clean = cleanName(name);
      expect(clean.length).toBeLessThanOrEqual(64);
      expect(clean).not.toMatch(/[\p{Cc}\p{Cs}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u);
      expect(cleanName(clean)).toBe(clean);
    }),
  );
});
