/**
 * What a person can see of a text. A model may answer with characters that take no ink; a platform then refuses the message
 * as empty, or shows an empty bubble. `trim()` leaves most of them, so emptiness is judged here.
 *
 * Without ink are: white space, control and format characters (zero width, bidi, soft hyphen, invisible operators, tags),
 * blank letters (Hangul fillers, Khmer inherent vowels, the empty Braille pattern), joiners and variation selectors.
 */
const withoutInk =
  String.raw`\s\p{Cc}\p{Cf}\p{Cs}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufffc\u{e0000}-\u{e0fff}`;
const invisible = new RegExp(`[${withoutInk}]+`, 'gu');
const visible = new RegExp(`[^${withoutInk}]`, 'u');

/** The text without any character that cannot be seen. For comparing and judging, not for showing. */
export function visibleText(text: string): string {
  return text.replace(invisible, '');
}

/** True when a reader would see nothing at all. */
export function isInvisible(text: string): boolean {
  return !visible.test(text);
}
