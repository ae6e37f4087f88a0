import { describe, expect, it } from 'vitest';
import { isInvisible, visibleText } from '../../src/lib/visible-text.ts';

describe('a text in which there is nothing to see', () => {
  it.each([
    '', ' ', '\n\n\t', '\r\n', '\u00a0', '\u00ad', '\u034f', '\u061c', '\u115f', '\u1160', '\u1680', '\u17b4\u17b5', '\u180b', '\u180e', '\u2000\u200a', '\u200b', '\u200c\u200d', '\u200e\u200f', '\u2028\u2029', '\u202a\u202e', '\u202f\u205f',
    '\u2060', '\u2061\u2062\u2063\u2064', '\u2066\u2069', '\u206a\u206f', '\u2800', '\u3000', '\u3164', '\ufe0f', '\ufeff', '\uffa0', '\ufff9\ufffb', '\u0000\u0007\u007f', '\ud800', '\u{e0001}\u{e007f}', '\u{e0100}', ' \u200b\n\u2060\ufeff\t',
  ])('%j', (text) => {
    expect(isInvisible(text)).toBe(true);
    expect(visibleText(text)).toBe('');
  });
});

describe('a text in which there is', () => {
  it.each(['a', '.', '\u200b.', '0', '😀', '👨‍👩‍👧‍👦', 'ﷺ', '一', '—', '\ufffd', '\u0301', '❤️'])('%j', (text) => {
    expect(isInvisible(text)).toBe(false);
  });
});

it('leaves what can be seen', () => {
  expect(visibleText(' a\u200b b\n\u2060c\ufeff ')).toBe('abc');
});
