/** Boundaries between what readers take for one character (https://unicode.org/reports/tr29/). */

const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** How far a place is looked for from which graphemes can be counted, and how long one is taken to be at most. */
const reach = 256;

/** No two of these join, but CR and LF: ASCII, letters of Latin, Greek and Cyrillic, of CJK, Hangul syllables. */
const separate = /[\u0000-\u007e\u00c0-\u02ff\u0370-\u0481\u048a-\u052f\u3001-\u3029\u3041-\u3096\u30a1-\u30fa\u3400-\u9fff\uac00-\ud7a3]/;
/** Begins a grapheme, unless a joiner is before it. */
const pictograph = /^\p{Extended_Pictographic}/u;

/** True when a cut at `offset` parts no grapheme. */
export function isBoundary(text: string, offset: number): boolean {
  if (offset <= 0 || offset >= text.length) return true;
  if (isSeparated(text, offset)) return true;
  const start = startBefore(text, 0, offset);
  return segmenter.segment(text.slice(start, offset + reach)).containing(offset - start)?.index === offset - start;
}

/** The last boundary after `from` that is not behind `offset`; the end of the first grapheme where there is none. */
export function boundaryBefore(text: string, from: number, offset: number): number {
  if (offset >= text.length) return text.length;
  if (offset > from && isSeparated(text, offset)) return offset;
  const start = offset > from ? startBefore(text, from, offset) : from;
  let best = start;
  for (const { index, segment } of segmenter.segment(text.slice(start, Math.max(offset, from) + reach))) {
    const end = start + index + segment.length;
    if (end > offset && best > from) break;
    best = end;
    if (end >= offset) break;
  }
  return best;
}

/** A boundary before `offset`, `least` at the lowest: near where one is easily told, else `least` itself. */
function startBefore(text: string, least: number, offset: number): number {
  for (let start = offset - 1; start > Math.max(least, offset - reach); start -= 1) {
    if (isSeparated(text, start)) return start;
    if (text.charCodeAt(start - 1) !== 0x200d && pictograph.test(text.slice(start, start + 2))) return start;
  }
  return Math.max(least, 0);
}

/** True where a boundary is plain to see. */
function isSeparated(text: string, offset: number): boolean {
  const before = text[offset - 1] ?? '';
  const after = text[offset] ?? '';
  return separate.test(before) && separate.test(after) && !(before === '\r' && after === '\n');
}
