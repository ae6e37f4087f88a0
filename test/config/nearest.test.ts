/** "Did you mean". */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { editDistance, nearest } from '../../src/lib/nearest.ts';

it('counts what a typing error is', () => {
  expect(editDistance('token', 'tokne')).toBe(1);
  expect(editDistance('token', 'tokn')).toBe(1);
  expect(editDistance('token', 'tokenn')).toBe(1);
  expect(editDistance('token', 'tomen')).toBe(1);
  expect(editDistance('', 'abc')).toBe(3);
});

it('is nothing for the same word, the same both ways, and never more than the longer word', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 12 }), fc.string({ maxLength: 12 }), (a, b) => {
      expect(editDistance(a, a)).toBe(0);
      expect(editDistance(a, b)).toBe(editDistance(b, a));
      expect(editDistance(a, b)).toBeLessThanOrEqual(Math.max(a.length, b.length));
    }),
  );
});

it('takes the nearest, whatever the case, the first on a tie, and none of none', () => {
  expect(nearest('TOKNE', ['mode', 'token'])).toBe('token');
  expect(nearest('xx', ['aa', 'bb'])).toBe('aa');
  expect(nearest('x', [])).toBeNull();
});
