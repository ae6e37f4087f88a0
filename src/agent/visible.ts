/** Text as a person sees it: what leaves no ink is no text, and nothing is cut through the middle of a character. */

// Marks alone, and the blank fillers that Unicode counts as letters (hangul) or symbols (braille), leave no ink.
const ink = /[^\p{Z}\p{Cc}\p{Cf}\p{M}\u115f\u1160\u2800\u3164\uffa0]/u;

/** True when at least one character leaves ink; `trim()` would keep zero-width characters. */
export function isVisible(text: string): boolean {
  return ink.test(text);
}

/** The first `chars` UTF-16 units, one less where they would end inside a surrogate pair. */
export function cutHead(text: string, chars: number): string {
  if (text.length <= chars) return text;
  return text.slice(0, isHighSurrogate(text, chars - 1) ? chars - 1 : chars);
}

/** The last `chars` UTF-16 units, one less where they would begin inside a surrogate pair. */
export function cutTail(text: string, chars: number): string {
  const from = Math.max(0, text.length - chars);
  return text.slice(isHighSurrogate(text, from - 1) ? from + 1 : from);
}

function isHighSurrogate(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0xd800 && code < 0xdc00;
}
